import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { currentOwner, fateOf, FOREIGN_LIMIT_MS, formatOwner, parseOwner } from '../../owner.ts'
import { connectEngine, type Engine, EngineRefusal } from './engine.ts'

/** Everything that we make in an engine has both labels: whose it is, and of which build. */
const OWNER_LABEL = 'boxlab.owner'
const BUILD_LABEL = 'boxlab.build'

/** What a sweep removed, or would. */
export interface EngineSweep {
  readonly containers: number
  readonly images: number
}

/** How an engine is swept. */
export interface EngineSweepOptions {
  /** Default: the one that testcontainers finds. */
  readonly engine?: Engine
  readonly signal?: AbortSignal | undefined
  /** Removes nothing, and counts what would be removed. Default false. */
  readonly dryRun?: boolean
}

interface EngineObject {
  readonly kind: 'containers' | 'images'
  readonly id: string
  readonly labels: Readonly<Record<string, string>>
  readonly ageMs: number
}

const CLEAN_UP_LIMIT_MS = 20_000
const PAUSE_MS = 100
/** An engine may end a step after its client has gone; so often in a row nothing must be there. */
const QUIET_LOOKS = 4
/** Something that cannot go, such as an image that somebody uses, is left after so many. */
const SWEEP_LOOKS = 5

/** The builds of this thread, also of another copy of this module in it, such as vitest makes one for each file. */
const running: Set<string> = (((globalThis as Record<symbol, unknown>)[
  Symbol.for('boxlab.docker.running')
] as Set<string>) ??= new Set<string>())

/** A build in the making. `end` removes what it made, and only then may a sweep of this thread take it for a leftover. */
export interface LabelledBuild {
  readonly labels: Readonly<Record<string, string>>
  /** `settled`: the engine said that the build has ended. Never fails; what is left is for the next sweep, with a warning. */
  end(settled: boolean): Promise<void>
}

/** Labels for one build. */
export function labelledBuild(engine: Engine): LabelledBuild {
  const build = randomBytes(8).toString('hex')
  running.add(build)
  return {
    labels: { [OWNER_LABEL]: formatOwner(currentOwner()), [BUILD_LABEL]: build },
    async end(settled) {
      try {
        await removeBuild(engine, build, settled ? 1 : QUIET_LOOKS)
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        const rest = 'The next build removes it'
        process.emitWarning(
          `Parts of the build ${build} are left in the container engine at ${engine.address} (${reason}). ${rest}`,
        )
      } finally {
        running.delete(build)
      }
    },
  }
}

async function removeBuild(engine: Engine, build: string, quietLooks: number): Promise<void> {
  // On a signal of its own: the caller's may be what ended the build.
  const signal = AbortSignal.timeout(CLEAN_UP_LIMIT_MS)
  for (let quiet = 0; ;) {
    const found = await labelled(engine, `${BUILD_LABEL}=${build}`, signal)
    quiet = found.length === 0 ? quiet + 1 : 0
    if (quiet === quietLooks) return
    const removed = await remove(engine, found, signal)
    // What is being removed by somebody else takes its time too.
    if (quietLooks > 1 || removed.length < found.length) await sleep(PAUSE_MS, undefined, { signal })
  }
}

/**
 * Removes what killed builds left in an engine: containers and images with our labels whose owner is gone. Others' are never
 * touched. An owner that cannot be looked up from here, on another machine or before its restart, counts as gone after an
 * hour. Fails with ERR_IMAGE_TOOL_MISSING where no engine answers.
 */
export async function sweepEngine({
  signal,
  dryRun = false,
  ...options
}: EngineSweepOptions = {}): Promise<EngineSweep> {
  const engine = options.engine ?? (await connectEngine(signal))
  const look = async (): Promise<EngineObject[]> => (await labelled(engine, OWNER_LABEL, signal)).filter(isLeftover)
  if (dryRun) return counted(await look())
  const removed: EngineObject[] = []
  // The engine may just be ending a step of a build whose process was killed: so until there is nothing more.
  for (let looks = 0; looks < SWEEP_LOOKS; looks++) {
    const leftovers = await look()
    if (leftovers.length === 0) break
    removed.push(...(await remove(engine, leftovers, signal)))
    await sleep(PAUSE_MS, undefined, { signal })
  }
  return counted(removed)
}

function counted(objects: readonly EngineObject[]): EngineSweep {
  const count = (wanted: EngineObject['kind']): number => objects.filter(({ kind }) => kind === wanted).length
  return { containers: count('containers'), images: count('images') }
}

function isLeftover({ labels, ageMs }: EngineObject): boolean {
  const word = labels[OWNER_LABEL] ?? ''
  const owner = parseOwner(word)
  if (!owner) return false
  if (word === formatOwner(currentOwner())) return !running.has(labels[BUILD_LABEL] ?? '')
  const fate = fateOf(owner)
  // The engine may serve several machines, and another machine's boot id looks like one from before our restart.
  return fate === 'gone' || (fate !== 'alive' && ageMs > FOREIGN_LIMIT_MS)
}

async function labelled(engine: Engine, label: string, signal: AbortSignal | undefined): Promise<EngineObject[]> {
  const lists = (['containers', 'images'] as const).map(async (kind) => {
    const query = { all: 'true', filters: JSON.stringify({ label: [label] }) }
    const call = { method: 'GET', path: `/${kind}/json`, query, signal } as const
    const found = await engine.ask<{ Id: string; Labels?: Record<string, string> | null; Created: number }[]>(call)
    return found.map(({ Id, Labels, Created }): EngineObject => {
      return { kind, id: Id, labels: Labels ?? {}, ageMs: Date.now() - Created * 1000 }
    })
  })
  // Containers first: an image that one uses cannot go.
  return (await Promise.all(lists)).flat()
}

/** Removes what can be: an image only when none is built upon it, so again as long as that helps. */
async function remove(
  engine: Engine,
  objects: readonly EngineObject[],
  signal: AbortSignal | undefined,
): Promise<EngineObject[]> {
  const removed: EngineObject[] = []
  for (let rest = [...objects]; rest.length > 0;) {
    const held: EngineObject[] = []
    for (const object of rest) {
      if (await removeOne(engine, object, signal)) removed.push(object)
      else held.push(object)
    }
    if (held.length === rest.length) break
    rest = held
  }
  return removed
}

/** Parents of an image are left alone (`noprune`): an untagged base of the user's may be among them. */
async function removeOne(engine: Engine, { kind, id }: EngineObject, signal?: AbortSignal): Promise<boolean> {
  const query: Record<string, string> = kind === 'containers' ? { force: 'true', v: 'true' } : { noprune: 'true' }
  try {
    await engine.ask({ method: 'DELETE', path: `/${kind}/${id}`, query, signal })
    return true
  } catch (error) {
    // 404: it has gone meanwhile. 409: something needs it, or it is being removed.
    if (error instanceof EngineRefusal && [404, 409].includes(error.status)) return error.status === 404
    throw error
  }
}
