import { readFileSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pidNamespace } from '../owner.ts'
import { isDead, visiblePids, visibleStat } from '../proc.ts'
import { namesOrNone, textOrEmpty } from '../read-or-empty.ts'

/** A process whose command line says that it is the engine of a box. Not proved by that alone. */
export interface Candidate {
  readonly pid: number
  readonly startTicks: string
  readonly boxId: string
  /** Its arguments, without the program. */
  readonly argv: readonly string[]
}

/** All processes with `-name boxlab-ID` on their command line that can be seen from here. */
export function engineCandidates(): Candidate[] {
  return visiblePids().flatMap((pid) => {
    const argv = argumentsOf(pid)
    const at = argv.findIndex((word, index) => argv[index - 1] === '-name' && word.startsWith('boxlab-'))
    if (at < 0) return []
    const stat = visibleStat(pid)
    if (stat === undefined || isDead(stat)) return []
    return [{ pid, startTicks: stat.startTicks, boxId: (argv[at] ?? '').slice('boxlab-'.length), argv }]
  })
}

/** Whether a process was started by another one, directly or through a few between them. */
export function descendsFrom(pid: number, ancestor: number): boolean {
  let parent = visibleStat(pid)?.parent
  for (let steps = 0; parent !== undefined && parent > 0 && steps < 16; steps += 1) {
    if (parent === ancestor) return true
    parent = visibleStat(parent)?.parent
  }
  return false
}

/** Who writes which record, at one instant. */
export interface Writers {
  /**
   * The process that holds a marks.jsonl open for writing, `none` when there is none, `unseen` when there may be one that
   * cannot be looked into from here. Who records a box keeps that file open for as long as the box lives.
   */
  of(marks: string): number | 'none' | 'unseen'
}

/** Looks through the open files of all processes, once. A file that is opened later is not among them. */
export function recordWriters(): Writers {
  const writers = new Map<string, number>()
  for (const pid of visiblePids()) for (const file of writtenBy(pid)) writers.set(file, pid)
  return {
    of(marks) {
      const file = statSync(marks, { throwIfNoEntry: false })
      if (file === undefined) return 'none'
      return writers.get(identity(file)) ?? (seesWritersOf(file) ? 'none' : 'unseen')
    },
  }
}

// The initial pid namespace, from which all others are seen: PROC_PID_INIT_INO of include/linux/proc_ns.h.
const initialNamespace = String(0xeffffffc)

function seesWritersOf({ uid }: { readonly uid: number }): boolean {
  const me = process.geteuid?.()
  return pidNamespace() === initialNamespace && (me === 0 || me === uid)
}

function writtenBy(pid: number): string[] {
  const folder = `/proc/${pid}/fd`
  return namesOrNone(folder).flatMap((fd) => {
    try {
      // By name first: a stat of a descriptor on a dead network file system would hang.
      if (!readlinkSync(join(folder, fd)).endsWith('/marks.jsonl') || !opensForWriting(pid, fd)) return []
      return [identity(statSync(join(folder, fd)))]
    } catch {
      return []
    }
  })
}

/** The same from every mount namespace, unlike a path. */
function identity({ dev, ino }: { readonly dev: number; readonly ino: number }): string {
  return `${dev}:${ino}`
}

/** The flags of open(2), octal (proc(5), /proc/PID/fdinfo); a reader such as `tail -f` proves nothing. */
function opensForWriting(pid: number, fd: string): boolean {
  const [, flags = '0'] = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'latin1')) ?? []
  return (Number.parseInt(flags, 8) & 0o3) !== 0
}

function argumentsOf(pid: number): string[] {
  return textOrEmpty(`/proc/${pid}/cmdline`).split('\0').slice(1, -1)
}
