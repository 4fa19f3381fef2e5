import type { Episode } from './episode.ts'
import { phasesUntil, type PhaseName } from './phases.ts'
import { type BootGraph, notWaitedFor, type NotWaitedFor, releaserOf } from './predecessors.ts'

/** A part of the critical path; parts touch. Times in us, on the clock of the input. */
export type PathPart =
  /** The kernel's or PID 1's own work before the first unit; `endedBy` is the unit that ended a dispatch. */
  | (Span & { readonly kind: 'phase'; readonly name: PhaseName; readonly endedBy?: string })
  /** PID 1 ran the job: conditions and fork, until the unit left inactive. */
  | (Span & { readonly kind: 'starting'; readonly unit: string })
  /** The unit came up. */
  | (Span & { readonly kind: 'activating'; readonly unit: string })
  /** A device was waited for: it came (`active`), or the wait was due (`timeout`). */
  | (Span & { readonly kind: 'wait'; readonly unit: string; readonly endedBy: 'active' | 'timeout' })
  /**
   * A path gap: `unit` was done, and PID 1 had not run `endedBy` yet; other units may have been activating. With
   * `triggeredBy`, units that can start `endedBy` were up: it may have waited for its socket, timer or path, not for `unit`.
   */
  | (Span & {
      readonly kind: 'gap'
      readonly unit: string
      readonly endedBy: string
      readonly triggeredBy?: readonly string[]
    })
  /** A Type=idle service waited for the jobs to drain, at most 5 s. */
  | (Span & { readonly kind: 'idle'; readonly unit: string; readonly endedBy?: IdleEnd })

/** What ended the wait of a Type=idle service: no job was left, or 5 s had passed (src/core/manager.c). */
export type IdleEnd = 'queue drained' | 'timeout of 5 s'

interface Span {
  readonly startUs: number
  readonly endUs: number
}

/** Several units whose start ended in the same microsecond, the last one before `unit` was run. */
export interface Tie {
  readonly unit: string
  readonly atUs: number
  readonly chosen: string
  readonly others: readonly string[]
}

/** The way from the origin to a unit, in the order of time. */
export interface CriticalPath {
  /** The units on it, first to last; a unit whose condition failed is a bridge without a part of its own. */
  readonly units: readonly Episode[]
  readonly parts: readonly PathPart[]
  readonly ties: readonly Tie[]
  readonly notWaitedFor: readonly NotWaitedFor[]
}

/** Walks back from the end of `target` to `originUs`. The parts sum to the span between them, to the microsecond. */
export function criticalPath(
  graph: BootGraph,
  target: Episode & { readonly endUs: number },
  originUs: number,
): CriticalPath {
  const times = graph.state.manager?.times ?? {}
  const backwards: PathPart[] = []
  const units: Episode[] = []
  const ties: Tie[] = []
  const visited = new Set<string>()
  let current: Episode & { readonly endUs: number } = target
  for (;;) {
    visited.add(current.unit.id)
    units.push(current)
    backwards.push(...ownParts(current))
    const releaser = releaserOf(graph, current, visited)
    if (releaser === undefined) break
    const { episode, tiedWith } = releaser
    const { id } = episode.unit
    if (tiedWith.length > 0) ties.push({ unit: current.unit.id, atUs: episode.endUs, chosen: id, others: tiedWith })
    const triggers = triggersOf(graph, current)
    backwards.push({
      kind: 'gap',
      unit: id,
      endedBy: current.unit.id,
      ...(triggers.length === 0 ? {} : { triggeredBy: triggers }),
      startUs: episode.endUs,
      endUs: current.runUs,
    })
    current = episode
  }
  // A unit that was there before PID 1 had loaded its units waited for nothing: the phases come first.
  const firstUnitUs = Math.min(
    Math.max(current.runUs, times['units-load-finish'] ?? originUs, originUs),
    Math.max(target.endUs, originUs),
  )
  const phases = phasesUntil(times, originUs, firstUnitUs).map((phase): PathPart => ({
    kind: 'phase',
    ...phase,
    ...(phase.name === 'dispatch' ? { endedBy: current.unit.id } : {}),
  }))
  return {
    units: units.toReversed(),
    parts: [...phases, ...backwards.toReversed().flatMap((part) => from(part, firstUnitUs))],
    ties: ties.toReversed(),
    notWaitedFor: units.flatMap((episode) => notWaitedFor(graph, episode)),
  }
}

/** The units that trigger `of` and were up when PID 1 ran it. */
function triggersOf({ state, episodes }: BootGraph, of: Episode): readonly string[] {
  return of.unit.triggeredBy
    .map((name) => state.ids.get(name))
    .filter((id) => id !== undefined)
    .filter((id) => (episodes.get(id)?.endUs ?? Number.POSITIVE_INFINITY) <= of.runUs)
}

/** What a unit itself took, the last part first. */
function ownParts({ unit, runUs, startUs, endUs, endedBy }: Episode & { readonly endUs: number }): readonly PathPart[] {
  if (unit.type === 'device' && unit.conditionUs === runUs)
    return [
      { kind: 'wait', unit: unit.id, endedBy: endedBy === 'timeout' ? 'timeout' : 'active', startUs: runUs, endUs },
    ]
  return [
    { kind: 'activating', unit: unit.id, startUs, endUs },
    { kind: 'starting', unit: unit.id, startUs: runUs, endUs: startUs },
  ]
}

/** The part of a part that lies behind `fromUs`; nothing of one without a length. */
function from(part: PathPart, fromUs: number): readonly PathPart[] {
  const startUs = Math.max(part.startUs, fromUs)
  return startUs < part.endUs ? [{ ...part, startUs }] : []
}
