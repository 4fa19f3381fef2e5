import { readFile } from 'node:fs/promises'
import { readFileSync, readlinkSync } from 'node:fs'

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

// A holder in another container cannot be looked up; after this long without an end it counts as gone.
const FOREIGN_LIMIT_MS = 3_600_000

/** The calling thread. Synchronous on purpose: /proc/thread-self names the thread that does the system call. */
export function currentOwner(): Owner {
  const [pid, , tid] = readlinkSync('/proc/thread-self').split('/')
  const stat = parseStat(readFileSync(`/proc/${pid}/task/${tid}/stat`, 'latin1'))
  return {
    pid: Number(pid),
    tid: Number(tid),
    startTicks: stat.startTicks,
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
export async function isGone(owner: Owner, ageMs: number): Promise<boolean> {
  if (owner.boot !== bootId()) return true
  if (owner.pidNamespace !== pidNamespace()) return ageMs > FOREIGN_LIMIT_MS
  try {
    const stat = parseStat(await readFile(`/proc/${owner.pid}/task/${owner.tid}/stat`, 'latin1'))
    // A killed process that its parent has not collected yet still has its line, as a zombie.
    return stat.state === 'Z' || stat.state === 'X' || stat.startTicks !== owner.startTicks
  } catch {
    return !isHidden(owner.pid)
  }
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

/** Fields 3 and 22 of /proc/PID/stat (proc(5)); the name in field 2 may hold blanks and parentheses. */
function parseStat(text: string): { readonly state: string; readonly startTicks: string } {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return { state: fields[0] ?? '', startTicks: fields[19] ?? '' }
}

function pidNamespace(): string {
  return readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')
}

let knownBootId: string | undefined

function bootId(): string {
  knownBootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8)
  return knownBootId
}
