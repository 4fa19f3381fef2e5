import { readFileSync } from 'node:fs'
import { namesOrNone } from './read-or-empty.ts'

/** Fields 3, 4 and 22 of /proc/PID/stat (proc(5)). */
export interface ProcessStat {
  readonly state: string
  readonly parent: number
  readonly startTicks: string
}

/** A process, or one thread of it; undefined when it is not there or hidden. Throws when that cannot be told. */
export function processStat(pid: number, tid: number = pid): ProcessStat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/task/${tid}/stat`, 'latin1'))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return undefined
    throw error
  }
}

/** Reads the text of such a file. The name in field 2 may hold blanks and parentheses. */
export function parseStat(text: string): ProcessStat {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return { state: fields[0] ?? '', parent: Number(fields[1]), startTicks: fields[19] ?? '' }
}

/** Whether it has ended: a zombie (Z), or in the moment of its removal (X). */
export function isDead({ state }: ProcessStat): boolean {
  return state === 'Z' || state === 'X'
}

/** A process that can be looked up; undefined also when that cannot be told. */
export function visibleStat(pid: number): ProcessStat | undefined {
  try {
    return processStat(pid)
  } catch {
    return undefined
  }
}

/** All processes that can be seen from here. */
export function visiblePids(): number[] {
  return namesOrNone('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
}
