/** How sure it must be that a sample reaches beyond a percentile before that percentile is given. */
const CONFIDENCE = 0.95

/**
 * The middle value of a sample, or the mean of the two middle ones, in the unit of the sample. Absent of an empty
 * sample. A value that is no finite number is a TypeError: absent is not zero, so leave absent values out.
 */
export function median(values: Iterable<number>): number | undefined {
  return middleOf(ascending(values))
}

/** The middle of an ascending row. */
export function middleOf(sorted: Float64Array): number | undefined {
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  return low === undefined || high === undefined ? undefined : (low + high) / 2
}

/**
 * The nearest-rank percentile: the ceil(n percent / 100)th smallest value, which is a value of the sample. `percent`
 * lies between 0 and 100.
 *
 * Withheld (absent) when the sample is too small to know: all n values lie on one side of the true percentile with
 * probability max(p, 1 - p)^n, and where that is more than 5 % nothing bounds the percentile on its far side. So p50
 * needs 5 values, p90 29, p95 59, p99 299.
 */
export function percentile(values: Iterable<number>, percent: number): number | undefined {
  const sorted = ascending(values)
  if (sorted.length < fewestForPercentile(percent)) return undefined
  // 0.07 * 100 is a little more than 7: without the rounding the rank would be one too many.
  const rank = Math.ceil(Number(((sorted.length * percent) / 100).toFixed(9)))
  return sorted[Math.max(rank, 1) - 1]
}

/** The smallest sample of which `percentile` gives this percentile. */
export function fewestForPercentile(percent: number): number {
  if (!(percent > 0 && percent < 100)) throw new RangeError(`a percentile lies between 0 and 100, not at ${percent}`)
  const p = percent / 100
  return Math.ceil(Math.log(1 - CONFIDENCE) / Math.log(Math.max(p, 1 - p)))
}

/** The values in ascending order, each checked to be a finite number. */
export function ascending(values: Iterable<number>): Float64Array {
  const sample = Float64Array.from(values)
  const odd = sample.findIndex((value) => !Number.isFinite(value))
  if (odd >= 0) throw new TypeError(`value ${odd} of the sample is ${sample[odd]}; leave out what was not measured`)
  return sample.toSorted()
}
