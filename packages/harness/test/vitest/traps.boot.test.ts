import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runVitest, statuses } from './run-vitest.ts'

describe.each(['forks', 'threads'])('in the pool of %s', (pool) => {
  const args = ['run', `--pool=${pool}`]

  test('a passing run goes at once, and says nothing of boxes', async () => {
    const { code, output, ...ran } = await runVitest('passing', { args })
    expect(code).toBe(0)
    expect(output).not.toMatch(/\bb[0-9a-f]{10}\b|LEAK/)
    expect(ran.boxes()).toEqual([])
  })

  test('a boot that outlives its test ends with it, and the body never runs', async () => {
    const ran = await runVitest('outlives', { args })
    expect(statuses(ran)).toEqual({
      'a boot that takes longer than the test may never gets its body run': 'failed',
      'a boot that takes longer than the test may while others run': 'passed',
    })
    expect(existsSync(join(ran.out, 'late-body'))).toBe(false)
    expect(ran.output).not.toContain('LEAK')
  })
})

test('a boot that outlives the limit of `useBox` fails with our error and the console', async () => {
  const ran = await runVitest('outlives-shared')
  expect(ran.output).toMatch(/BoxError: .*did not come within 1500 ms/)
  expect(ran.output).toMatch(/ {4}hello from the boot sector\n {4}done\n/)
  expect(ran.output).not.toContain('Hook timed out')
  expect(statuses(ran)).toEqual({ 'is skipped': 'skipped' })
})

test('a `beforeAll` over its limit leaves no box of `useBox`, and one that it boots itself is a leak', async () => {
  const ran = await runVitest('before-all')
  expect(ran.output.match(/Hook timed out in 300ms/g)).toHaveLength(2)
  expect(ran.output.match(/^\S+: box b[0-9a-f]{10}, booted outside of a test/gm)).toHaveLength(1)
  expect(new Set(Object.values(statuses(ran)))).toEqual(new Set(['skipped']))
})

test('a guest that does not react to a stop holds nothing up', async () => {
  const ran = await runVitest('deaf-guest')
  expect(statuses(ran)).toEqual({ 'has a box that does not stop by itself': 'passed' })
  expect(ran.code).toBe(0)
  expect(ran.boxes()).toEqual([])
})

test('`useBox` in a test says where it belongs', async () => {
  const ran = await runVitest('inside-test')
  expect(ran.output).toContain('BoxError: `useBox` was called inside a test')
  expect(ran.boxes()).toEqual([])
})

test('two files in one worker without isolation have boxes of their own', async () => {
  const ran = await runVitest('shared-worker')
  expect(statuses(ran)).toEqual({
    'first: has a shared box': 'passed',
    'first: has its own': 'passed',
    'second: has a shared box': 'passed',
    'second: has its own': 'passed',
    'second: fails': 'failed',
  })
  const boxes = [...ran.tests.values()].flatMap(({ meta }) => meta.boxes ?? [])
  expect(new Set(boxes)).toHaveLength(4)
  // The second file's hooks are there too: the record of the failed test is kept and shown.
  expect(ran.boxes()).toMatchObject([{ id: ran.tests.get('second: has a shared box')?.meta.boxes?.[0] }])
  expect(ran.output).toContain(`\nbox ${ran.boxes()[0]?.id}\n`)
})

test('each attempt at a test has a fresh box from the fixture, and the same one from `useBox`', async () => {
  const ran = await runVitest('attempts')
  const counts = [...ran.tests.values()].map(({ fullName, meta }) => [fullName, new Set(meta.boxes).size])
  expect(Object.fromEntries(counts)).toEqual({
    'the fixture with retries': 3,
    'the fixture with repeats': 2,
    'the fixture that fails at each attempt': 2,
    'a shared box with retries': 1,
    'a shared box with repeats': 1,
  })
  // Under the error of each attempt stands its own box.
  const failed = ran.tests.get('the fixture that fails at each attempt')?.meta.boxes ?? []
  for (const id of failed) expect(ran.output.match(new RegExp(`^box ${id}$`, 'gm'))).toHaveLength(1)
  expect(ran.output.indexOf(`box ${failed[0]}`)).toBeLessThan(ran.output.indexOf(`box ${failed[1]}`))
})

test('concurrent tests have a box each, and what is said of a box is said of its test', async () => {
  const ran = await runVitest('concurrent')
  const [failed, passed] = ['fails', 'passes'].map((name) => ran.tests.get(`the fixture ${name}`)?.meta.boxes?.[0])
  expect(failed).not.toBe(passed)
  expect(ran.output.match(/^box \S+$/gm)).toEqual([`box ${failed}`])
  expect(ran.output).toMatch(/, booted by "without it > leaves a box"\n/)
})

test('after the first failure with `bail` nothing boots any more', async () => {
  const ran = await runVitest('bail')
  expect(ran.code).toBe(1)
  expect(Object.values(statuses(ran)).toSorted()).toEqual(['failed', 'pending'])
  expect(new Set(ran.boxes().map(({ outcome }) => outcome))).toEqual(new Set(['stopped']))
  expect(ran.output).not.toContain('LEAK')
})
