import { exactMs } from '../../text/milliseconds.ts'
import { table } from '../../text/table.ts'
import type { Job, JobsReport } from './jobs-report.ts'
import { isFailure } from './words.ts'

/** A job as it is called in a line. */
export function jobName({ id, unit, type }: Job): string {
  return `${id} ${unit}${type === 'unknown' || type === 'start' ? '' : ` (${type})`}`
}

/** The failed jobs, by the moment of it. */
export function failedLines({ failed, jobs }: JobsReport, byId: ReadonlyMap<number, Job>): string[] {
  const rows = failed.flatMap((id) => {
    const job = byId.get(id)
    if (job === undefined) return []
    // What failed before it is the cause that a person looks for; what was done is not.
    const on = job.waitedOn.flatMap((one) => byId.get(one) ?? [])
    const causes = on.filter(({ result }) => result !== undefined && isFailure(result))
    const waited =
      on.length === 0 ? '' : `; waited on ${causes.length > 0 ? listOf(causes) : `${countOf(on.length)}, none failed`}`
    return [[cell(job.removedUs), job.result ?? '', `${jobName(job)}${waited}`]]
  })
  if (rows.length === 0) return jobs.some(({ result }) => result !== undefined) ? ['failed: none'] : []
  return ['failed:', ...table([['removed ms', 'result', 'job'], ...rows], [1, 2])]
}

// A boot in its middle queues dozens; all are in the JSON.
const MAX_QUEUED = 30

/** What is still queued, the running ones first, each with what it waits on. */
export function queuedLines({ queued }: JobsReport, byId: ReadonlyMap<number, Job>): string[] {
  const jobs = queued
    .flatMap((id) => byId.get(id) ?? [])
    .toSorted((a, b) => (a.state === b.state ? a.id - b.id : a.state === 'running' ? -1 : 1))
  if (jobs.length === 0) return []
  const rows = jobs.slice(0, MAX_QUEUED).map((job) => {
    const on = job.waitedOn.flatMap((id) => byId.get(id) ?? []).filter(({ state }) => state !== 'finished')
    return [job.state, `${jobName(job)}${on.length === 0 ? '' : `; waits on ${listOf(on)}`}`]
  })
  const more = jobs.length - rows.length
  return ['still queued:', ...table(rows, [0, 1]), ...(more === 0 ? [] : [`  and ${more} more, all in the JSON`])]
}

/**
 * The jobs that were queued longest, each with the one that it waited on last; of those that were there before anybody
 * listened, at least so long.
 */
export function longestLines({ jobs, depth }: JobsReport, byId: ReadonlyMap<number, Job>, count: number): string[] {
  const listedUs = depth?.steps[0]?.atUs
  const lived = jobs
    .flatMap((job) => {
      const fromUs = job.installedUs ?? (job.since === 'before-connect' ? listedUs : undefined)
      return fromUs === undefined || job.removedUs === undefined ? [] : [{ job, fromUs, toUs: job.removedUs }]
    })
    .toSorted((a, b) => b.toUs - b.fromUs - (a.toUs - a.fromUs) || a.job.id - b.job.id)
    .slice(0, count)
  if (lived.length === 0) return []
  const rows = lived.map(({ job, fromUs, toUs }) => {
    const atLeast = job.installedUs === undefined ? '≥' : ''
    const runUs = job.releasedUs ?? job.runningUs
    return [
      `${atLeast}${exactMs(toUs - fromUs)}`,
      // A signal of the announcement can come after the run.
      runUs === undefined ? '-' : `${atLeast}${exactMs(Math.max(0, runUs - fromUs))}`,
      runUs === undefined ? '-' : exactMs(toUs - Math.max(runUs, fromUs)),
      job.result ?? '',
      `${jobName(job)}${lastWaited(job, byId)}`,
    ]
  })
  return ['queued longest:', ...table([['ms', 'waiting', 'running', 'result', 'job'], ...rows], [3, 4])]
}

function lastWaited(job: Job, byId: ReadonlyMap<number, Job>): string {
  let last: { readonly job: Job; readonly endUs: number } | undefined
  for (const id of job.waitedOn) {
    const on = byId.get(id)
    const endUs = on?.unitEndUs ?? on?.removedUs
    if (on !== undefined && endUs !== undefined && endUs > (last?.endUs ?? -1)) last = { job: on, endUs }
  }
  return last === undefined ? '' : `; last waited on ${jobName(last.job)}`
}

/** A number of jobs as words. */
export function countOf(count: number, what = 'job'): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

// The whole list is in the result; multi-user.target waits on dozens.
const MAX_NAMED = 4

function listOf(jobs: readonly Job[]): string {
  const named = jobs.slice(0, MAX_NAMED).map((job) => `${jobName(job)}${said(job)}`)
  return `${named.join(', ')}${jobs.length > MAX_NAMED ? ` and ${jobs.length - MAX_NAMED} more` : ''}`
}

function said({ result, state }: Job): string {
  if (result !== undefined) return ` [${result}]`
  return state === 'running' ? ' [running]' : ''
}

function cell(us: number | undefined): string {
  return us === undefined ? '-' : exactMs(us)
}
