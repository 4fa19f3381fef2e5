import type { Turn } from '@boxlab/native'
import { stateRoot } from '../state-root.ts'
import { takeTurn, type TurnOptions } from './take-turn.ts'

/** How to get the host alone. */
export interface ExclusiveOptions {
  /** Who wants it: shown to those who wait. */
  readonly label: string
  readonly signal?: AbortSignal | undefined
  /** Bound of the wait, in milliseconds. Default one hour: other runs may be long. */
  readonly timeoutMs?: number
  /** See `TurnOptions`. */
  readonly tell?: TurnOptions['tell']
}

/** The host, for the boxes of this process alone. */
export interface ExclusiveHost extends Disposable {
  /** Lets the others go on. Again is no error. */
  release(): void
}

/**
 * Waits until no box of another process of this user boots or runs, and keeps others from booting until it is released
 * (`using host = await exclusiveHost({ label })`) or this process ends. For measurements. Rejects with ERR_BOX_TURN
 * after its bound; two processes that each run a box and want this wait for each other until then.
 */
export async function exclusiveHost(options: ExclusiveOptions): Promise<ExclusiveHost> {
  const { label, signal = new AbortController().signal, timeoutMs = 3_600_000, tell } = options
  const claim = { want: 'exclusive', id: `alone-${process.pid}`, label } as const
  const turn: Turn = await takeTurn(claim, { root: stateRoot(), signal, timeoutMs, ...(tell && { tell }) })
  const release = (): void => turn.leave()
  return { release, [Symbol.dispose]: release }
}
