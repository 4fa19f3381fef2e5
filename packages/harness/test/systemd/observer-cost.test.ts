import { pairedShift } from '@boxlab/probes'
import { expect, test } from 'vitest'
import { renderObserverCost } from '../../src/systemd/observer-cost.ts'

function cost(differencesUs: readonly number[]): string {
  const pairs = differencesUs.map((us) => ({ withoutUs: 5_000_000, withUs: 5_000_000 + us }))
  return renderObserverCost({ version: 1, accelerator: 'tcg', seed: 1, pairs, shift: pairedShift(differencesUs)! })
}

test('the cost of recording has its sample, its interval and its share of the boot', () => {
  expect(cost([100_000, 110_000, 90_000, 105_000, 95_000, 101_000, 99_000, 100_000])).toBe(`\
PID 1’s start to the end of the boot, 8 pairs of boots in turn (seed 1), tcg:
  without the recorder  5000.0 ms (median)
  with it               5100.0 ms (median)
  the recorder costs    100.0 ms (2.0 %), 99 % interval 90.0 ms to 110.0 ms
`)
})

test('a cost that could be none is said to be one', () => {
  expect(cost([-90_000, 110_000, 90_000, 105_000, -95_000, 101_000, -99_000, 100_000])).toMatch(
    /, 99 % interval -99\.0 ms to 110\.0 ms, which has 0 in it: not told apart from nothing\n$/,
  )
})

test('of few pairs there is no interval, and it says how many that takes', () => {
  expect(cost([100_000, 100_000])).toMatch(/100\.0 ms \(2\.0 %\); no interval below 8 pairs\n$/)
})
