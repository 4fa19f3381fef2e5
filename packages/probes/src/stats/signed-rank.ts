import { ascending, middleOf } from './sample.ts'

/** The most values the exact distribution is worked out for: beyond it probabilities leave the range of a double. */
export const MAX_SIGNED_RANK_VALUES = 1000

/** By how much paired values differ, in their unit. */
export interface Shift {
  /** How many differences it is from. */
  readonly n: number
  /** The Hodges-Lehmann estimate: the median of the Walsh averages. */
  readonly estimate: number
  /** Absent when n is too small for any interval at this alpha (fewer than `fewestForInterval`). */
  readonly interval?: ShiftInterval
}

/** A two-sided confidence interval; both ends belong to it. */
export interface ShiftInterval {
  readonly low: number
  readonly high: number
  /** The probability that was asked for of missing the true shift. */
  readonly alpha: number
  /** The exact probability of holding the true shift when no two values tie, at least 1 - alpha; more with ties. */
  readonly coverage: number
}

/**
 * The shift of paired differences with its exact signed-rank interval: the shifts that the two-sided Wilcoxon
 * signed-rank test does not reject at `alpha`. It assumes that the differences are independent and symmetric around
 * the shift, and nothing of their distribution otherwise.
 *
 * Ties and zeros stay in, and the interval is closed; that keeps its coverage at least at 1 - alpha for discrete
 * distributions too (G. E. Noether, Wilcoxon Confidence Intervals for Location Parameters in the Discrete Case, JASA
 * 62, 1967). Absent without differences.
 */
export function pairedShift(differences: readonly number[], alpha = 0.01): Shift | undefined {
  const averages = walshAverages(differences)
  const estimate = middleOf(averages)
  if (estimate === undefined) return undefined
  const n = differences.length
  if (n < fewestForInterval(alpha)) return { n, estimate }
  const lower = lowerTails(n)
  // The test rejects a shift with at most `cut` Walsh averages on one of its sides.
  const cut = lower.findLastIndex((tail) => tail <= alpha / 2)
  const [low, high] = [averages[cut], averages[averages.length - 1 - cut]]
  if (low === undefined || high === undefined) throw new Error(`no interval of ${n} differences at alpha ${alpha}`)
  return { n, estimate, interval: { low, high, alpha, coverage: 1 - 2 * (lower[cut] ?? 0) } }
}

/**
 * The p-value of the exact two-sided signed-rank test that the differences are symmetric around `shift`. It is at most
 * alpha just when the interval of `pairedShift` at that alpha leaves `shift` out; a difference at the shift itself
 * counts against rejecting on either side. 1 without differences.
 */
export function signedRankP(differences: readonly number[], shift = 0): number {
  const averages = walshAverages(differences)
  const notAbove = averages.reduce((count, average) => count + (average <= shift ? 1 : 0), 0)
  const notBelow = averages.reduce((count, average) => count + (average >= shift ? 1 : 0), 0)
  const tail = lowerTails(differences.length)[Math.min(notAbove, notBelow)]
  return Math.min(1, 2 * (tail ?? 1))
}

/** The fewest differences that can give an interval at `alpha`: 8 at 0.01, 6 at 0.05. */
export function fewestForInterval(alpha: number): number {
  if (!(alpha > 0 && alpha < 1)) throw new RangeError(`alpha lies between 0 and 1, not at ${alpha}`)
  // The rarest outcome, all differences on one side, has probability 2^-n on each side.
  return Math.max(1, Math.ceil(1 - Math.log2(alpha)))
}

/**
 * The null distribution of W+, the sum of the ranks of the positive differences among n: the probability of each sum
 * from 0 to n (n + 1) / 2. Each rank is in the sum or not, with even odds; counting subsets of 1..n by their sum, rank
 * by rank, gives all of it. Exact up to n = 53, and to the last digits of a double beyond.
 */
export function signedRankDistribution(n: number): Float64Array {
  checkCount(n)
  const probabilities = new Float64Array((n * (n + 1)) / 2 + 1)
  probabilities[0] = 1
  let largest = 0
  for (let rank = 1; rank <= n; rank += 1) {
    largest += rank
    for (let sum = largest; sum >= 0; sum -= 1) {
      const without = probabilities[sum] ?? 0
      const withRank = sum < rank ? 0 : (probabilities[sum - rank] ?? 0)
      probabilities[sum] = (without + withRank) / 2
    }
  }
  return probabilities
}

/** P(W+ <= w) for each w. */
function lowerTails(n: number): Float64Array {
  let tail = 0
  return signedRankDistribution(n).map((probability) => (tail += probability))
}

/** All means of two differences and of each with itself, in ascending order. */
function walshAverages(differences: readonly number[]): Float64Array {
  checkCount(differences.length)
  const sorted = ascending(differences)
  const averages = new Float64Array((sorted.length * (sorted.length + 1)) / 2)
  let at = 0
  for (const [index, one] of sorted.entries()) {
    for (const other of sorted.subarray(index)) averages[at++] = (one + other) / 2
  }
  return averages.toSorted()
}

function checkCount(n: number): void {
  if (Number.isInteger(n) && n >= 0 && n <= MAX_SIGNED_RANK_VALUES) return
  throw new RangeError(
    `the signed-rank distribution is worked out for 0 to ${MAX_SIGNED_RANK_VALUES} differences, not ${n}`,
  )
}
