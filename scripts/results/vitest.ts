import { relative } from 'node:path'
import { endFailures, type ExitCode, type RunnerResult } from './runner.ts'

/** The part of vitest 5's JSON report that is read here (its `JsonTestResults`). */
interface VitestReport {
  readonly testResults: readonly VitestFile[]
}

interface VitestFile {
  /** Absolute path. */
  readonly name: string
  readonly status: string
  /** First error outside of the tests: an import that failed, a hook. */
  readonly message: string
  /** Milliseconds since the epoch. */
  readonly startTime: number
  readonly endTime: number
  readonly assertionResults: readonly {
    readonly ancestorTitles: readonly string[]
    readonly title: string
    readonly status: string
  }[]
}

/** A test file and how long its tests took together. */
export interface FileTime {
  readonly file: string
  readonly seconds: number
}

/**
 * Reads vitest's JSON report; `text` is undefined where there is none.
 * A skip is named `path/of.test.ts > describe > title`.
 */
export function readVitestReport(text: string | undefined, exitCode: ExitCode, root: string): RunnerResult {
  const report = parse(text)
  if (!report) {
    const failures = endFailures('vitest', exitCode, 0, 0)
    return { runner: 'vitest', passed: 0, failures: [`${failures[0] ?? 'vitest ended'}; it left no report`], skips: [] }
  }
  let passed = 0
  let typesPassed = 0
  const failures: string[] = []
  const skips: string[] = []
  for (const file of report.testResults) {
    const path = relative(root, file.name)
    const failuresBefore = failures.length
    for (const test of file.assertionResults) {
      // A file's own suite has an empty title.
      const name = [path, ...test.ancestorTitles, test.title].filter((part) => part !== '').join(' > ')
      if (test.status === 'passed') {
        passed += 1
        if (path.endsWith('.test-d.ts')) typesPassed += 1
      } else if (test.status === 'skipped' || test.status === 'todo' || test.status === 'disabled') skips.push(name)
      else if (test.status === 'failed') failures.push(name)
      else failures.push(`${name} did not finish (${test.status})`)
    }
    if (file.status === 'failed' && failures.length === failuresBefore) {
      failures.push(`${path} failed outside of its tests: ${file.message.split('\n', 1)[0] || 'no message'}`)
    }
  }
  if (typesPassed === 0) failures.push('the types project ran no test (packages/*/test/**/*.test-d.ts)')
  failures.push(...endFailures('vitest', exitCode, passed, failures.length))
  return { runner: 'vitest', passed, failures, skips }
}

/** The files that took longest, longest first. */
export function slowestFiles(text: string | undefined, root: string, count: number): FileTime[] {
  return (parse(text)?.testResults ?? [])
    .map((file) => ({ file: relative(root, file.name), seconds: (file.endTime - file.startTime) / 1000 }))
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, count)
}

/** Undefined for a report that is missing, torn, or of another shape: all three mean that the runner crashed. */
function parse(text: string | undefined): VitestReport | undefined {
  try {
    const report = JSON.parse(text ?? '') as VitestReport
    return Array.isArray(report.testResults) ? report : undefined
  } catch {
    return undefined
  }
}
