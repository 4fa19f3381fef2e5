import { problemLine } from '../../text/problem-line.ts'
import { page, sectionLines } from '../../text/page.ts'
import type { Job, JobsReport, JobsResult, NoJobs } from './jobs-report.ts'
import type { JobSource } from './model/job-life.ts'
import { footLines } from './render-foot.ts'
import { countOf, failedLines, longestLines, queuedLines } from './render-jobs.ts'

/** How the queue is drawn. */
export interface JobsRenderOptions {
  /** Characters a line of prose may have; rows of tables are never cut. Default 100. */
  readonly width?: number
  /** How many of the longest-lived jobs are listed; default 10. */
  readonly longest?: number
  /** Loops of PID 1 shorter than this, in us, are counted and not listed; default 100,000. */
  readonly listLoopsFromUs?: number
}

/**
 * PID 1's queue as text tables: what failed and what is still queued, each with what it waited on, the jobs that lived
 * longest, then depth, PID 1's own work, holes and lags. The same text serves a terminal and a pull request.
 */
export function renderJobs(result: JobsResult, options: JobsRenderOptions = {}): string {
  const { width = 100, longest = 10, listLoopsFromUs = 100_000 } = options
  const lines = result.found ? reportLines(result, longest, listLoopsFromUs) : noJobsLines(result)
  return page(lines, width)
}

function noJobsLines({ message, diagnostics }: NoJobs): string[] {
  return [`no jobs: ${message}`, ...diagnostics.problems.map(problemLine)]
}

function reportLines(report: JobsReport, longest: number, listLoopsFromUs: number): string[] {
  const byId = new Map(report.jobs.map((job) => [job.id, job]))
  const sections = [
    failedLines(report, byId),
    queuedLines(report, byId),
    longestLines(report, byId, longest),
    ...footLines(report, byId, listLoopsFromUs),
  ]
  return [headLine(report), ...sectionLines(sections), ...report.diagnostics.problems.map(problemLine)]
}

const SOURCES: { readonly [source in JobSource]: string } = {
  recording: 'recorded from PID 1',
  journal: 'journal',
  'list-jobs': 'systemctl list-jobs',
  dump: 'systemd-analyze dump',
}

function headLine({ jobs, results, depth, sources, diagnostics }: JobsReport): string {
  const states = (['running', 'waiting'] as const).map((state) => countText(jobs, state))
  const parts = [
    countOf(jobs.length),
    ...(depth === undefined ? [] : [`${depth.atConnect} when the recorder connected, at most ${depth.max} at once`]),
    [...Object.entries(results).map(([result, count]) => `${count} ${result}`), ...states]
      .filter((text) => text !== '')
      .join(', '),
    sources.map((source) => SOURCES[source]).join(', '),
    ...(diagnostics.units === 0 ? [] : [countOf(diagnostics.units, 'unit')]),
    'n=1',
  ]
  return parts.filter((part) => part !== '').join(' · ')
}

function countText(jobs: readonly Job[], state: Job['state']): string {
  const count = jobs.filter((job) => job.state === state).length
  return count === 0 ? '' : `${count} ${state}`
}
