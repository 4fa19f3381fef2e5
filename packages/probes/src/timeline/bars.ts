import type { StageResult } from './timeline.ts'

/** The common axis of the bars. */
export interface BarScale {
  readonly firstMs: number
  readonly lastMs: number
  readonly cells: number
}

interface Extent {
  readonly startMs: number
  readonly endMs: number
  readonly fill: string
}

const REACHED = '█'
const DIED = '░'

/** An axis of `cells` characters that holds every stage with a place in time. */
export function barScale(stages: readonly StageResult[], cells: number): BarScale {
  const extents = stages.flatMap((stage) => extentOf(stage) ?? [])
  const firstMs = Math.min(0, ...extents.map(({ startMs }) => startMs))
  const lastMs = Math.max(firstMs, ...extents.map(({ endMs }) => endMs))
  return { firstMs, lastMs, cells }
}

/** The bar of a stage: at least one character where it has a place, all blank where it has none. */
export function drawBar(stage: StageResult, { firstMs, lastMs, cells }: BarScale): string {
  const extent = extentOf(stage)
  if (extent === undefined) return ' '.repeat(cells)
  const perCell = (lastMs - firstMs) / cells || 1
  const begin = clamp(Math.floor((extent.startMs - firstMs) / perCell), 0, cells - 1)
  const end = clamp(Math.round((extent.endMs - firstMs) / perCell), begin + 1, cells)
  return `${' '.repeat(begin)}${extent.fill.repeat(end - begin)}${' '.repeat(cells - end)}`
}

function extentOf(stage: StageResult): Extent | undefined {
  if (stage.state === 'reached') {
    if (!stage.start.known) return undefined
    return { startMs: stage.start.ms, endMs: stage.start.ms + stage.durationMs, fill: REACHED }
  }
  if (stage.reason !== 'died-here' || !stage.start.known) return undefined
  return { startMs: stage.start.ms, endMs: stage.start.ms + stage.afterMs, fill: DIED }
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value))
}
