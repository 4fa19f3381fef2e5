import type { SystemdState } from '../../model.ts'
import type { JobLife } from '../model/job-life.ts'

/** What each job waited on, by id; both ways, ids sorted. */
export interface JobRelations {
  waitedOn(id: number): readonly number[]
  blocking(id: number): readonly number[]
  /** Jobs whose unit is not among the units, so that nobody knows its After=. */
  readonly withoutUnit: readonly number[]
}

/**
 * Finds what each job waited on: what a text says, and where the units are there, PID 1's own rule (job_is_runnable in
 * src/core/job.c). A job that is no stop waits while a unit in its After= has a job; any job waits while a unit ordered
 * after its own has a stop or a restart. Only direct After= counts, and only jobs that were there at the same time. A job
 * that another one waited on is gone when that one runs.
 */
export function relateJobs(lives: ReadonlyMap<number, JobLife>, units: SystemdState | undefined): JobRelations {
  const waits = new Map<number, Set<number>>()
  const blocks = new Map<number, Set<number>>()
  const add = (id: number, on: number): void => {
    entry(waits, id).add(on)
    entry(blocks, on).add(id)
  }
  for (const life of lives.values()) for (const on of life.saidToWaitFor) add(life.id, on)
  if (units !== undefined) relateByOrder(lives, units, add)
  return {
    waitedOn: (id) => sorted(waits.get(id)),
    blocking: (id) => sorted(blocks.get(id)),
    withoutUnit: [...lives.values()]
      .filter(({ unit }) => units === undefined || !units.ids.has(unit))
      .map(({ id }) => id)
      .toSorted((a, b) => a - b),
  }
}

function relateByOrder(
  lives: ReadonlyMap<number, JobLife>,
  units: SystemdState,
  add: (id: number, on: number) => void,
): void {
  const ofUnit = jobsOfUnits(lives, units)
  for (const [unit, { timed, still }] of ofUnit) {
    for (const name of units.units.get(unit)?.after ?? []) {
      const before = units.ids.get(name) ?? name
      const others = before === unit ? undefined : ofUnit.get(before)
      if (others === undefined) continue
      for (const job of timed) if (waitsForAfter(job)) for (const on of heldBack(job, others.timed)) add(job.id, on.id)
      for (const job of still)
        if (waitsForAfter(job)) for (const on of others.still) if (inOneSnapshot(job, on)) add(job.id, on.id)
      // The other way around a stop comes first.
      const stops = timed.filter(({ type }) => type === 'stop' || type === 'restart')
      if (stops.length > 0)
        for (const other of others.timed)
          if (other.type !== 'nop' && other.type !== 'unknown')
            for (const on of heldBack(other, stops)) add(other.id, on.id)
    }
  }
}

/** The jobs of one unit: those of a recording in the order in which they came, and those of a moment. */
interface UnitJobs {
  readonly timed: JobLife[]
  readonly still: JobLife[]
}

function jobsOfUnits(lives: ReadonlyMap<number, JobLife>, units: SystemdState): ReadonlyMap<string, UnitJobs> {
  const found = new Map<string, UnitJobs>()
  for (const life of lives.values()) {
    const id = units.ids.get(life.unit) ?? life.unit
    const jobs = found.get(id) ?? { timed: [], still: [] }
    found.set(id, jobs)
    ;(life.firstSeq === undefined ? jobs.still : jobs.timed).push(life)
  }
  for (const { timed } of found.values()) timed.sort((a, b) => (a.firstSeq ?? 0) - (b.firstSeq ?? 0) || a.id - b.id)
  return found
}

/** True for a job that waits for its After= units; of unknown type, for one that shows that it was a start. */
function waitsForAfter({ type, releasedUs, result }: JobLife): boolean {
  if (type !== 'unknown') return type !== 'stop' && type !== 'nop'
  // Only a start tests conditions, and only a start needs other units.
  return releasedUs !== undefined || result === 'dependency'
}

/** Those of one unit's jobs that held `job` back. */
function heldBack(job: JobLife, others: readonly JobLife[]): readonly JobLife[] {
  const from = job.firstSeq ?? 0
  const until = runSeq(job)
  const found: JobLife[] = []
  for (let index = firstGoneBehind(others, from); index < others.length; index += 1) {
    const other = others[index]
    if (other?.firstSeq === undefined) continue
    if (other.firstSeq >= until) break
    if (other.type !== 'nop' && hasEndedBefore(other, job, until)) found.push(other)
  }
  return found
}

function hasEndedBefore(other: JobLife, job: JobLife, until: number): boolean {
  // A job that never ran waited for all that was there.
  if (until !== Number.POSITIVE_INFINITY && hasRun(job) && (other.goneSeq ?? Number.POSITIVE_INFINITY) >= until)
    return false
  // Signals of running come late; the stamps of the units do not.
  return job.releasedUs === undefined || other.unitEndUs === undefined || other.unitEndUs <= job.releasedUs
}

function hasRun({ releasedUs, ranSeq, result }: JobLife): boolean {
  return releasedUs !== undefined || ranSeq !== undefined || result === 'done'
}

/** The first sign of a job that it ran. That of a restart is its stop; its start has no sign but its end. */
function runSeq({ type, ranSeq, goneSeq }: JobLife): number {
  return (type === 'restart' ? undefined : ranSeq) ?? goneSeq ?? Number.POSITIVE_INFINITY
}

/** Where the first of one unit's jobs stands that was not gone by `seq`; they follow one another, so this can halve. */
function firstGoneBehind(jobs: readonly JobLife[], seq: number): number {
  let [low, high] = [0, jobs.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((jobs[middle]?.goneSeq ?? Number.POSITIVE_INFINITY) <= seq) low = middle + 1
    else high = middle
  }
  return low
}

/** Jobs of one moment: while both are queued, one waits for the other. */
function inOneSnapshot(job: JobLife, other: JobLife): boolean {
  if (other.type === 'nop' || job.state !== 'waiting') return false
  return [...job.snapshots].some((index) => other.snapshots.has(index))
}

function entry(map: Map<number, Set<number>>, id: number): Set<number> {
  const known = map.get(id) ?? new Set<number>()
  map.set(id, known)
  return known
}

function sorted(ids: ReadonlySet<number> | undefined): readonly number[] {
  return [...(ids ?? [])].toSorted((a, b) => a - b)
}
