import { BoxError, type Machine } from '@boxlab/native'
import type { SshEvent, SshEvidence } from '@boxlab/probes'
import { plainReason } from '../exec.ts'
import { authorize } from './authorize.ts'
import { startBusyLoops } from './busy-loops.ts'
import { loadSsh2 } from './client.ts'
import { gatherEvidence } from './gather-evidence.ts'
import type { Guest } from './guest.ts'
import { type KeyPair, makeKeyPair } from './key-pair.ts'
import { logIn } from './log-in.ts'
import type { SshFirstOrder } from './options.ts'
import { reachPort } from './reach-port.ts'
import { openSshFile, type SshFile } from './ssh-file.ts'

/** The key of each box: made at its first login, gone with it. */
const keys = new WeakMap<Machine, KeyPair>()

/** Exchanges of clocks before and after each login. */
const pings = 4

/** All that the logins of one call share. */
interface Call {
  readonly guest: Guest
  readonly order: SshFirstOrder
  /** The box has had no call before. */
  readonly first: boolean
  readonly ssh2: typeof import('ssh2')
  readonly key: KeyPair
  readonly file: SshFile
  readonly aborted: () => BoxError
}

/**
 * Logs in to the guest as often as asked and writes each step into the record at once; gives the text of that. A login that
 * is refused is part of it, with what the guest says about it. Rejects when the box ends, at an abort, where ssh2 is missing
 * (ERR_BOX_TOOL_MISSING) and where the record cannot be written (ERR_BOX_RECORD).
 */
export async function recordLogins(machine: Machine, record: string, order: SshFirstOrder): Promise<string> {
  const { signal } = order
  const aborted = (): BoxError =>
    new BoxError('ERR_BOX_ABORTED', 'the logins were aborted', {}, { cause: plainReason(signal) })
  if (signal?.aborted) throw aborted()
  const ran = machine.state === 'running'
  const ssh2 = await loadSsh2()
  const first = !keys.has(machine)
  const key = keys.get(machine) ?? makeKeyPair('boxlab')
  keys.set(machine, key)
  const file = openSshFile(record)
  try {
    await logins({ guest: { machine, signal }, order, first, ssh2, key, file, aborted })
  } catch (error) {
    if (signal?.aborted) throw aborted()
    throw ran ? await reasonOf(error, machine) : error
  }
  return file.end()
}

/** A box that ended between two questions refuses the next one by its state, which is not the reason. */
async function reasonOf(error: unknown, machine: Machine): Promise<unknown> {
  if (!(error instanceof BoxError) || error.code !== 'ERR_BOX_STATE') return error
  try {
    // Nobody sets this mark; the wait for it ends with the box.
    await machine.waitMark('user:after-the-end', 200)
    return error
  } catch (reason) {
    return reason instanceof BoxError && reason.code !== 'ERR_BOX_TIMEOUT' ? reason : error
  }
}

async function logins(call: Call): Promise<void> {
  const { guest, key, file, order } = call
  const { user, port, load } = order
  file.add({ version: 1, transport: 'agent', user, port, atNs: stamp(process.hrtime.bigint()) })
  const without = await authorize(guest, user, key.publicLine)
  if (without !== undefined) {
    refuseLogin(call, 1, process.hrtime.bigint(), { user: without })
    return
  }
  await exchangeClocks(call)
  let allowed = true
  for (let n = 1; n <= order.logins && allowed; n += 1) allowed = await oneLogin(call, n)
  if (allowed && load) await loginUnderLoad(call, order.logins + 1, load.cpus)
}

async function loginUnderLoad(call: Call, n: number, cpus: number): Promise<void> {
  // They end with the login; should this process be held up, then soon after its bound.
  const loops = await startBusyLoops(call.guest, cpus, call.order.timeoutMs + 60_000)
  try {
    await oneLogin(call, n, { busyCpus: cpus })
  } finally {
    await loops.end()
  }
}

/** Whether it came to its end; where not, the record tells why. */
async function oneLogin(call: Call, login: number, more: object = {}): Promise<boolean> {
  const { guest, order, first, ssh2, key, file, aborted } = call
  const { user, port, command, timeoutMs } = order
  const beganMs = performance.now()
  const untilMs = beganMs + timeoutMs
  const mark = (event: SshEvent, atNs: bigint, facts: object = {}): void => {
    file.add({ login, event, atNs: stamp(atNs), ...facts })
  }
  const dialledNs = process.hrtime.bigint()
  if (first && login === 1) guest.machine.mark('first-login-begin', dialledNs)
  mark('dial', dialledNs, more)
  const reached = await reachPort(guest, port, untilMs, aborted)
  let seen: SshEvidence | undefined = { timedOutMs: timeoutMs }
  if (reached) {
    const { stream, atNs, attempts, refusedAtNs } = reached
    mark('accept', atNs, { attempts, ...(refusedAtNs !== undefined && { refusedAtNs: stamp(refusedAtNs) }) })
    const { signal } = guest
    const { privateKey } = key
    seen = await logIn({ ssh2, stream, user, privateKey, command, timeoutMs, untilMs, signal, aborted, mark })
  }
  const endedNs = process.hrtime.bigint()
  if (first && login === 1) guest.machine.mark('first-login-end', endedNs)
  if (seen) {
    // Why a port is closed may have been said long ago.
    const sinceMs = reached && performance.now() - beganMs
    refuseLogin(call, login, endedNs, { ...seen, ...(await gatherEvidence(guest, user, port, sinceMs)) })
  }
  await exchangeClocks(call)
  return seen === undefined
}

function refuseLogin({ file }: Call, login: number, atNs: bigint, evidence: SshEvidence): void {
  file.add({ login, event: 'refused', atNs: stamp(atNs), evidence })
}

async function exchangeClocks({ guest, file }: Call): Promise<void> {
  try {
    for (const sample of await guest.machine.pings(pings)) file.add({ event: 'clock', ...sample })
  } catch (error) {
    // A guest that is too busy to answer leaves one exchange less; the result says how exact its times are.
    if (!(error instanceof BoxError) || error.code !== 'ERR_BOX_TIMEOUT') throw error
  }
}

/** The record has integers; a double holds them exactly for 104 days of uptime. */
function stamp(atNs: bigint): number {
  return Number(atNs)
}
