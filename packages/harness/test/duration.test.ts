import { expect, test } from 'vitest'
import { durationMs } from '../src/duration.ts'

test.for<[number | string, number]>([
  [250, 250],
  [0, 0],
  ['500ms', 500],
  ['1.5s', 1500],
  ['2m', 120_000],
])('%s is %d ms', ([value, expected]) => {
  expect(durationMs(value, 'within')).toBe(expected)
})

test.for([-1, Number.NaN, Number.POSITIVE_INFINITY, '', '5', 's', '5 s', '-5s', '1h', '5sx', 'x5s'])(
  '%s is no time',
  (value) => {
    expect(() => durationMs(value, 'within')).toThrow(
      `\`within\` must be milliseconds or a text such as '500ms', '1.5s' or '2m', not '${value}'`,
    )
  },
)
