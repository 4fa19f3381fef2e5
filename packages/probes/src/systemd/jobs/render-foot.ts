import { exactMs } from '../../text/milliseconds.ts'
import { table } from '../../text/table.ts'
import type { Job, JobsReport } from './jobs-report.ts'
import { countOf, jobName } from './render-jobs.ts'

/** What stands below the tables of jobs, in sections; rows are indented by two blanks. */
export function footLines(report: JobsReport, byId: ReadonlyMap<number, Job>, listLoopsFromUs: number): string[][] {
  return [
    setOffLines(report, byId),
    depthLines(report),
    loopLines(report, byId, listLoopsFromUs),
    [...lagLines(report), ...holeLines(report), ...reloadLines(report)],
    report.findings.map(({ name, message }) => `${name}: ${message}`),
  ]
}

function setOffLines({ between }: JobsReport, byId: ReadonlyMap<number, Job>): string[] {
  if (between === undefined) return []
  const span = `from ${exactMs(between.fromUs)} to ${exactMs(between.toUs)} ms`
  if (between.jobs.length === 0) return [`set off ${span}: no job`]
  const rows = between.jobs.flatMap((id) => {
    const job = byId.get(id)
    if (job === undefined) return []
    const { installedUs = between.fromUs, removedUs } = job
    return [
      [
        `+${exactMs(installedUs - between.fromUs)}`,
        removedUs === undefined ? '-' : exactMs(removedUs - installedUs),
        job.result ?? job.state,
        `${jobName(job)}${job.waitedOn.length === 0 ? '' : `; waited on ${job.waitedOn.join(', ')}`}`,
      ],
    ]
  })
  return [`set off ${span}:`, ...table([['announced ms', 'ms', 'result', 'job'], ...rows], [2, 3])]
}

function depthLines({ depth, startupFinished }: JobsReport): string[] {
  const [first] = depth?.steps ?? []
  if (depth === undefined || first === undefined) return []
  const behindMax = depth.steps.filter(({ atUs }) => atUs >= depth.maxAtUs)
  const falls = [0.5, 0.25, 0].flatMap((share) => behindMax.find(({ jobs }) => jobs <= depth.max * share) ?? [])
  const steps = [first, ...(depth.max > first.jobs ? [{ atUs: depth.maxAtUs, jobs: depth.max }] : []), ...falls]
  return [
    `queue: ${steps.map(({ atUs, jobs }) => `${jobs} at ${exactMs(atUs)} ms`).join(', ')}; ${depth.atEnd} at the end`,
    ...(startupFinished === undefined ? [] : [`boot finished at ${exactMs(startupFinished.finishUs)} ms`]),
  ]
}

function loopLines({ dispatches }: JobsReport, byId: ReadonlyMap<number, Job>, listFromUs: number): string[] {
  if (dispatches === undefined) return []
  if (dispatches.length === 0) return ['PID 1 ran no two jobs in one go']
  const sumUs = dispatches.reduce((sum, { startUs, endUs }) => sum + endUs - startUs, 0)
  const listed = dispatches.filter(({ startUs, endUs }) => endUs - startUs >= listFromUs)
  const less = dispatches.length - listed.length
  const rows = listed.map(({ startUs, endUs, jobs }) => [
    exactMs(startUs),
    exactMs(endUs - startUs),
    String(jobs.length),
    `${unitOf(byId, jobs[0])} … ${unitOf(byId, jobs.at(-1))}`,
  ])
  return [
    `PID 1 ran jobs one after another, with more of them ready: ${countOf(dispatches.length, 'loop')}, ${exactMs(sumUs)} ms in all${less === 0 ? '' : `; ${less} shorter than ${exactMs(listFromUs)} ms are not listed`}`,
    ...(rows.length === 0 ? [] : table([['from ms', 'ms', 'jobs', 'first … last'], ...rows], [3])),
  ]
}

function unitOf(byId: ReadonlyMap<number, Job>, id: number | undefined): string {
  return (id === undefined ? undefined : byId.get(id)?.unit) ?? '?'
}

function lagLines({ lag }: JobsReport): string[] {
  if (lag === undefined) return []
  const { n, p50Us, p95Us, maxUs, inReload } = lag
  const figures = [
    `p50 ${p50Us === undefined ? 'withheld' : `${exactMs(p50Us)} ms`}`,
    `p95 ${p95Us === undefined ? 'withheld' : `${exactMs(p95Us)} ms`}`,
    `at most ${exactMs(maxUs)} ms`,
  ]
  return [
    `JobRemoved was read ${figures.join(', ')} behind the unit’s own stamp (n=${n}${inReload === 0 ? '' : `; ${inReload} in a reload not counted`})`,
  ]
}

function holeLines({ holes }: JobsReport): string[] {
  return holes.map(({ startUs, endUs, why, vanished, appeared }) => {
    const span = `nobody listened from ${exactMs(startUs)} ms ${endUs === undefined ? 'on' : `to ${exactMs(endUs)} ms`}`
    const lost = [
      ...(vanished.length === 0 ? [] : [`removed in the hole: ${vanished.join(', ')}`]),
      ...(appeared.length === 0 ? [] : [`installed in it: ${appeared.join(', ')}`]),
    ]
    return `${span}${why === '' ? '' : ` (${why})`}${lost.length === 0 ? '' : `; ${lost.join('; ')}`}`
  })
}

function reloadLines({ reloads }: JobsReport): string[] {
  return reloads.map(
    ({ startUs, endUs }) =>
      `PID 1 was reloaded from ${exactMs(startUs)} ms ${endUs === undefined ? 'on' : `to ${exactMs(endUs)} ms`}`,
  )
}
