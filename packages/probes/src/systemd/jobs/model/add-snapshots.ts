import type { Mention, Snapshot, SnapshotJob } from '../read/snapshot.ts'
import { type JobLife, type JobState, newLife } from './job-life.ts'

/** Relations as the texts have them: each says something of two jobs. */
export interface SaidRelations {
  readonly waitingFor: number
  readonly blocking: number
  /** Said by one of the two rows only, where both are there and both kinds were asked for. */
  readonly contradicting: readonly Contradiction[]
}

/** `id` waits for `on`, by one of the two rows. */
export interface Contradiction {
  readonly id: number
  readonly on: number
  /** The row that says so: the one that waits, or the one that blocks. */
  readonly saidBy: 'waiting' | 'blocking'
}

/** Adds the queue as texts show it; `otherUnit` hears of a job whose id is another unit's in another input. */
export function addSnapshots(
  lives: Map<number, JobLife>,
  snapshots: readonly Snapshot[],
  otherUnit: (file: string, line: number) => void,
): SaidRelations {
  for (const [index, { source, file, jobs }] of snapshots.entries()) {
    const relates = jobs.some(({ waitingFor, blocking }) => waitingFor.length + blocking.length > 0)
    for (const job of jobs) {
      const known = lives.get(job.id)
      if (known !== undefined && !isSameUnit(known, job)) {
        otherUnit(file, job.line)
        continue
      }
      const life = known ?? newLife(job.id, job.unit, source)
      lives.set(job.id, life)
      addRow(life, job, source, known === undefined)
      if (!relates) life.snapshots.add(index)
    }
  }
  // Names may have been completed, and a row of another boot has nothing to say.
  const used = snapshots.map((snapshot) => ({
    ...snapshot,
    jobs: snapshot.jobs.filter((job) => {
      const known = lives.get(job.id)
      return known !== undefined && isSameUnit(known, job)
    }),
  }))
  return relate(lives, used, otherUnit)
}

// A job is waiting, then running, then gone; but for a restart, whose moments a text does not tell apart.
const RANK: { readonly [state in JobState]: number } = { unknown: 0, waiting: 1, running: 2, finished: 3 }

function addRow(life: JobLife, job: SnapshotJob, source: Snapshot['source'], isNew: boolean): void {
  life.sources.add(source)
  if (isNew) life.cut = job.cut
  else if (life.cut && !job.cut) {
    life.unit = job.unit
    life.cut = false
  }
  if (life.type === 'unknown') life.type = job.type
  if (!life.sources.has('recording') && RANK[job.state] > RANK[life.state]) life.state = job.state
}

function isSameUnit(known: JobLife, job: SnapshotJob): boolean {
  if (known.unit === job.unit) return true
  if (known.cut) return job.cut || fits(job.unit, known.unit)
  return job.cut && fits(known.unit, job.unit)
}

/** True where `cut` can be what a terminal leaves of `whole`. */
function fits(whole: string, cut: string): boolean {
  const [head = '', ...rest] = cut.split(/…|\.\.\./)
  return whole.startsWith(head) && whole.endsWith(rest.at(-1) ?? '')
}

function relate(
  lives: Map<number, JobLife>,
  snapshots: readonly Snapshot[],
  otherUnit: (file: string, line: number) => void,
): SaidRelations {
  const contradicting: Contradiction[] = []
  let waitingFor = 0
  let blocking = 0
  for (const { source, file, jobs } of snapshots) {
    const rows = new Set(jobs.map(({ id }) => id))
    const waits = new Set<string>()
    const blocks = new Set<string>()
    for (const job of jobs) {
      const known = job.waitingFor.filter((other) => mentioned(lives, other, source))
      const knownBlocked = job.blocking.filter((other) => mentioned(lives, other, source))
      waitingFor += known.length
      blocking += knownBlocked.length
      for (const other of known) waits.add(`${job.id} ${other.id}`)
      for (const other of knownBlocked) blocks.add(`${other.id} ${job.id}`)
      if (known.length + knownBlocked.length < job.waitingFor.length + job.blocking.length) otherUnit(file, job.line)
    }
    // A table with one kind of relation has no counterparts.
    const hasBoth = waits.size > 0 && blocks.size > 0
    for (const pair of new Set([...waits, ...blocks])) {
      const [id = 0, on = 0] = pair.split(' ').map(Number)
      lives.get(id)?.saidToWaitFor.add(on)
      if (hasBoth && rows.has(id) && rows.has(on) && !(waits.has(pair) && blocks.has(pair)))
        contradicting.push({ id, on, saidBy: waits.has(pair) ? 'waiting' : 'blocking' })
    }
  }
  return {
    waitingFor,
    blocking,
    contradicting: contradicting.toSorted((a, b) => a.id - b.id || a.on - b.on || (a.saidBy < b.saidBy ? -1 : 1)),
  }
}

/** Knows a job that another one's row names; false where its id is that of another unit. */
function mentioned(lives: Map<number, JobLife>, { id, unit, type }: Mention, source: Snapshot['source']): boolean {
  const known = lives.get(id)
  if (known !== undefined) return known.unit === unit || (known.cut && fits(unit, known.unit))
  const life = newLife(id, unit, source)
  life.type = type
  lives.set(id, life)
  return true
}
