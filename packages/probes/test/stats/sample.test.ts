import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fewestForPercentile, median, percentile } from '../../src/index.ts'

const oneTo = (n: number): number[] => Array.from({ length: n }, (_, index) => index + 1)
const numbers = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }), { minLength: 1 })

describe('the median', () => {
  it('is the middle value, or the mean of the two middle ones, in any order of the values', () => {
    expect(median([3, 1, 2])).toBe(2)
    expect(median([10, 1, 2, 4])).toBe(3)
    expect(median(new Set([7]))).toBe(7)
  })

  it('is absent of an empty sample, not zero', () => {
    expect(median([])).toBeUndefined()
  })

  it('refuses what was not measured, and leaves the sample as it was', () => {
    expect(() => median([1, Number.NaN])).toThrow('value 1 of the sample is NaN; leave out what was not measured')
    const sample = [2, 1]
    median(sample)
    expect(sample).toEqual([2, 1])
  })

  it('has as many values above as below', () => {
    fc.assert(
      fc.property(numbers, (values) => {
        const middle = median(values)!
        const above = values.filter((value) => value > middle).length
        const below = values.filter((value) => value < middle).length
        expect(Math.max(above, below)).toBeLessThanOrEqual(values.length / 2)
      }),
    )
  })
})

describe('a percentile', () => {
  it('is the value of the nearest rank', () => {
    expect(percentile(oneTo(100), 95)).toBe(95)
    expect(percentile(oneTo(101), 95)).toBe(96)
    expect(percentile(oneTo(200), 50)).toBe(100)
    expect(percentile(oneTo(100), 7)).toBe(7)
    expect(percentile(oneTo(10_000), 99.9)).toBe(9990)
  })

  it('is withheld where 95 % of samples of that size would not reach beyond it', () => {
    expect(percentile(oneTo(58), 95)).toBeUndefined()
    expect(percentile(oneTo(59), 95)).toBe(57)
    expect([50, 90, 95, 99, 5].map(fewestForPercentile)).toEqual([5, 29, 59, 299, 59])
  })

  it('is a value of the sample with its share of the values at or below it', () => {
    const sample = fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 60, maxLength: 300 })
    fc.assert(
      fc.property(sample, fc.integer({ min: 5, max: 95 }), (values, percent) => {
        const found = percentile(values, percent)!
        const share = (count: number): number => (count / values.length) * 100
        expect(values).toContain(found)
        expect(share(values.filter((value) => value <= found).length)).toBeGreaterThanOrEqual(percent)
        expect(share(values.filter((value) => value < found).length)).toBeLessThan(percent)
      }),
    )
  })

  it('refuses a percentage that is none', () => {
    for (const percent of [0, 100, -1, Number.NaN]) {
      expect(() => percentile([1], percent)).toThrow('a percentile lies between 0 and 100')
    }
  })
})
