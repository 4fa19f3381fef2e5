import { percentile, type Shift } from '@boxlab/probes'
import type { ContestResult } from './boot-pairs.ts'
import type { BootSample } from './boxed-boot.ts'
import { type Comparison, compare, judge } from './compare.ts'
import type { OutputRun, RoundTrips } from './guest-work.ts'
import { short, signed, table } from './table.ts'

/** What the harness may add to the same command line: both must hold. */
export const BOUND_MS = 30
export const BOUND_RATIO = 1.05

/** The comparison of one contest, judged, and what each arm cost. */
export function contestReport({ pairs }: ContestResult): string {
  const of = (name: string, box: (sample: BootSample) => number, plain = box): Comparison =>
    compare(
      name,
      pairs.map((pair) => [box(pair.box), plain(pair.plain)] as const),
    )
  const judged = [of('marker on console', ({ markerMs }) => markerMs), of('caller goes on', ({ readyMs }) => readyMs)]
  const cost = [
    of('engine CPU, ms', ({ engine }) => engine.cpuMs),
    of('engine waits for a CPU, ms', ({ engine }) => engine.queuedMs),
    of('engine wake-ups', ({ engine }) => engine.wakeups),
    of('measuring process CPU, ms', ({ harnessCpuMs }) => harnessCpuMs),
  ]
  const head = ['box', 'plain', 'ratio of p50', 'shift', '99 % interval']
  const verdicts = judged.map((one) => [
    ...shiftCells(one),
    one.ratio ? ratio(one.ratio.estimate) : '-',
    interval(one.ratio, ratio),
    judge(one.shift.interval, BOUND_MS),
    judge(one.ratio?.interval, BOUND_RATIO),
  ])
  const bounds = [`+${BOUND_MS} ms`, `+${Math.round((BOUND_RATIO - 1) * 100)} %`]
  const lag = pairs.map(({ box }) => box.readyMs - box.markerMs)
  const [p50, p95] = [percentile(lag, 50), percentile(lag, 95)]
  const tail = p95 === undefined ? `withheld at n ${lag.length}` : short(p95)
  const notes = [
    `  in a box, from the marker to the caller: ${p50 === undefined ? 'withheld' : `${short(p50)} ms`} (p50; p95 ${tail})`,
    ...judged.flatMap(({ name, shift }) => resolution(name, shift)),
  ]
  return [
    table(['ms from spawn, p50', ...head, 'ratio', '99 % interval', ...bounds], verdicts),
    notes.join('\n'),
    table(['what it cost, p50', ...head], cost.map(shiftCells)),
  ].join('\n\n')
}

/** How many pairs an interval as narrow as the bound would take, where this one is wider: its width goes with 1 / sqrt(n). */
function resolution(name: string, { n, interval: found }: Shift): string[] {
  if (!found) return []
  const half = (found.high - found.low) / 2
  if (half <= BOUND_MS) return []
  const needed = Math.ceil(n * (half / BOUND_MS) ** 2)
  return [`  ${name}: the interval is +-${short(half)} ms; this host resolves ${BOUND_MS} ms with some ${needed} pairs`]
}

function shiftCells({ name, boxMedian, plainMedian, ratioOfMedians, shift }: Comparison): string[] {
  const numbers = [short(boxMedian), short(plainMedian), ratio(ratioOfMedians), signed(shift.estimate)]
  return [name, ...numbers, interval(shift, signed)]
}

function interval(shift: Shift | undefined, show: (value: number) => string): string {
  const found = shift?.interval
  return found ? `${show(found.low)} .. ${show(found.high)}` : '-'
}

function ratio(value: number): string {
  return value.toFixed(3)
}

/** Round trips against the bound of their p50. */
export function roundTripRow(name: string, { totalMs, guestMs }: RoundTrips, boundMs: number): string[] {
  const percentiles = [percentile(totalMs, 50), percentile(totalMs, 95), percentile(guestMs, 50)]
  const cells = percentiles.map((value) => (value === undefined ? '-' : short(value)))
  return [name, `${totalMs.length}`, ...cells, `${boundMs}`, ratio((percentiles[0] ?? NaN) / boundMs)]
}

/** The head of `roundTripRow`. */
export const roundTripHead: readonly string[] = [
  'round trip, ms',
  'n',
  'p50',
  'p95',
  'p50 in guest',
  'bound',
  'p50 / bound',
]

/** One large output. */
export function outputRow(name: string, { bytes, tookMs, memoryBytes }: OutputRun): string[] {
  const [size, before, highest] = [bytes, ...memoryBytes].map((one) => one / (1024 * 1024)) as [number, number, number]
  const seconds = tookMs / 1000
  return [name, short(size), short(seconds), short(size / seconds), short(before), signed(highest - before)]
}

/** The head of `outputRow`. */
export const outputHead: readonly string[] = ['output, exact', 'MiB', 's', 'MiB/s', 'our memory, MiB', 'grew by']
