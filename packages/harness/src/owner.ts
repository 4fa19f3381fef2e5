import { readFileSync, readlinkSync } from 'node:fs'
import { isDead, parseStat, type ProcessStat, processStat } from './proc.ts'

/**
 * One thread of one process on one boot of one machine. A thread, not just a process: a worker that vitest
 * terminates in the middle leaves its process alive, and its lock must not outlive it.
 */
export interface Owner {
  readonly pid: number
  readonly tid: number
  /** Clock ticks from machine boot to the thread's start: a reused pid has another one. */
  readonly startTicks: string
  /** Inode of the pid namespace that `pid` is a number of. */
  readonly pidNamespace: string
  /** First 8 digits of the machine's boot id. */
  readonly boot: string
}

/** An owner in another container cannot be looked up; after this long without a sign of it, it counts as gone. */
export const FOREIGN_LIMIT_MS = 3_600_000

/** The calling thread. Synchronous on purpose: /proc/thread-self names the thread that does the system call. */
export function currentOwner(): Owner {
  const [pid, , tid] = readlinkSync('/proc/thread-self').split('/')
  const { startTicks } = parseStat(readFileSync(`/proc/${pid}/task/${tid}/stat`, 'latin1'))
  return {
    pid: Number(pid),
    tid: Number(tid),
    startTicks,
    pidNamespace: pidNamespace(),
    boot: bootId(),
  }
}

/** The owner as one word that is safe in a file name; `parseOwner` reads it back. */
export function formatOwner(owner: Owner): string {
  return [owner.pid, owner.tid, owner.startTicks, owner.pidNamespace, owner.boot].join('.')
}

/** Reads the word of `formatOwner`; undefined for anything else. */
export function parseOwner(text: string): Owner | undefined {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\.([0-9a-f]{8})$/.exec(text)
  if (!match) return undefined
  const [, pid, tid, startTicks, namespace, boot] = match as unknown as [string, string, string, string, string, string]
  return { pid: Number(pid), tid: Number(tid), startTicks, pidNamespace: namespace, boot }
}

/** Whether the owner is surely gone. `ageMs` is how long ago it left the thing that names it. */
export function isGone(owner: Owner, ageMs: number): boolean {
  const fate = fateOf(owner)
  return fate === 'gone' || fate === 'rebooted' || (fate === 'foreign' && ageMs > FOREIGN_LIMIT_MS)
}

/**
 * What can be known of an owner from here. `rebooted`: gone with the boot of the machine that it lived on. `foreign`: its
 * pid counts in another pid namespace and cannot be looked up.
 */
export type Fate = 'alive' | 'gone' | 'rebooted' | 'foreign'

/** Looks the owner up. Without `tid` the process is meant; a part that is absent is not compared. */
export function fateOf(owner: Partial<Owner> & Pick<Owner, 'pid'>): Fate {
  if (owner.boot !== undefined && owner.boot !== bootId()) return 'rebooted'
  if (owner.pidNamespace !== undefined && owner.pidNamespace !== pidNamespace()) return 'foreign'
  let stat: ProcessStat | undefined
  try {
    stat = processStat(owner.pid, owner.tid)
  } catch {
    // Such as no descriptor left to open it with: that says nothing about the owner.
    return 'alive'
  }
  if (stat === undefined) return isHidden(owner.pid) ? 'alive' : 'gone'
  // A killed process that its parent has not collected yet still has its line, as a zombie.
  if (isDead(stat)) return 'gone'
  return owner.startTicks === undefined || owner.startTicks === stat.startTicks ? 'alive' : 'gone'
}

/** /proc mounted with hidepid shows nothing of other users' processes; a signal still tells that they exist. */
function isHidden(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Inode of the pid namespace that this process lives in. */
export function pidNamespace(): string {
  return readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')
}

let knownBootId: string | undefined

function bootId(): string {
  knownBootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8)
  return knownBootId
}
