import type { Shift } from '@boxlab/probes'
import { type Comparison, compare } from '../overhead/compare.ts'
import { short, signed, table } from '../overhead/table.ts'
import { type BootTimes, ownSpans, spans } from './boot-times.ts'

/** The times of both ways in one round. */
export interface Round {
  readonly ours: BootTimes
  readonly theirs: BootTimes
}

/** Both ways side by side, span by span. */
export function bootReport(rounds: readonly Round[]): string {
  const names = [...Object.keys(spans), ...Object.keys(ownSpans)] as (keyof BootTimes)[]
  const head = ['ms, p50', 'n', 'stage 0', 'distribution', 'ratio of p50', 'shift', '99 % interval', 'ratio', '99 %']
  const rows = names.map((name) => {
    return cells(
      compare(
        name,
        rounds.map(({ ours, theirs }) => [ours[name], theirs[name]] as const),
      ),
    )
  })
  return table(head, rows)
}

function cells({ name, pairs, boxMedian, plainMedian, ratioOfMedians, shift, ratio }: Comparison): string[] {
  return [
    name,
    `${pairs}`,
    short(boxMedian),
    short(plainMedian),
    fixed(ratioOfMedians),
    signed(shift.estimate),
    interval(shift, signed),
    ratio ? fixed(ratio.estimate) : '-',
    interval(ratio, fixed),
  ]
}

function interval(shift: Shift | undefined, show: (value: number) => string): string {
  const found = shift?.interval
  return found ? `${show(found.low)} .. ${show(found.high)}` : '-'
}

function fixed(value: number): string {
  return value.toFixed(3)
}
