import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { processStat, visiblePids } from '../../src/proc.ts'
import { namesOrNone } from '../../src/read-or-empty.ts'

/** What this process holds at one instant. */
export interface Resources {
  readonly descriptors: number
  readonly threads: number
  /** Resident memory after a garbage collection, in MiB. V8's unused pages are in it: they come and go as V8 likes. */
  readonly residentMib: number
  /** What JavaScript holds after it, in MiB. */
  readonly heapMib: number
  /** Living child processes, and those that nobody has waited for. */
  readonly children: number
  readonly zombies: number
  /** Folders in `records/` and files in the temporary folder. */
  readonly records: number
  readonly tempFiles: number
}

// What `--expose-gc` gives, without a process of its own for the option.
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Collects garbage, and counts. */
export function ownResources(home: string, temp: string): Resources {
  collectGarbage()
  const states = childStates()
  const { rss, heapUsed } = process.memoryUsage()
  return {
    // One of them is the listing's own.
    descriptors: readdirSync('/proc/self/fd').length - 1,
    threads: readdirSync('/proc/self/task').length,
    residentMib: rss / 1024 / 1024,
    heapMib: heapUsed / 1024 / 1024,
    children: states.filter((state) => state !== 'Z').length,
    zombies: states.filter((state) => state === 'Z').length,
    records: namesOrNone(join(home, 'records')).length,
    tempFiles: namesOrNone(temp).length,
  }
}

function childStates(): string[] {
  return visiblePids().flatMap((pid) => {
    const stat = processStat(pid)
    return stat?.parent === process.pid ? [stat.state] : []
  })
}
