import type { ChosenMark } from './model.ts'
import type { AbsentStage, Gap, ReachedStage, StageResult } from './timeline.ts'

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

/**
 * The time that no stage covers, from the mark `start` to the end of the last stage; shorter than `minGapMs`, or than
 * the clocks can tell, is left out.
 */
export function gapsOf(stages: readonly StageResult[], start: ChosenMark | undefined, minGapMs: number): Gap[] {
  const pieces = [...pointAt(start), ...stages.flatMap(pieceOf)].toSorted((a, b) => a.startMs - b.startMs)
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

/** What a stage covers. `ready` covers nothing by itself, but its end bounds what can be uncovered. */
function pieceOf(stage: StageResult): Piece[] {
  if (stage.state === 'absent') return stage.reason === 'died-here' ? deadPiece(stage) : []
  if (!stage.start.known) return []
  const endMs = stage.start.ms + stage.durationMs
  const startMs = stage.id === 'ready' ? endMs : stage.start.ms
  const fromMark = stage.id === 'ready' ? stage.to.mark : stage.from.mark
  // A span on the guest's clock alone may be known better than where it lies.
  const errorMs = Math.max(stage.start.errorMs, stage.errorMs)
  return [{ startMs, endMs, errorMs, fromMark, toMark: stage.to.mark }]
}

function pointAt(start: ChosenMark | undefined): Piece[] {
  if (start === undefined || !start.at.known) return []
  const { ms, errorMs } = start.at
  return [{ startMs: ms, endMs: ms, errorMs, fromMark: start.mark, toMark: start.mark }]
}

function deadPiece({ start, from, afterMs, errorMs, by }: AbsentStage & { readonly reason: 'died-here' }): Piece[] {
  if (!start.known) return []
  return [{ startMs: start.ms, endMs: start.ms + afterMs, errorMs, fromMark: from.mark, toMark: by }]
}
