import type { Connection } from '../read/connections.ts'
import type { ListedJob, RecorderEvent, StartupParts, UnitStamps } from '../read/recorder-line.ts'
import { type JobLife, newLife } from './job-life.ts'

/** A time in which nobody listened: the connection ended, and PID 1 was reached again. Times in us. */
export interface Hole {
  readonly startUs: number
  /** Connected again; absent where that did not happen, and nobody knows what came then. */
  readonly endUs?: number
  readonly why: string
  /** Jobs that were queued when it began and no longer when the queue was listed again: their results are not known. */
  readonly vanished: readonly number[]
  /** Jobs that were queued then and not announced: installed in the hole. */
  readonly appeared: readonly number[]
}

/** A daemon-reload, us: signals of what happens inside are sent after it. */
export interface ReloadWindow {
  readonly startUs: number
  /** Absent where its end was not seen. */
  readonly endUs?: number
}

/** The number of queued jobs from `atUs` on. */
export interface DepthStep {
  readonly atUs: number
  readonly jobs: number
}

/** What the connections of a recorder show. */
export interface Played {
  readonly lives: Map<number, JobLife>
  /** Absent without a connection. */
  readonly connectedUs: number | undefined
  /** The queue in the first answer to ListJobs; absent without one. */
  readonly atConnect: { readonly atUs: number; readonly jobs: number; readonly running: number } | undefined
  readonly steps: readonly DepthStep[]
  readonly holes: readonly Hole[]
  readonly reloads: readonly ReloadWindow[]
  readonly startup: { readonly atUs: number; readonly parts: StartupParts } | undefined
  /** The last message that tells of jobs or units. */
  readonly lastUs: number | undefined
  /** Signals that do not fit what came before them, such as of a job that is gone or was never announced. */
  readonly unexplained: number
}

/** Plays the connections of one boot, in their order. */
export function playRecording(connections: readonly Connection[]): Played {
  const player = newPlayer()
  for (const [index, { connectedUs, events }] of connections.entries()) {
    player.connect(index, connectedUs)
    for (const event of events) player.take(event)
  }
  return player.end()
}

function newPlayer(): {
  connect(index: number, connectedUs: number | undefined): void
  take(event: RecorderEvent): void
  end(): Played
} {
  const lives = new Map<number, JobLife>()
  const queued = new Set<JobLife>()
  // One job a unit, beside which a nop may be queued.
  const ofUnit = new Map<string, JobLife[]>()
  const stamps = new Map<string, UnitStamps>()
  const steps: DepthStep[] = []
  const holes: Hole[] = []
  const reloads: ReloadWindow[] = []
  let connectedUs: number | undefined
  let firstConnectedUs: number | undefined
  let connection = 0
  let listed = false
  let atConnect: Played['atConnect']
  let startup: Played['startup']
  let ended: { readonly atUs: number; readonly why: string } | undefined
  let queuedAtEnd: ReadonlySet<JobLife> = new Set()
  let lastUs: number | undefined
  let unexplained = 0
  let seq = 0

  function enqueue(life: JobLife): void {
    lives.set(life.id, life)
    life.firstSeq ??= seq
    queued.add(life)
    ofUnit.set(life.unit, [...(ofUnit.get(life.unit) ?? []).filter((one) => queued.has(one)), life])
  }

  function dequeue(life: JobLife): void {
    life.state = 'finished'
    life.goneSeq = seq
    queued.delete(life)
  }

  function step(atUs: number): void {
    if (atConnect === undefined) return
    const last = steps.at(-1)
    if (last?.atUs === atUs) steps.pop()
    steps.push({ atUs, jobs: queued.size })
  }

  function takeList(jobs: readonly ListedJob[], atUs: number): void {
    const ids = new Set(jobs.map(({ id }) => id))
    const vanished = [...queuedAtEnd].filter((life) => queued.has(life) && !ids.has(life.id))
    const fresh = jobs.filter(({ id }) => !lives.has(id))
    for (const life of vanished) {
      life.endSeen = 'hole'
      dequeue(life)
    }
    for (const { id, unit, type, state } of jobs) {
      const known = lives.get(id)
      if (known?.state === 'finished' || (known !== undefined && known.unit !== unit)) {
        unexplained += 1
        continue
      }
      const life = known ?? newLife(id, unit, 'recording')
      life.type = type
      life.state = state
      if (known === undefined) {
        life.since = connection === 0 ? 'before-connect' : 'in-hole'
        // A start that runs has had its conditions tested, maybe long ago; one that waits has not.
        life.floorUs = state === 'running' && type === 'start' ? 0 : (connectedUs ?? 0)
        enqueue(life)
      }
      if (state === 'running') life.ranSeq ??= seq
    }
    atConnect ??= { atUs, jobs: jobs.length, running: jobs.filter(({ state }) => state === 'running').length }
    step(atUs)
    if (connection > 0 && !listed)
      amendHole({ vanished: sortedIds(vanished), appeared: fresh.map(({ id }) => id).toSorted((a, b) => a - b) })
    listed = true
    queuedAtEnd = new Set()
  }

  function amendHole(more: Partial<Hole>): void {
    const hole = holes.pop()
    if (hole !== undefined) holes.push({ ...hole, ...more })
  }

  function takeNew(id: number, unit: string, atUs: number): void {
    const known = lives.get(id)
    if (known !== undefined) {
      unexplained += 1
      return
    }
    const life = newLife(id, unit, 'recording')
    life.state = 'waiting'
    life.installedUs = atUs
    life.floorUs = stamps.get(unit)?.conditionUs ?? connectedUs ?? 0
    enqueue(life)
    step(atUs)
  }

  function takeRemoved(id: number, unit: string, result: string, atUs: number): void {
    const known = lives.get(id)
    if (known !== undefined && (known.state === 'finished' || known.unit !== unit)) {
      unexplained += 1
      return
    }
    const life = known ?? newLife(id, unit, 'recording')
    if (known === undefined) {
      life.since = 'not-announced'
      life.firstSeq = seq
      lives.set(id, life)
    }
    life.result = result
    life.removedUs = atUs
    life.endSeen = 'signal'
    stampEnd(life, stamps.get(unit))
    dequeue(life)
    step(atUs)
  }

  function takeState(id: number, state: JobLife['states'][number]['state'], atUs: number): void {
    const life = lives.get(id)
    if (life === undefined || life.state === 'finished') {
      unexplained += 1
      return
    }
    if (state === 'waiting' && life.state === 'waiting') life.merges += 1
    life.states.push({ state, atUs })
    life.state = state
    if (state !== 'running') return
    life.runningUs ??= atUs
    life.ranSeq ??= seq
  }

  function takeUnit(unit: string, now: UnitStamps): void {
    stamps.set(unit, now)
    if (now.conditionUs === undefined) return
    for (const life of ofUnit.get(unit) ?? [])
      if (queued.has(life) && life.type !== 'nop' && now.conditionUs > life.floorUs) life.releasedUs = now.conditionUs
  }

  function takeReloading(active: boolean, atUs: number): void {
    const last = reloads.at(-1)
    if (active) reloads.push({ startUs: atUs })
    else if (last !== undefined && last.endUs === undefined) {
      reloads.pop()
      reloads.push({ ...last, endUs: atUs })
    } else unexplained += 1
  }

  return {
    connect(index, at) {
      connection = index
      connectedUs = at
      firstConnectedUs ??= at
      listed = false
      if (index === 0) return
      // Without a word about its end, the last message is the last moment at which somebody listened.
      holes.push({
        startUs: ended?.atUs ?? lastUs ?? 0,
        ...(at === undefined ? {} : { endUs: at }),
        why: ended?.why ?? '',
        vanished: [],
        appeared: [],
      })
      queuedAtEnd = new Set(queued)
      ended = undefined
    },
    take(event) {
      seq += 1
      if (event.kind !== 'closed' && event.kind !== 'connected') lastUs = Math.max(lastUs ?? 0, event.atUs)
      switch (event.kind) {
        case 'list':
          takeList(event.jobs, event.atUs)
          break
        case 'new':
          takeNew(event.id, event.unit, event.atUs)
          break
        case 'removed':
          takeRemoved(event.id, event.unit, event.result, event.atUs)
          break
        case 'state':
          takeState(event.id, event.state, event.atUs)
          break
        case 'unit':
          takeUnit(event.unit, event.stamps)
          break
        case 'reloading':
          takeReloading(event.active, event.atUs)
          break
        case 'finished':
          startup ??= { atUs: event.atUs, parts: event.parts }
          break
        case 'closed':
          ended = { atUs: event.atUs, why: event.why }
          break
        case 'connected':
          break
      }
    },
    end() {
      if (ended !== undefined) holes.push({ startUs: ended.atUs, why: ended.why, vanished: [], appeared: [] })
      return {
        lives,
        connectedUs: firstConnectedUs,
        atConnect,
        steps,
        holes,
        reloads,
        startup,
        lastUs,
        unexplained,
      }
    },
  }
}

/** Gives a job the stamps of the start that it was for; a start that was run is over when its job is removed. */
function stampEnd(life: JobLife, now: UnitStamps | undefined): void {
  const { releasedUs } = life
  if (releasedUs === undefined || now === undefined) return
  const { inactiveExitUs, activeEnterUs, inactiveEnterUs, refused } = now
  if (inactiveExitUs !== undefined && inactiveExitUs >= releasedUs) life.unitStartUs = inactiveExitUs
  if (activeEnterUs !== undefined && activeEnterUs >= releasedUs) life.unitEndUs = activeEnterUs
  // A oneshot without RemainAfterExit, or a start that failed.
  else if (inactiveEnterUs !== undefined && inactiveEnterUs >= releasedUs) life.unitEndUs = inactiveEnterUs
  else if (refused) life.unitEndUs = releasedUs
}

function sortedIds(lives: readonly JobLife[]): readonly number[] {
  return lives.map(({ id }) => id).toSorted((a, b) => a - b)
}
