import { median, pairedShift, type Shift, type ShiftInterval } from '@boxlab/probes'

/** The two-sided error of each interval. */
export const ALPHA = 0.01

/** What an interval says of a bound that must not be exceeded. */
export type Verdict = 'pass' | 'fail' | 'inconclusive'

/** One quantity of both arms, pair by pair. */
export interface Comparison {
  readonly name: string
  readonly pairs: number
  readonly boxMedian: number
  readonly plainMedian: number
  readonly ratioOfMedians: number
  /** Box less plain, in the unit of the quantity. */
  readonly shift: Shift
  /** Box over plain: the shift of the logarithms, taken back. Absent where a value is zero. */
  readonly ratio?: Shift
}

/** Compares paired values, none below zero. */
export function compare(name: string, pairs: readonly (readonly [box: number, plain: number])[]): Comparison {
  const shift = pairedShift(
    pairs.map(([box, plain]) => box - plain),
    ALPHA,
  )
  const comparable = pairs.every(([box, plain]) => box > 0 && plain > 0)
  const log = comparable
    ? pairedShift(
        pairs.map(([box, plain]) => Math.log(box / plain)),
        ALPHA,
      )
    : undefined
  const boxMedian = median(pairs.map(([box]) => box))
  const plainMedian = median(pairs.map(([, plain]) => plain))
  if (!shift || boxMedian === undefined || plainMedian === undefined) {
    throw new Error(`there is no pair to compare ${name} by`)
  }
  const ratioOfMedians = boxMedian / plainMedian
  return {
    name,
    pairs: pairs.length,
    boxMedian,
    plainMedian,
    ratioOfMedians,
    shift,
    ...(log && { ratio: exponential(log) }),
  }
}

function exponential({ n, estimate, interval }: Shift): Shift {
  return {
    n,
    estimate: Math.exp(estimate),
    ...(interval && { interval: { ...interval, low: Math.exp(interval.low), high: Math.exp(interval.high) } }),
  }
}

/** Judges by the whole interval: beyond the bound it fails, within it it passes, and across it nothing is known. */
export function judge(interval: ShiftInterval | undefined, bound: number): Verdict {
  if (interval === undefined) return 'inconclusive'
  if (interval.low > bound) return 'fail'
  return interval.high <= bound ? 'pass' : 'inconclusive'
}
