import { barScale, type BarScale, drawBar } from './bars.ts'
import { footLines, headLines } from './captions.ts'
import type { AbsentStage, ReachedStage, StageResult, Timeline } from './timeline.ts'

/** How a table is drawn. */
export interface RenderOptions {
  /** Characters a line may have; default 100, at least {@link MIN_WIDTH}. */
  readonly width?: number
  /** ANSI colours; default false, as in a file or a pull request. */
  readonly color?: boolean
}

/** Narrower than this the table has no room for its bars. */
export const MIN_WIDTH = 72

const HEADINGS = { stage: 'stage', start: 'from start ms', duration: 'duration ms', source: 'source' }

/**
 * The stages of a boot as a text table: stage, time from the start, duration, a bar on the common axis, source.
 * Stages overlap, so there is no total. The same text serves a terminal and a pull request.
 */
export function renderStageTable(timeline: Timeline, options: RenderOptions = {}): string {
  const { width: asked = 100, color = false } = options
  const width = Math.max(asked, MIN_WIDTH)
  const lines = [
    ...headLines(timeline, width),
    '',
    ...tableLines(timeline, width, color),
    ...footLines(timeline, width),
  ]
  return `${lines.join('\n')}\n`
}

type Row = { readonly stage: StageResult; readonly cells: readonly [string, string, string, string] }
type ShownStage = ReachedStage | (AbsentStage & { readonly reason: 'died-here' | 'in-progress' | 'clock' })

function tableLines(timeline: Timeline, width: number, color: boolean): string[] {
  const rows = timeline.stages.filter(isShown).map(rowOf)
  const heading: Row['cells'] = [HEADINGS.stage, HEADINGS.start, HEADINGS.duration, HEADINGS.source]
  const widths = heading.map((_, column) =>
    Math.max(...[heading, ...rows.map(({ cells }) => cells)].map((cells) => (cells[column] ?? '').length)),
  )
  const barWidth = Math.max(MIN_BAR, width - widths.reduce((sum, cell) => sum + cell, 0) - 8)
  const scale = barScale(timeline.stages, barWidth)
  const first = paint(layOut(heading, widths, ' '.repeat(barWidth)), '1', color)
  return [first, ...rows.map(({ stage, cells }) => layOut(cells, widths, barOf(stage, scale, color)))]
}

const MIN_BAR = 10

/** Stages that nothing is known of are named below the table, not shown as rows. */
function isShown(stage: StageResult): stage is ShownStage {
  return stage.state === 'reached' || ['died-here', 'in-progress', 'clock'].includes(stage.reason)
}

function rowOf(stage: ShownStage): Row {
  if (stage.state === 'reached') {
    const start = stage.start.known ? milliseconds(stage.start.ms, stage.start.errorMs) : '?'
    return {
      stage,
      cells: [
        stage.id,
        start,
        milliseconds(stage.durationMs, stage.errorMs),
        stage.from.source === stage.to.source ? stage.to.source : `${stage.from.source}, ${stage.to.source}`,
      ],
    }
  }
  const start = 'start' in stage && stage.start.known ? milliseconds(stage.start.ms, stage.start.errorMs) : '?'
  return { stage, cells: [stage.id, start, absentDuration(stage), stage.source] }
}

function absentDuration(stage: AbsentStage): string {
  if (stage.reason === 'died-here')
    return `died ${stage.atLeast ? '≥ ' : ''}${milliseconds(stage.afterMs, stage.errorMs)}`
  return stage.reason === 'in-progress' ? 'open' : 'clock error'
}

/** `812.4`, or `812.4 ±2.0` where the error shows at this precision. */
export function milliseconds(ms: number, errorMs: number): string {
  return errorMs < 0.05 ? ms.toFixed(1) : `${ms.toFixed(1)} ±${errorMs.toFixed(1)}`
}

function layOut(cells: Row['cells'], widths: readonly number[], bar: string): string {
  const [stage, start, duration, source] = cells
  const [stageWidth = 0, startWidth = 0, durationWidth = 0] = widths
  const left = `${stage.padEnd(stageWidth)}  ${start.padStart(startWidth)}  ${duration.padStart(durationWidth)}`
  return `${left}  ${bar}  ${source}`
}

function barOf(stage: StageResult, scale: BarScale, color: boolean): string {
  const died = stage.state === 'absent' && stage.reason === 'died-here'
  return paint(drawBar(stage, scale), died ? '31' : '36', color)
}

function paint(text: string, code: string, color: boolean): string {
  return color ? `\u001b[${code}m${text}\u001b[0m` : text
}
