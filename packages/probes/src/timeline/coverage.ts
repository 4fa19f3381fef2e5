import type { Ending, Gap, ReachedStage, StageResult } from './timeline.ts'
import { STAGES } from './vocabulary.ts'

/** A piece of the axis that a stage covers, with the marks at its ends. */
interface Piece {
  readonly startMs: number
  readonly endMs: number
  readonly errorMs: number
  readonly fromMark: string
  readonly toMark: string
}

/** Adds to each reached stage which others ran at the same time, beyond what the clocks can be wrong. */
export function withOverlaps(stages: readonly StageResult[]): StageResult[] {
  const reached = stages.filter((stage) => stage.state === 'reached').filter(({ id }) => id !== 'ready')
  return stages.map((stage) => {
    if (stage.state !== 'reached' || stage.id === 'ready') return stage
    const overlaps = reached
      .filter(({ id }) => id !== stage.id)
      .flatMap((other) => {
        const ms = overlapMs(stage, other)
        return ms > 0 ? [{ id: other.id, ms }] : []
      })
    return { ...stage, overlaps }
  })
}

function overlapMs(a: ReachedStage, b: ReachedStage): number {
  if (!a.start.known || !b.start.known) return 0
  const ms = Math.min(a.start.ms + a.durationMs, b.start.ms + b.durationMs) - Math.max(a.start.ms, b.start.ms)
  const errorMs = a.errorMs + b.errorMs
  return ms > errorMs ? ms : 0
}

/** The time that no stage covers, from the zero to the end of the last stage; shorter than `minGapMs` is left out. */
export function gapsOf(stages: readonly StageResult[], ending: Ending, minGapMs: number): Gap[] {
  const pieces = stages.flatMap((stage) => pieceOf(stage, ending)).toSorted((a, b) => a.startMs - b.startMs)
  const gaps: Gap[] = []
  let reach: Piece | undefined
  for (const piece of pieces) {
    if (reach !== undefined) {
      const durationMs = piece.startMs - reach.endMs
      const errorMs = piece.errorMs + reach.errorMs
      if (durationMs >= minGapMs && durationMs > errorMs) {
        gaps.push({ afterMark: reach.toMark, beforeMark: piece.fromMark, startMs: reach.endMs, durationMs, errorMs })
      }
    }
    if (reach === undefined || piece.endMs > reach.endMs) reach = piece
  }
  return gaps
}

/** What a stage covers. `ready` covers nothing by itself, but both its ends bound what can be uncovered. */
function pieceOf(stage: StageResult, ending: Ending): Piece[] {
  if (stage.state === 'reached' && stage.start.known) {
    const { ms: startMs, errorMs } = stage.start
    const endMs = startMs + stage.durationMs
    const [fromMark, toMark] = [stage.from.mark, stage.to.mark]
    if (stage.id !== 'ready') return [{ startMs, endMs, errorMs: Math.max(errorMs, stage.errorMs), fromMark, toMark }]
    return [
      { startMs, endMs: startMs, errorMs, fromMark, toMark: fromMark },
      { startMs: endMs, endMs, errorMs: stage.errorMs, fromMark: toMark, toMark },
    ]
  }
  if (stage.state === 'absent' && stage.reason === 'died-here' && stage.start.known && ending.state === 'died') {
    const { ms: startMs } = stage.start
    const fromMark = STAGES.find(({ id }) => id === stage.id)?.from ?? stage.id
    return [{ startMs, endMs: startMs + stage.afterMs, errorMs: stage.errorMs, fromMark, toMark: stage.by }]
  }
  return []
}
