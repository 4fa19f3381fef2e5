import type { ChosenMark, Instant, Marks } from './model.ts'
import type { BootRecord, Outcome } from './record.ts'
import type { Death, Ending } from './timeline.ts'
import { STAGES, type StageDefinition, type StageId } from './vocabulary.ts'

/** A stage that began and has no end. */
export interface OpenStage {
  readonly definition: StageDefinition
  readonly from: ChosenMark
}

/** What the analysis knows when it judges how the boot ended. */
export interface EndingFacts {
  readonly boot: BootRecord
  readonly marks: Marks
  readonly open: readonly OpenStage[]
  readonly readyReached: boolean
  /** The last instant at which anything was seen, such as the last console read, from the zero. */
  readonly lastSignMs?: number
}

// After one of these a boot makes no further progress.
const END_MARKS = ['guest-panic', 'guest-reset', 'guest-shutdown', 'stop-begin', 'engine-exit']

/** How the boot ended, and in which stage it died if it did. */
export function endingOf(facts: EndingFacts): Ending {
  const outcome = outcomeOf(facts)
  if (outcome === 'running') return { state: 'running' }
  if (facts.readyReached && outcome !== 'failed') return { state: 'completed', outcome }
  const blamed = blame(facts.open, facts.boot.error?.stage)
  if (blamed !== undefined) {
    return { state: 'died', outcome, in: blamed.definition.id, ...deathAfter(blamed.from, blamed.definition.id, facts) }
  }
  const last = lastMark(facts.marks)
  return last === undefined
    ? { state: 'died', outcome }
    : { state: 'died', outcome, afterMark: last.mark, ...deathAfter(last, undefined, facts) }
}

/** Without an outcome in `boot.json` the marks say whether the engine still runs. */
function outcomeOf({ boot, marks }: EndingFacts): Outcome | 'unknown' {
  if (boot.outcome !== undefined) return boot.outcome
  return END_MARKS.some((mark) => marks.has(mark)) ? 'unknown' : 'running'
}

/** The stage that the record names, if it is open; else the one that began last. */
function blame(open: readonly OpenStage[], named: string | undefined): OpenStage | undefined {
  // `ready` spans the whole boot, so it is never where a boot died.
  const candidates = open.filter(({ definition }) => definition.id !== 'ready')
  const byName = candidates.find(({ definition }) => definition.id === named)
  if (byName !== undefined) return byName
  const latestMs = Math.max(...candidates.map(({ from }) => msOf(from.at)))
  return candidates.find(({ from }) => msOf(from.at) === latestMs)
}

function msOf(at: Instant): number {
  return at.known ? at.ms : -Infinity
}

function deathAfter(from: ChosenMark, stage: StageId | undefined, facts: EndingFacts): Death {
  const { boot, marks, lastSignMs } = facts
  const startMs = msOf(from.at)
  const ends = END_MARKS.flatMap((id) => marks.get(id) ?? [])
    .filter(({ at, mark }) => at.known && at.ms >= startMs && mark !== from.mark)
    .toSorted((a, b) => msOf(a.at) - msOf(b.at))
  const [end] = ends
  if (end !== undefined && from.at.known && end.at.known) {
    return { afterMs: end.at.ms - startMs, errorMs: end.at.errorMs + from.at.errorMs, atLeast: false, by: end.mark }
  }
  if (stage !== undefined && boot.error?.stage === stage && boot.error.stageMs !== undefined) {
    return { afterMs: boot.error.stageMs, errorMs: 0, atLeast: false, by: 'error.stageMs of boot.json' }
  }
  const toldMs = toldEndMs(boot, marks)
  if (from.at.known && toldMs !== undefined && toldMs >= startMs) {
    return { afterMs: toldMs - startMs, errorMs: from.at.errorMs, atLeast: false, by: 'error.sinceMs of boot.json' }
  }
  if (!from.at.known) return { afterMs: 0, errorMs: 0, atLeast: true, by: 'nothing that the clocks can place' }
  const last = lastMark(marks)
  const markMs = last === undefined ? startMs : msOf(last.at)
  const lastMs = Math.max(startMs, markMs, lastSignMs ?? startMs)
  return { afterMs: lastMs - startMs, errorMs: from.at.errorMs, atLeast: true, by: 'the last sign of life' }
}

/** When the boot failed by its own account: so long after the last mark it knew. */
function toldEndMs({ error: { lastMark: id, sinceMs } = {} }: BootRecord, marks: Marks): number | undefined {
  const at = id === undefined ? undefined : marks.get(id)?.at
  return at?.known === true && sinceMs !== undefined ? at.ms + sinceMs : undefined
}

function lastMark(marks: Marks): ChosenMark | undefined {
  return [...marks.values()]
    .filter(({ at }) => at.known)
    .toSorted((a, b) => msOf(b.at) - msOf(a.at))
    .find(({ mark }) => !END_MARKS.includes(mark))
}

/** True when the record names a stage of the vocabulary as the failed one and the marks show another. */
export function disagrees(boot: BootRecord, ending: Ending): boolean {
  const named = boot.error?.stage
  if (named === undefined || ending.state !== 'died' || ending.in === undefined) return false
  return named !== ending.in && STAGES.some(({ id }) => id === named)
}
