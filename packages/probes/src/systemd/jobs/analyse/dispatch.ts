import type { JobLife } from '../model/job-life.ts'
import type { JobRelations } from './relations.ts'

/**
 * Jobs that PID 1 ran one after another although all could have run when the first one did: it forks in one loop and serves
 * nothing else in between (manager_dispatch_run_queue in src/core/manager.c). Times in us, PID 1's own stamps of the runs;
 * what the last one's fork took comes on top.
 */
export interface Dispatch {
  readonly startUs: number
  readonly endUs: number
  /** Ids in the order in which they ran; at least two. */
  readonly jobs: readonly number[]
}

/** A job with the stamp of its run. */
type RunJob = JobLife & { readonly releasedUs: number }

/**
 * Finds the loops. A job belongs to the loop of the one before it if nothing shows that PID 1 served an event in between: no
 * unit came up or ended by itself, the job was there when the loop began, and what it waited on had ended by then, or
 * in the loop at once, as targets do. So two loops without a sign between them count as one only if PID 1 kept a job
 * waiting that could run.
 */
export function dispatches(lives: ReadonlyMap<number, JobLife>, relations: JobRelations): readonly Dispatch[] {
  const unplaced = new Set(relations.withoutUnit)
  const runs = [...lives.values()]
    .filter((life): life is RunJob => life.releasedUs !== undefined)
    .toSorted((a, b) => a.releasedUs - b.releasedUs || a.id - b.id)
  const events = [...lives.values()]
    .flatMap((life) => (life.unitEndUs === undefined || endsAtOnce(life) ? [] : [life.unitEndUs]))
    .toSorted((a, b) => a - b)
  const found: Dispatch[] = []
  let loop: RunJob[] = []
  let event = 0

  function close(): void {
    const [head] = loop
    const last = loop.at(-1)
    if (head !== undefined && last !== undefined && last !== head)
      found.push({ startUs: head.releasedUs, endUs: last.releasedUs, jobs: loop.map(({ id }) => id) })
    loop = []
  }

  for (const run of runs) {
    const [head] = loop
    let served = false
    for (; (events[event] ?? Number.POSITIVE_INFINITY) < run.releasedUs; event += 1)
      served ||= (events[event] ?? 0) > (head?.releasedUs ?? 0)
    if (
      head === undefined ||
      served ||
      unplaced.has(run.id) ||
      !wasThere(run, head) ||
      !relations.waitedOn(run.id).every((id) => isOver(lives.get(id), head))
    )
      close()
    loop.push(run)
  }
  close()
  return found
}

/** True where a unit's start ended in the same step in which PID 1 ran it: no process and no device was waited for. */
function endsAtOnce({ unit, releasedUs, unitStartUs, unitEndUs }: JobLife): boolean {
  return !unit.endsWith('.device') && (unitEndUs === releasedUs || unitEndUs === unitStartUs)
}

function wasThere(run: JobLife, head: RunJob): boolean {
  const { installedUs } = run
  if (installedUs === undefined) return run.since === 'before-connect'
  return installedUs <= head.releasedUs
}

function isOver(on: JobLife | undefined, head: RunJob): boolean {
  if (on === undefined) return false
  if ((on.unitEndUs ?? on.removedUs ?? Number.POSITIVE_INFINITY) <= head.releasedUs) return true
  return endsAtOnce(on) && on.releasedUs !== undefined && on.releasedUs >= head.releasedUs
}
