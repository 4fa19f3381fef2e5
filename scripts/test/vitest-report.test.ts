import { describe, expect, test } from 'vitest'
import { readVitestReport, slowestFiles } from '../results/vitest.ts'

interface Case {
  readonly title: string
  readonly status: string
  readonly ancestorTitles?: readonly string[]
}

/** One file of a report in vitest 5's shape. */
function file(path: string, cases: readonly Case[], more: { status?: string; message?: string } = {}): object {
  return {
    name: `/checkout/${path}`,
    status: more.status ?? (cases.some((one) => one.status === 'failed') ? 'failed' : 'passed'),
    message: more.message ?? '',
    startTime: 1_000,
    endTime: 1_000 + path.length * 1_000,
    assertionResults: cases.map((one) => ({ ancestorTitles: [], ...one })),
  }
}

const types = file('packages/probes/test/t.test-d.ts', [{ title: 'is a number', status: 'passed' }])

function read(files: readonly object[], exitCode = 0): ReturnType<typeof readVitestReport> {
  return readVitestReport(JSON.stringify({ testResults: files }), exitCode, '/checkout')
}

describe('the vitest report', () => {
  test('is counted test by test, and a skip has its whole name', () => {
    const result = read([
      types,
      file('a.test.ts', [
        { title: 'boots', status: 'passed' },
        { title: 'dials', status: 'skipped', ancestorTitles: ['vsock'] },
        { title: 'later', status: 'todo' },
      ]),
    ])
    expect(result).toEqual({
      runner: 'vitest',
      passed: 2,
      failures: [],
      skips: ['a.test.ts > vsock > dials', 'a.test.ts > later'],
    })
  })

  test('names a failed test once, though its file failed with it', () => {
    expect(read([types, file('a.test.ts', [{ title: 'boots', status: 'failed' }])], 1).failures).toEqual([
      'a.test.ts > boots',
    ])
  })

  test('counts a file that could not be loaded as a failure, with the first line of its error', () => {
    const broken = file('b.test.ts', [], { status: 'failed', message: "Cannot find module './x.ts'\nat somewhere" })
    expect(read([types, broken], 1).failures).toEqual([
      "b.test.ts failed outside of its tests: Cannot find module './x.ts'",
    ])
  })

  test('counts a test that was still running at the end as a failure', () => {
    expect(read([types, file('a.test.ts', [{ title: 'hangs', status: 'pending' }])], 1).failures).toEqual([
      'a.test.ts > hangs did not finish (pending)',
    ])
  })

  test('is a failure when the types project ran no test', () => {
    expect(read([file('a.test.ts', [{ title: 'boots', status: 'passed' }])]).failures).toEqual([
      expect.stringContaining('types project ran no test'),
    ])
  })

  test.for([undefined, '', '{"testResults": [', '{}', 'null'])('is a failure when the report is %j', (text) => {
    const result = readVitestReport(text, 139, '/checkout')
    expect(result.passed).toBe(0)
    expect(result.failures).toEqual([expect.stringMatching(/ended with code 139 .*; it left no report$/)])
  })

  test('is a failure when vitest never started', () => {
    expect(readVitestReport(undefined, undefined, '/checkout').failures).toEqual([
      'vitest was not run; it left no report',
    ])
  })

  test('is a failure when vitest ended badly and nothing in the report says why', () => {
    expect(read([types], 1).failures).toEqual([expect.stringContaining('ended with code 1')])
    expect(read([types], 124).failures).toEqual([expect.stringContaining('within its time')])
  })

  test('gives the slowest files first', () => {
    const text = JSON.stringify({ testResults: [file('a.ts', []), file('long-name.ts', []), file('b.ts', [])] })
    expect(slowestFiles(text, '/checkout', 2)).toEqual([
      { file: 'long-name.ts', seconds: 12 },
      { file: 'a.ts', seconds: 4 },
    ])
    expect(slowestFiles(undefined, '/checkout', 2)).toEqual([])
  })
})
