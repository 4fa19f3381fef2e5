import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Asked, BoxError, type Claim, type LedgerLimits, Turn } from '@boxlab/native'
import { describeWait } from './describe-wait.ts'
import { hostLimits } from './limits.ts'

/** How to wait for a turn. */
export interface TurnOptions {
  /** The state root, whose folder `ledger/` is shared by all processes of the user. */
  readonly root: string
  /** Ends the wait; it rejects with the signal's reason. */
  readonly signal: AbortSignal
  /** Bound of the wait, in milliseconds. */
  readonly timeoutMs: number
  /** Gets a sentence when the wait is long, and again from time to time. Default: standard error. */
  readonly tell?: (sentence: string) => void
}

// A look costs a few small reads; a turn that is free is seen after half of this on average.
const lookMs = 20
const firstWordMs = 1000
const nextWordMs = 30_000

/** The ledger of a state root. */
export function ledgerFolder(root: string): string {
  return join(root, 'ledger')
}

/**
 * Waits until the host has room for what is claimed, in turn with all processes of this user. The place is held until
 * `leave()`, the end of the box that is made with it, or the end of this process. Rejects with ERR_BOX_TURN after
 * `timeoutMs`, and with ERR_BOX_OPTIONS where the claim can never be met.
 */
export async function takeTurn(claim: Claim, { root, signal, timeoutMs, tell = say }: TurnOptions): Promise<Turn> {
  const limits = hostLimits()
  const who = claim.label === undefined ? claim.id : `${claim.id} (${claim.label})`
  refuseTooLarge(claim, limits)
  const began = performance.now()
  const turn = new Turn(ledgerFolder(root), claim, limits)
  try {
    let wordMs = firstWordMs
    for (;;) {
      signal.throwIfAborted()
      const asked = turn.ask()
      if (asked.why === undefined) return turn
      const waitedMs = performance.now() - began
      if (waitedMs >= timeoutMs) throw timedOut(who, asked, limits, timeoutMs)
      if (waitedMs >= wordMs) {
        tell(describeWait(who, asked, limits))
        wordMs = waitedMs + nextWordMs
      }
      // An abort is seen at the top of the loop.
      await sleep(Math.min(lookMs, timeoutMs - waitedMs), undefined, { signal }).catch(() => {})
    }
  } catch (error) {
    turn.leave()
    throw error
  }
}

function refuseTooLarge({ memoryMib = 0 }: Claim, { maxMemoryMib }: LedgerLimits): void {
  if (memoryMib <= maxMemoryMib) return
  throw new BoxError(
    'ERR_BOX_OPTIONS',
    `\`memoryMib\` asks for ${memoryMib} MiB, and all boxes of this host together may have ${maxMemoryMib}: ask for less, or raise BOXLAB_MAX_MEMORY_MIB`,
  )
}

function timedOut(who: string, asked: Asked, limits: LedgerLimits, timeoutMs: number): BoxError {
  const own = asked.holders.length > 0 && asked.holders.every(({ pid }) => pid === process.pid)
  const remedy = own
    ? 'all of that is of this process: stop boxes before it boots more, or raise the limit'
    : 'let them end, or raise `timeouts.turnMs` or the limit'
  return new BoxError(
    'ERR_BOX_TURN',
    `the turn to boot did not come within ${timeoutMs} ms: ${describeWait(who, asked, limits)}; ${remedy}`,
  )
}

function say(sentence: string): void {
  process.stderr.write(`boxlab: ${sentence}\n`)
}
