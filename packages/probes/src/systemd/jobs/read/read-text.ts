import { readTextLines } from '../../read/text-lines.ts'
import type { JobsProblems } from '../jobs-diagnostics.ts'
import { readDumpJobs } from './dump-jobs.ts'
import { isWholeListLine, readListJobs } from './list-jobs.ts'
import type { Snapshot } from './snapshot.ts'

/** What a text held. */
export interface TextReading {
  readonly lines: number
  readonly snapshots: readonly Snapshot[]
  /** True where units stand in it, which have a reader of their own. */
  readonly hasUnits: boolean
}

const SHOW_FIELD = /^[A-Z][A-Za-z0-9]*=/

/**
 * Reads the jobs in a text: tables of `systemctl list-jobs`, the job blocks of `systemd-analyze dump`, both also in one
 * capture and as a serial console has them. What `systemctl show` prints is passed over. Never throws.
 */
export function readJobsText(file: string, text: string, problems: JobsProblems): TextReading {
  const tables = readListJobs(file, problems)
  const dump = readDumpJobs(file, problems)
  let shows = false

  function take(line: string, number: number): void {
    if (line.trim() === '') return
    if (dump.take(line, number)) return
    if (SHOW_FIELD.test(line)) {
      shows = true
      return
    }
    if (tables.take(line, number)) return
    problems.add('unparsed', number)
    tables.foreign()
    dump.interrupt()
  }

  const { lines } = readTextLines(withEnd(text), problems, take, () => {
    tables.lose()
    dump.interrupt()
  })
  const dumps = dump.end()
  return { lines, snapshots: [...tables.end(), ...dumps], hasUnits: shows || dumps.length > 0 }
}

/** A pasted table often lacks its last newline, and its last line is whole all the same. */
function withEnd(text: string): string {
  const last = text.slice(text.lastIndexOf('\n') + 1)
  return last.length < MAX_ROW_CHARS && isWholeListLine(last.trimEnd()) ? `${text}\n` : text
}

const MAX_ROW_CHARS = 1000
