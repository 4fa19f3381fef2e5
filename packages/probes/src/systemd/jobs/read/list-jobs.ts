import { unitTypeOf } from '../../unit-name.ts'
import type { JobsProblems } from '../jobs-diagnostics.ts'
import { isJobType, isQueuedState, readJobId } from '../words.ts'
import type { Mention, Snapshot, SnapshotJob } from './snapshot.ts'

/** Reads the lines of `systemctl list-jobs` (output_jobs_list in src/systemctl/systemctl-list-jobs.c, 247 to 262). */
export interface ListJobsReader {
  /** False for a line that is none of its own. */
  take(line: string, number: number): boolean
  /** Text that is of no format came: in the middle of a table it may have broken a row. */
  foreign(): void
  /** A line was lost: what follows may belong to its row. */
  lose(): void
  end(): readonly Snapshot[]
}

const HEADER = /^JOB +UNIT +TYPE +STATE *$/
const ROW = /^(\d{1,10}) +(\S+) +(\S+) +(\S+) *$/
// The first cell holds the glyph of a tree, the second begins with a TAB; the cells behind it are dashes.
const RELATION = /^(?:[└├]─|[`|]-) *\t(waiting for|blocking) job (.*)$/
const MENTION = /^(\d{1,10}) \((\S+)\/([a-z-]+)\)(?: +- +-)? *$/
const LISTED = /^(\d{1,9}) jobs? listed\.$/
const NONE = /^No jobs (?:running|listed)\.$/
const ELLIPSIS = /…|\.\.\./

interface OpenRow extends SnapshotJob {
  readonly waitingFor: Mention[]
  readonly blocking: Mention[]
}

/**
 * Makes a reader for the input called `file`. What a relation means is read from its words: 247 and 252 print them under
 * the opposite options. A table ends with its count, or where the next one begins.
 */
export function readListJobs(file: string, problems: JobsProblems): ListJobsReader {
  const snapshots: Snapshot[] = []
  let rows: OpenRow[] | undefined
  let current: OpenRow | undefined
  let doubtful = false
  let lost = 0

  function close(): void {
    if (rows !== undefined) snapshots.push({ source: 'list-jobs', file, jobs: rows })
    rows = undefined
    current = undefined
    doubtful = false
    lost = 0
  }

  function takeRow(line: string, number: number): boolean {
    const [, idText = '', unit = '', type = '', state] = ROW.exec(line) ?? []
    if (state === undefined) return false
    const id = readJobId(idText)
    const cut = ELLIPSIS.test(unit)
    const looks = isJobType(type) || isQueuedState(state) || rows !== undefined
    if (!looks || (!cut && unitTypeOf(unit) === undefined && rows === undefined)) return false
    rows ??= []
    current = undefined
    if (doubtful) {
      doubtful = false
      lost += 1
      problems.add('torn-row', number)
    } else if (
      id === undefined ||
      !isJobType(type) ||
      !isQueuedState(state) ||
      (!cut && unitTypeOf(unit) === undefined)
    ) {
      lost += 1
      problems.add('bad-row', number, line)
    } else {
      if (cut) problems.add('cut-name', number, unit)
      current = { id, unit, cut, type, state, line: number, waitingFor: [], blocking: [] }
      rows.push(current)
    }
    return true
  }

  function takeRelation(line: string, number: number): boolean {
    const [, words, rest = ''] = RELATION.exec(line) ?? []
    if (words === undefined) return false
    const mention = readMention(rest)
    if (current === undefined || mention === undefined) problems.add('lost-relation', number)
    else (words === 'blocking' ? current.blocking : current.waitingFor).push(mention)
    return true
  }

  return {
    take(line, number) {
      if (takeRow(line, number) || takeRelation(line, number)) return true
      const listed = LISTED.exec(line)?.[1]
      if (listed !== undefined) {
        if (Number(listed) !== (rows?.length ?? 0)) problems.add('count-differs', number, countText(listed, rows, lost))
        close()
        return true
      }
      const begins = HEADER.test(line)
      if (!begins && !NONE.test(line)) return false
      close()
      rows = []
      if (!begins) close()
      return true
    },
    foreign() {
      if (rows === undefined || rows.length === 0) return
      doubtful = true
      current = undefined
    },
    lose() {
      current = undefined
    },
    end() {
      close()
      return snapshots
    },
  }
}

/** True for a line that is whole although no newline ends it: its last word is one that no other begins with. */
export function isWholeListLine(line: string): boolean {
  return isQueuedState(ROW.exec(line)?.[4]) || LISTED.test(line) || NONE.test(line)
}

function countText(listed: string, rows: readonly unknown[] | undefined, lost: number): string {
  return `${listed} listed, ${rows?.length ?? 0} read${lost === 0 ? '' : `, ${lost} unreadable`}`
}

/** `1332 (x-afterslow.service/start)`. A type never has a slash, and neither does a unit. */
function readMention(text: string): Mention | undefined {
  const [, idText, unit = '', type] = MENTION.exec(text) ?? []
  const id = readJobId(idText)
  if (id === undefined || !isJobType(type) || unitTypeOf(unit) === undefined) return undefined
  return { id, unit, type }
}
