import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { RunnerResult } from '../results/runner.ts'
import { timesTable } from '../results/times.ts'
import { exitCodeOf, judge, readAllowedSkips, readSteps } from '../results/verdict.ts'

const vitest: RunnerResult = { runner: 'vitest', passed: 10, failures: [], skips: [] }
const cargo: RunnerResult = { runner: 'cargo test', passed: 5, failures: [], skips: [] }

describe('the sum', () => {
  test('adds the runners up', () => {
    expect(judge([vitest, cargo], [], [])).toEqual({ passed: 15, failed: 0, skipped: 0, notes: [] })
  })

  test('counts every failure of every runner', () => {
    const verdict = judge(
      [
        { ...vitest, failures: ['a'] },
        { ...cargo, failures: ['b', 'c'] },
      ],
      [],
      [],
    )
    expect(verdict.failed).toBe(3)
    expect(verdict.notes).toEqual(['failed: a', 'failed: b', 'failed: c'])
  })

  test('takes a skip that is on the list, and gives its reason', () => {
    const skipping = { ...vitest, skips: ['a.test.ts > dials'] }
    const verdict = judge([skipping, cargo], [], [{ name: 'a.test.ts > dials', reason: 'no vsock here' }])
    expect(verdict).toMatchObject({ failed: 0, skipped: 1 })
    expect(verdict.notes).toEqual(['skipped: a.test.ts > dials (allowed: no vsock here)'])
  })

  test('counts any other skip as failed', () => {
    const verdict = judge([{ ...vitest, skips: ['a.test.ts > dials'] }, cargo], [], [])
    expect(verdict).toMatchObject({ failed: 1, skipped: 0 })
    expect(verdict.notes).toEqual(['failed: skipped without leave: a.test.ts > dials'])
  })

  test('says which leave to skip was not needed, and does not fail over it', () => {
    const verdict = judge([vitest, cargo], [], [{ name: 'gone', reason: 'once needed' }])
    expect(verdict.failed).toBe(0)
    expect(verdict.notes).toEqual(['not needed this time: leave to skip gone'])
  })

  test('counts a failed gate, and leaves the runners to their own reports', () => {
    const steps = readSteps('lint\t1.5\t1\nvitest\t9.0\t1\ncargo-test\t3.0\t101\nformat\t0.1\t0\n')
    const verdict = judge([vitest, cargo], steps, [])
    expect(verdict.failed).toBe(1)
    expect(verdict.notes).toEqual(['failed: the step lint failed with code 1'])
  })
})

describe('the steps file', () => {
  test('keeps the last word on a step and ignores a torn line', () => {
    const steps = readSteps('lint\t1.5\t1\nlint\t1.0\t0\nvit')
    expect(steps).toEqual([{ name: 'lint', seconds: 1, exitCode: 0 }])
    expect(exitCodeOf(steps, 'lint')).toBe(0)
    expect(exitCodeOf(steps, 'vitest')).toBeUndefined()
  })

  test('becomes a table with its sum and the slowest files', () => {
    const steps = readSteps('lint\t1.5\t1\nvitest\t9.0\t0\n')
    const lines = timesTable(steps, [{ file: 'a.test.ts', seconds: 8.25 }]).split('\n')
    expect(lines.map((line) => line.replaceAll(/ +/g, ' '))).toEqual([
      'step seconds',
      'lint 1.5 failed',
      'vitest 9.0',
      'together 10.5',
      '',
      'slowest test files seconds',
      'a.test.ts 8.3',
    ])
  })
})

describe('the list of allowed skips', () => {
  test('needs a name and a reason in each entry', () => {
    expect(() => readAllowedSkips('[{"name": "a", "reason": "b"}, {"name": "c", "reason": " "}]')).toThrow(
      'allowed-skips.json: entry 2 needs a name and a reason.',
    )
    expect(() => readAllowedSkips('{}')).toThrow('must hold a list')
  })

  test('as committed can be read', () => {
    const text = readFileSync(new URL('../allowed-skips.json', import.meta.url), 'utf8')
    expect(() => readAllowedSkips(text)).not.toThrow()
  })
})
