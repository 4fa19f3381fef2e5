import type { ChosenMark, Marks } from './model.ts'
import type { BootRecord, Outcome } from './record.ts'
import type { Death, Ending } from './timeline.ts'
import { STAGE_IDS, type StageId } from './vocabulary.ts'

/** A stage that began and has no end. */
export interface OpenStage {
  readonly id: StageId
  readonly from: ChosenMark
}

/** What the analysis knows when it judges how the boot ended. */
export interface EndingFacts {
  readonly boot: BootRecord
  readonly marks: Marks
  /** In the order of the vocabulary. */
  readonly open: readonly OpenStage[]
  readonly readyReached: boolean
  /** The last instant at which anything was seen, such as the last console read, from the zero. */
  readonly lastSignMs?: number
}

/** A mark with a place in time. */
interface Placed {
  readonly mark: string
  readonly ms: number
  readonly errorMs: number
}

// After one of these a boot makes no further progress.
const END_MARKS = ['guest-panic', 'guest-reset', 'guest-shutdown', 'stop-begin', 'engine-exit']

/** How the boot ended, and in which stage it died if it did. */
export function endingOf(facts: EndingFacts): Ending {
  const outcome = outcomeOf(facts)
  if (outcome === 'running') return { state: 'running' }
  if (facts.readyReached && outcome !== 'failed') return { state: 'completed', outcome }
  const blamed = blame(facts)
  if (blamed !== undefined) {
    return { state: 'died', outcome, in: blamed.id, ...deathAfter(blamed.begin, facts, blamed.id) }
  }
  const last = latest(placedMarks(facts.marks).filter(({ mark }) => !END_MARKS.includes(mark)))
  if (last === undefined) return { state: 'died', outcome }
  return { state: 'died', outcome, afterMark: last.mark, ...deathAfter(last, facts) }
}

/** Without an outcome in `boot.json` the marks say whether the engine still runs. */
function outcomeOf({ boot, marks }: EndingFacts): Outcome | 'unknown' {
  if (boot.outcome !== undefined) return boot.outcome
  return END_MARKS.some((mark) => marks.has(mark)) ? 'unknown' : 'running'
}

/** The stage that the record names, if it is open; else the one that began last, the first of those at one instant. */
function blame({ boot, open }: EndingFacts): { readonly id: StageId; readonly begin: Placed } | undefined {
  const candidates = open.flatMap(({ id, from }) => {
    const [begin] = placed(from)
    // `ready` spans the whole boot, so it is never where a boot died.
    return begin === undefined || id === 'ready' ? [] : [{ id, begin }]
  })
  const latestMs = latest(candidates.map(({ begin }) => begin))?.ms
  return candidates.find(({ id }) => id === boot.error?.stage) ?? candidates.find(({ begin }) => begin.ms === latestMs)
}

/** From `begin` to the first sign of the end, or to what the runtime said, or to the last sign of life. */
function deathAfter(begin: Placed, { boot, marks, lastSignMs }: EndingFacts, stage?: StageId): Death {
  const seen = placedMarks(marks)
  const [end] = seen
    .filter(({ mark, ms }) => END_MARKS.includes(mark) && ms >= begin.ms)
    .toSorted((a, b) => a.ms - b.ms)
  if (end !== undefined) {
    return { afterMs: end.ms - begin.ms, errorMs: end.errorMs + begin.errorMs, atLeast: false, by: end.mark }
  }
  const { error: { stage: named, stageMs, lastMark, sinceMs } = {} } = boot
  if (stageMs !== undefined && named === stage) {
    return { afterMs: stageMs, errorMs: 0, atLeast: false, by: 'error.stageMs of boot.json' }
  }
  const last = seen.find(({ mark }) => mark === lastMark)
  if (last !== undefined && sinceMs !== undefined) {
    const afterMs = Math.max(0, last.ms + sinceMs - begin.ms)
    return { afterMs, errorMs: begin.errorMs + last.errorMs, atLeast: false, by: 'error.sinceMs of boot.json' }
  }
  const aliveMs = Math.max(lastSignMs ?? begin.ms, ...seen.map(({ ms }) => ms))
  return { afterMs: aliveMs - begin.ms, errorMs: begin.errorMs, atLeast: true, by: 'the last sign of life' }
}

function placedMarks(marks: Marks): Placed[] {
  return [...marks.values()].flatMap(placed)
}

function placed({ mark, at }: ChosenMark): Placed[] {
  return at.known ? [{ mark, ms: at.ms, errorMs: at.errorMs }] : []
}

function latest(marks: readonly Placed[]): Placed | undefined {
  return marks.reduce<Placed | undefined>((a, b) => (a === undefined || b.ms > a.ms ? b : a), undefined)
}

/** True when the record names a stage of the vocabulary as the failed one and the marks show another. */
export function disagrees(boot: BootRecord, ending: Ending): boolean {
  if (ending.state !== 'died' || ending.in === undefined) return false
  const named = STAGE_IDS.find((id) => id === boot.error?.stage)
  return named !== undefined && named !== ending.in
}
