import { unitTypeOf } from '../../unit-name.ts'
import type { JobsProblems } from '../jobs-diagnostics.ts'
import { isJobType, isQueuedState, readJobId } from '../words.ts'
import type { Snapshot, SnapshotJob } from './snapshot.ts'

/** Reads the job blocks of `systemd-analyze dump` (job_dump in src/core/job.c, 247 to 262). */
export interface DumpJobsReader {
  /** False for a line that is not of a dump. */
  take(line: string, number: number): boolean
  /** A line was lost, or one came that is of no format: it may have been the next block's first. */
  interrupt(): void
  /** One snapshot where there was a dump. */
  end(): readonly Snapshot[]
}

// Blocks have their job at the margin or, inside their unit's, one TAB in. Job lines keep the ASCII arrow in all
// versions; units and what is nested in them have the other one from 257 on.
const JOB = /^(\t?)(?:->|→) Job (\S+):$/
const FIELD = /^(\t{1,2})(Action|State): (.*)$/
const UNIT = /^(?:->|→) Unit \S+:$/
const HEAD = /^(?:Manager: systemd|Features: |Subscribed: |Timestamp [a-z-]{1,40}: )/
const ACTION = /^(\S+) -> (\S+)$/

interface OpenBlock {
  readonly id: number | undefined
  readonly inUnit: boolean
  readonly line: number
  readonly fields: Map<string, string>
  twice: boolean
}

/** Makes a reader for the input called `file`. */
export function readDumpJobs(file: string, problems: JobsProblems): DumpJobsReader {
  const atMargin = new Map<number, SnapshotJob>()
  const inUnits = new Map<number, SnapshotJob>()
  let isDump = false
  let open: OpenBlock | undefined

  function close(): void {
    const block = open
    open = undefined
    if (block === undefined) return
    const job = jobOf(block)
    const place = block.inUnit ? inUnits : atMargin
    if (job === undefined || place.has(job.id)) problems.add('half-block', block.line)
    else place.set(job.id, job)
  }

  function takeTabbed(line: string): boolean {
    const [, tabs = '', key, value = ''] = FIELD.exec(line) ?? []
    const depth = open?.inUnit === true ? 2 : 1
    if (open !== undefined && key !== undefined && tabs.length === depth) {
      open.twice ||= open.fields.has(key)
      open.fields.set(key, value)
    } else if (open?.inUnit === true && !line.startsWith('\t\t')) close()
    return isDump
  }

  return {
    take(line, number) {
      const [, tab, id] = JOB.exec(line) ?? []
      if (id !== undefined && (tab === '' || isDump)) {
        close()
        isDump = true
        open = { id: readJobId(id), inUnit: tab !== '', line: number, fields: new Map(), twice: false }
        return true
      }
      if (line.startsWith('\t')) return takeTabbed(line)
      if (UNIT.test(line)) isDump = true
      else if (!HEAD.test(line)) return false
      close()
      return true
    },
    interrupt: close,
    end() {
      close()
      if (!isDump) return []
      const jobs = new Map([...inUnits, ...atMargin])
      for (const [id, { line, unit }] of jobs) {
        const other = atMargin.has(id) ? inUnits.get(id) : undefined
        if (other === undefined || other.unit !== unit) problems.add('seen-once', line, unit)
      }
      return [{ source: 'dump', file, jobs: [...jobs.values()] }]
    },
  }
}

function jobOf({ id, line, fields, twice }: OpenBlock): SnapshotJob | undefined {
  const [, unit = '', type] = ACTION.exec(fields.get('Action') ?? '') ?? []
  const state = fields.get('State')
  if (id === undefined || twice || unitTypeOf(unit) === undefined || !isJobType(type) || !isQueuedState(state))
    return undefined
  return { id, unit, cut: false, type, state, line, waitingFor: [], blocking: [] }
}
