/** What one test runner did, in the terms that the sum is made of. */
export interface RunnerResult {
  readonly runner: 'vitest' | 'cargo test'
  readonly passed: number
  /** One sentence for each test that failed and for each thing that went wrong around the tests. */
  readonly failures: readonly string[]
  /** Names of the tests that were not run, as `allowed-skips.json` spells them. */
  readonly skips: readonly string[]
}

/** How a runner's process ended: its exit code, or undefined when it was never started. */
export type ExitCode = number | undefined

/**
 * Sentences for a process whose end contradicts what it reported.
 * Empty when `reported` already explains the exit code.
 */
export function endFailures(
  runner: RunnerResult['runner'],
  exitCode: ExitCode,
  passed: number,
  reported: number,
): string[] {
  if (exitCode === undefined) return [`${runner} was not run`]
  if (reported > 0) return []
  if (exitCode === 124) return [`${runner} did not end within its time and was ended`]
  if (exitCode !== 0) return [`${runner} ended with code ${exitCode} and reported no failed test; see its output above`]
  return passed === 0 ? [`${runner} ran and passed no test at all`] : []
}
