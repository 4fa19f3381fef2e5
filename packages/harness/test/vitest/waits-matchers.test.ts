import { waits, type WaitsResult } from '@boxlab/probes'
import { describe, expect, test } from 'vitest'
import { waitsMatchers } from '../../src/vitest/index.ts'

expect.extend(waitsMatchers)

/** A boot as `systemctl show --all` has it; times in ms after PID 1's start, which is 1 s after the kernel's. */
function boot(target: string): WaitsResult {
  const us = (ms: number): number => 1_000_000 + ms * 1000
  const unit = (id: string, after: string, run: number, end: number, more = ''): string =>
    `Id=${id}\nNames=${id}\nAfter=${after}\nConditionTimestampMonotonic=${us(run)}\nInactiveExitTimestampMonotonic=${us(run)}\n` +
    `ActiveEnterTimestampMonotonic=${us(end)}\nActiveExitTimestampMonotonic=0\nInactiveEnterTimestampMonotonic=0\n${more}\n`
  const units = [
    unit('quick.service', '', 500, 600),
    unit('slow.service', '', 700, 1700),
    unit('multi-user.target', 'quick.service slow.service', 1700, 1700),
    unit('late.service', 'multi-user.target', 1800, 2000),
  ]
  const never =
    'Id=never.service\nNames=never.service\nAfter=\nConditionTimestampMonotonic=0\nInactiveExitTimestampMonotonic=0\nActiveEnterTimestampMonotonic=0\nActiveExitTimestampMonotonic=0\nInactiveEnterTimestampMonotonic=0\n'
  const manager = `UserspaceTimestampMonotonic=${us(0)}\nUnitsLoadFinishTimestampMonotonic=${us(400)}\nFinishTimestampMonotonic=${us(2000)}\n`
  return waits([{ name: 'pasted', input: `${manager}\n${[...units, never].join('\n')}` }], { target })
}

const target = boot('multi-user.target')

/** How a matcher refuses, in its own words. */
async function refusal(assertion: Promise<unknown>): Promise<string> {
  return assertion.then(
    () => 'it passed',
    (error: unknown) => (error as Error).message,
  )
}

describe('toHaveCriticalPath', () => {
  test('holds the whole path, or parts of it', async () => {
    await expect(target).toHaveCriticalPath(['slow.service', 'multi-user.target'])
    await expect(target).toHaveCriticalPath({ containing: ['slow.service'], notContaining: ['quick.service'] })
    await expect(target).not.toHaveCriticalPath(['multi-user.target', 'slow.service'])
  })

  test('says what is wrong, and shows the path with its times', async () => {
    const words = await refusal(expect(target).toHaveCriticalPath({ containing: ['quick.service'] }))
    expect(words).toContain('quick.service is not on it')
    expect(words).toMatch(/700\.000 ms +1700\.000 ms {2}slow\.service/)
    expect(await refusal(expect(target).toHaveCriticalPath({ notContaining: ['slow.service'] }))).toContain(
      'slow.service is on it',
    )
  })
})

describe('toHaveNoGapLongerThan', () => {
  test('looks at the times in which nothing was activating', async () => {
    await expect(target).toHaveNoGapLongerThan('100ms')
    const words = await refusal(expect(target).toHaveNoGapLongerThan(99))
    expect(words).toContain('100.000 ms from 600.000 ms on: after quick.service, until slow.service')
  })
})

describe('toReachUnit', () => {
  test('counts from the start of PID 1', async () => {
    await expect(boot('slow.service')).toReachUnit('slow.service', { within: '1.7s' })
    expect(await refusal(expect(boot('slow.service')).toReachUnit('slow.service', { within: 1699 }))).toContain(
      'slow.service was reached 1700.000 ms after PID 1’s start (n=1), and the bound is 1699 ms',
    )
  })

  test('tells a unit that never came from one that nobody knows', async () => {
    await expect(boot('never.service')).not.toReachUnit('never.service')
    expect(await refusal(expect(boot('misspelt.service')).not.toReachUnit('misspelt.service'))).toMatch(/misspelt/)
  })
})

test('toStartBehind names what is missing and what is there', async () => {
  await expect(target).toStartBehind('multi-user.target', ['late.service'])
  const words = await refusal(expect(target).toStartBehind('multi-user.target', ['late.service', 'slow.service']))
  expect(words).toMatch(
    /slow\.service did not start behind multi-user\.target; behind .*\n +1800\.000 ms {2}late\.service/,
  )
})

test('toHaveSlack is how much later a unit could have ended', async () => {
  await expect(target).toHaveSlack('quick.service', { atLeast: '1.1s' })
  await expect(target).not.toHaveSlack('quick.service', { atLeast: 1101 })
  await expect(target).not.toHaveSlack('slow.service', { atLeast: 1 })
  expect(await refusal(expect(target).not.toHaveSlack('late.service', { atLeast: 1 }))).toContain('does not wait for')
})

test('a question about another target, or to no boot at all, is an error and never a pass', async () => {
  expect(await refusal(expect(target).toHaveCriticalPath([], { target: 'ssh' }))).toContain('asks about ssh')
  expect(await refusal(expect({}).not.toHaveNoGapLongerThan(1))).toContain('takes a box or a result of waits()')
  const nothing = waits([{ name: 'empty', input: '' }])
  expect(await refusal(expect(nothing).not.toHaveCriticalPath([]))).toContain('no whole unit')
})

test('whole seconds decide nothing about milliseconds', async () => {
  const at = (second: number): string => `Mon 2026-11-30 21:00:0${second} UTC`
  const dump = `Timestamp kernel: ${at(0)}\nTimestamp userspace: ${at(1)}\n-> Unit multi-user.target:\n\tUnit Load State: loaded\n\tInactive Exit Timestamp: ${at(3)}\n\tActive Enter Timestamp: ${at(3)}\n\tActive Exit Timestamp: n/a\n\tInactive Enter Timestamp: n/a\n\tCondition Timestamp: ${at(3)}\n\tCondition Result: yes\n\tStopWhenUnneeded: no\n`
  const result = waits([{ name: 'dump', input: dump }])
  await expect(result).toReachUnit('multi-user.target')
  expect(await refusal(expect(result).not.toReachUnit('multi-user.target', { within: 1 }))).toContain('microseconds')
  expect(await refusal(expect(result).not.toHaveNoGapLongerThan(1))).toContain('whole seconds')
})
