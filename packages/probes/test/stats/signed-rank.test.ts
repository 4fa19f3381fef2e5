import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  fewestForInterval,
  MAX_SIGNED_RANK_VALUES,
  median,
  pairedShift,
  signedRankDistribution,
  signedRankP,
} from '../../src/index.ts'

/** Every way to give each of 1..n a sign, as the sums of the positive ones. */
function enumeratedSums(n: number): number[] {
  let sums = [0]
  for (let rank = 1; rank <= n; rank += 1) sums = sums.flatMap((sum) => [sum, sum + rank])
  return sums
}

/** The textbook test: ranks of |d - shift|, and the two-sided probability by going through all signs. */
function enumeratedP(differences: readonly number[], shift: number): number {
  const centred = differences.map((difference) => difference - shift).toSorted((a, b) => Math.abs(a) - Math.abs(b))
  const sum = centred.reduce((total, value, index) => total + (value > 0 ? index + 1 : 0), 0)
  const sums = enumeratedSums(differences.length)
  const below = sums.filter((other) => other <= sum).length
  const above = sums.filter((other) => other >= sum).length
  return Math.min(1, (2 * Math.min(below, above)) / sums.length)
}

/** Differences of which no two Walsh averages are equal: distinct powers keep all sums of two apart. */
const untied = fc
  .uniqueArray(fc.integer({ min: 0, max: 24 }), { minLength: 4, maxLength: 9 })
  .chain((powers) =>
    fc.tuple(...powers.map((power) => fc.constantFrom(3 ** power, -(3 ** power)))).map((all) => [...all]),
  )
const some = fc.array(fc.integer({ min: -20, max: 20 }), { minLength: 1, maxLength: 40 })
const alphas = fc.constantFrom(0.01, 0.05, 0.1, 0.2, 0.5)

describe('the signed-rank distribution', () => {
  it('is what going through all signs gives', () => {
    for (let n = 0; n <= 12; n += 1) {
      const counts = Array.from({ length: (n * (n + 1)) / 2 + 1 }, () => 0)
      for (const sum of enumeratedSums(n)) counts[sum]! += 1
      expect([...signedRankDistribution(n)]).toEqual(counts.map((count) => count / 2 ** n))
    }
  })

  it('has the critical values of the two-sided test that textbooks print', () => {
    const critical = (n: number, alpha: number): number => {
      let tail = 0
      return signedRankDistribution(n).findIndex((probability) => (tail += probability) > alpha / 2) - 1
    }
    expect([6, 8, 10, 15, 20, 25, 30].map((n) => critical(n, 0.05))).toEqual([0, 3, 8, 25, 52, 89, 137])
    expect([8, 10, 15, 20, 25, 30].map((n) => critical(n, 0.01))).toEqual([0, 3, 15, 37, 68, 109])
  })

  it('stays a distribution, symmetric, up to its largest size', () => {
    for (const n of [53, 60, 200, MAX_SIGNED_RANK_VALUES]) {
      const probabilities = signedRankDistribution(n)
      expect(probabilities.reduce((sum, one) => sum + one, 0)).toBeCloseTo(1, 12)
      expect(probabilities[0]).toBe(2 ** -n)
      expect(probabilities.slice(0, 50)).toEqual(probabilities.slice(-50).toReversed())
    }
  })

  it('is refused where it is not known', () => {
    expect(() => signedRankDistribution(1001)).toThrow('is worked out for 0 to 1000 differences, not 1001')
    expect(() => pairedShift(Array.from({ length: 100_000 }, () => 1))).toThrow('not 100000')
  })
})

describe('the signed-rank test', () => {
  it('gives the p-value that going through all signs gives, when nothing ties', () => {
    // No difference and no mean of two is a quarter off a whole number, so the shift itself ties with none.
    fc.assert(
      fc.property(untied, fc.integer({ min: -100, max: 100 }), (differences, near) => {
        const shift = near + 0.25
        expect(signedRankP(differences, shift)).toBeCloseTo(enumeratedP(differences, shift), 12)
      }),
    )
  })

  it('counts ties and zeros against rejecting', () => {
    expect(signedRankP([0, 0, 0, 0, 0, 0, 0, 0])).toBe(1)
    expect(signedRankP([1, 1, 1, 1, 1, 1, 1, 1])).toBe(2 / 2 ** 8)
    expect(signedRankP([0, 1, 1, 1, 1, 1, 1, 1])).toBeGreaterThan(signedRankP([1, 1, 1, 1, 1, 1, 1, 1]))
    expect(signedRankP([])).toBe(1)
  })
})

describe('the paired shift', () => {
  it('needs 8 differences at alpha 0.01 for an interval, and gives the estimate from the first on', () => {
    expect(fewestForInterval(0.01)).toBe(8)
    expect(fewestForInterval(0.05)).toBe(6)
    expect(pairedShift([])).toBeUndefined()
    expect(pairedShift([5])).toEqual({ n: 1, estimate: 5 })
    expect(pairedShift([1, 2, 3, 4, 5, 6, 7])?.interval).toBeUndefined()
    expect(pairedShift([1, 2, 3, 4, 5, 6, 7, 8])).toEqual({
      n: 8,
      estimate: 4.5,
      interval: { low: 1, high: 8, alpha: 0.01, coverage: 1 - 2 / 256 },
    })
  })

  it('estimates by the median of the means of all two', () => {
    fc.assert(
      fc.property(some, (differences) => {
        const means = differences.flatMap((one, index) => differences.slice(index).map((other) => (one + other) / 2))
        expect(pairedShift(differences)!.estimate).toBe(median(means))
      }),
    )
  })

  it('holds exactly the shifts that the test does not reject', () => {
    fc.assert(
      fc.property(some, alphas, (differences, alpha) => {
        const { interval } = pairedShift(differences, alpha)!
        const n = differences.length
        expect(interval !== undefined).toBe(2 ** (1 - n) <= alpha)
        if (interval === undefined) return
        for (let shift = -21; shift <= 21; shift += 0.25) {
          const held = shift >= interval.low && shift <= interval.high
          expect(signedRankP(differences, shift) > alpha).toBe(held)
        }
      }),
    )
  })

  it('moves with its differences, turns with their sign, and stays the same in any order', () => {
    fc.assert(
      fc.property(some, alphas, fc.integer({ min: -50, max: 50 }), (differences, alpha, by) => {
        const shift = pairedShift(differences, alpha)!
        const moved = pairedShift(
          differences.map((one) => one + by),
          alpha,
        )!
        const turned = pairedShift(differences.map((one) => -one).toReversed(), alpha)!
        expect(moved.estimate).toBe(shift.estimate + by)
        expect(turned.estimate + shift.estimate).toBe(0)
        if (shift.interval === undefined) return
        expect(moved.interval).toMatchObject({ low: shift.interval.low + by, high: shift.interval.high + by })
        expect(turned.interval!.low + shift.interval.high).toBe(0)
        expect(shift.interval.low).toBeLessThanOrEqual(shift.estimate)
        expect(shift.interval.high).toBeGreaterThanOrEqual(shift.estimate)
        expect(shift.interval.coverage).toBeGreaterThanOrEqual(1 - alpha)
      }),
    )
  })

  it('misses the true shift exactly as often as its coverage says, when nothing ties', () => {
    // Given the sizes of the differences, each sign is as likely as the other: go through all of them.
    const sizes = [1, 3, 9, 27, 81, 243, 729, 2187, 6561, 19_683]
    const intervals = Array.from(
      { length: 2 ** sizes.length },
      (_, signs) =>
        pairedShift(
          sizes.map((size, bit) => (signs & (1 << bit) ? size : -size)),
          0.05,
        )!.interval!,
    )
    const held = intervals.filter(({ low, high }) => low <= 0 && high >= 0).length
    expect(held / intervals.length).toBeCloseTo(intervals[0]!.coverage, 12)
  })

  it('misses no more often than alpha when values tie', () => {
    // All samples of 8 from a symmetric distribution on three values.
    for (const alpha of [0.01, 0.05, 0.2]) {
      let missed = 0
      for (let sample = 0; sample < 3 ** 8; sample += 1) {
        const differences = Array.from({ length: 8 }, (_, place) => (Math.floor(sample / 3 ** place) % 3) - 1)
        const { low, high } = pairedShift(differences, alpha)!.interval!
        if (low > 0 || high < 0) missed += 1
      }
      expect(missed / 3 ** 8).toBeLessThanOrEqual(alpha)
    }
  })

  it('refuses what is no alpha', () => {
    for (const alpha of [0, 1, -0.1, Number.NaN]) {
      expect(() => pairedShift([1], alpha)).toThrow('alpha lies between 0 and 1')
    }
  })
})
