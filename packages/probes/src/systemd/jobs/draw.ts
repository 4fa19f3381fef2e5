import { drawWaterfall, type WaterfallBar, type WaterfallRow } from '../../svg/waterfall.ts'
import { exactMs } from '../../text/milliseconds.ts'
import type { Job, JobsReport } from './jobs-report.ts'
import { isFailure } from './words.ts'

const KINDS = [
  { kind: 'waiting', colour: '#d5dae0', meaning: 'waiting' },
  { kind: 'running', colour: '#3b7dd8', meaning: 'running' },
  { kind: 'failed', colour: '#e5484d', meaning: 'failed' },
  { kind: 'hole', colour: '#fbe3e4', meaning: 'not recorded' },
  { kind: 'reload', colour: '#fdf3d8', meaning: 'PID 1 reloading' },
] as const

/**
 * The waterfall of PID 1's queue as an SVG document: a row a job, in the order in which PID 1 ran them; times are those of
 * the guest's CLOCK_MONOTONIC, which begins with the kernel. Jobs of which no time is known are left out.
 */
export function drawJobs(report: JobsReport): string {
  const { jobs, connectedUs = 0, lastUs, holes, reloads, startupFinished } = report
  const endUs = lastUs ?? Math.max(0, ...jobs.map(({ removedUs = 0 }) => removedUs))
  const timed = jobs.filter((job) => ranUs(job) !== undefined || job.removedUs !== undefined)
  const rows = timed.toSorted((a, b) => orderOf(a) - orderOf(b) || a.id - b.id).map(row)
  const bands = [
    ...holes.map(({ startUs, endUs: until = endUs, why }) => bar('hole', startUs, until, `not recorded: ${why}`)),
    ...reloads.map(({ startUs, endUs: until = endUs }) => bar('reload', startUs, until, 'PID 1 reloading')),
  ]
  return drawWaterfall({
    title: `PID 1’s queue: ${jobs.length} jobs`,
    kinds: [...KINDS],
    rows,
    bands,
    marks: startupFinished ? [{ atUs: startupFinished.finishUs, label: 'boot finished' }] : [],
  })

  function orderOf(job: Job): number {
    return ranUs(job) ?? job.removedUs ?? endUs
  }

  function row(job: Job): WaterfallRow {
    const { unit, type, result, removedUs = endUs, installedUs = connectedUs } = job
    const began = Math.min(ranUs(job) ?? removedUs, removedUs)
    const name = type === 'start' || type === 'unknown' ? unit : `${unit}/${type}`
    const kind = result !== undefined && isFailure(result) ? 'failed' : 'running'
    const waiting = began > installedUs ? [bar('waiting', installedUs, began, `${name} waiting`)] : []
    return { label: name, bars: [...waiting, bar(kind, began, removedUs, `${name} ${result ?? 'not over'}`)] }
  }
}

/** PID 1's own stamp where there is one, else the signal. */
function ranUs({ releasedUs, runningUs }: Job): number | undefined {
  return releasedUs ?? runningUs
}

function bar(kind: (typeof KINDS)[number]['kind'], startUs: number, endUs: number, title: string): WaterfallBar {
  return { kind, startUs, endUs, title: `${title}, ${exactMs(endUs - startUs)} ms from ${exactMs(startUs)} ms on` }
}
