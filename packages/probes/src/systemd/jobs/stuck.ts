import type { NamedInput } from '../../input/byte-input.ts'
import { readSystemd } from '../read/read-systemd.ts'
import { jobs } from './jobs.ts'
import type { Job } from './jobs-report.ts'

/** A job that runs while others wait for it. */
export interface StuckJob {
  readonly id: number
  readonly unit: string
  readonly type: Job['type']
  /** How long systemd lets it run, in us; absent without a limit, or where nothing tells. */
  readonly limitUs?: number
  /** Units in the queue that require, bind to or want it: it runs because of them. */
  readonly startedBy: readonly string[]
  /** How many jobs wait for it, directly or behind others. */
  readonly holds: number
}

/** A queue that did not drain. */
export interface StuckQueue {
  /** Those that hold most first. */
  readonly running: readonly StuckJob[]
  readonly waiting: number
}

/**
 * What a boot that is not over waits for: from the queue (`systemctl list-jobs`, a recording) and beside it the units that have
 * a job (`systemctl show --all`), which say who waits for whom. Undefined where no job is queued or nothing tells of jobs.
 */
export function stuckQueue(inputs: readonly NamedInput[]): StuckQueue | undefined {
  const result = jobs(inputs)
  if (!result.found || result.queued.length === 0) return undefined
  const units = readSystemd(inputs).state?.units
  const ids = new Set(result.queued)
  const queued = new Map(result.jobs.filter(({ id }) => ids.has(id)).map((job) => [job.id, job]))
  const names = new Set([...queued.values()].map(({ unit }) => unit))
  const running = [...queued.values()].filter(({ state }) => state === 'running')
  return {
    waiting: queued.size - running.length,
    running: running
      .map((job) => {
        const { id, unit, type } = job
        const known = units?.get(unit)
        const limitUs = known?.jobRunningTimeoutUs ?? known?.startTimeoutUs
        return {
          id,
          unit,
          type,
          ...(limitUs !== undefined && { limitUs }),
          startedBy: known?.pulledInBy.filter((name) => names.has(name)) ?? [],
          holds: heldBy(job, queued),
        }
      })
      .toSorted((a, b) => b.holds - a.holds),
  }
}

/** How many queued jobs wait for one, or for one that does. */
function heldBy(job: Job, queued: ReadonlyMap<number, Job>): number {
  const held = new Set<Job>()
  const open = [job]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const id of next.blocking) {
      const waiting = queued.get(id)
      if (waiting === undefined || held.has(waiting)) continue
      held.add(waiting)
      open.push(waiting)
    }
  }
  // What the texts say may go round in a circle.
  held.delete(job)
  return held.size
}

const SHOWN = 3

/** The queue in one sentence, such as `waiting on dev-vdb.device (90 s limit, started by mnt-data.mount, 7 jobs wait for it)`. */
export function describeStuck({ running, waiting }: StuckQueue): string {
  if (running.length === 0)
    return `${waiting} ${waiting === 1 ? 'job waits' : 'jobs wait'} in systemd's queue, and none runs`
  const shown = running.slice(0, SHOWN).map(({ unit, type, limitUs, startedBy, holds }) => {
    const facts = [
      ...(type === 'start' ? [] : [`${type} job`]),
      ...(limitUs === undefined ? [] : [`${limitUs / 1e6} s limit`]),
      ...(startedBy.length === 0 ? [] : [`started by ${startedBy.slice(0, SHOWN).join(', ')}`]),
      ...(holds === 0 ? [] : [`${holds} ${holds === 1 ? 'job waits' : 'jobs wait'} for it`]),
    ]
    return facts.length === 0 ? unit : `${unit} (${facts.join(', ')})`
  })
  const more = running.length - shown.length
  return `systemd was waiting on ${shown.join(' and ')}${more > 0 ? ` and ${more} more` : ''}`
}
