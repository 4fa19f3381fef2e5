import type { ExitCode, RunnerResult } from './runner.ts'

/** A test that may be skipped, and why. `name` is the whole name as the sum prints it. */
export interface AllowedSkip {
  readonly name: string
  readonly reason: string
}

/** One step of a run: a gate, a build, a test runner. */
export interface Step {
  readonly name: string
  readonly seconds: number
  readonly exitCode: number
}

/** The sum of a run. It is good exactly when `failed` is 0. */
export interface Verdict {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** What a person should read before the numbers, one sentence a line. */
  readonly notes: readonly string[]
}

/** The steps whose outcome their own reports tell; any other step that failed counts as one failure. */
const RUNNER_STEPS: ReadonlySet<string> = new Set(['vitest', 'cargo-test'])

/** Reads the steps file: `NAME<TAB>SECONDS<TAB>EXIT CODE` a line, the last line of a name counts. */
export function readSteps(text: string): Step[] {
  const steps = new Map<string, Step>()
  for (const line of text.split('\n')) {
    const [name, seconds, exitCode] = line.split('\t')
    if (name && seconds !== undefined && exitCode !== undefined) {
      steps.set(name, { name, seconds: Number(seconds), exitCode: Number(exitCode) })
    }
  }
  return [...steps.values()]
}

/** The exit code of a step, undefined when it never ran. */
export function exitCodeOf(steps: readonly Step[], name: string): ExitCode {
  return steps.find((step) => step.name === name)?.exitCode
}

/** Reads `allowed-skips.json`; throws a sentence where an entry has no name or gives no reason. */
export function readAllowedSkips(text: string): AllowedSkip[] {
  const entries: unknown = JSON.parse(text)
  if (!Array.isArray(entries)) throw new TypeError('allowed-skips.json must hold a list of { name, reason }.')
  return entries.map((entry: Partial<Record<keyof AllowedSkip, unknown>>, index) => {
    const { name, reason } = entry
    if (typeof name !== 'string' || typeof reason !== 'string' || name.trim() === '' || reason.trim() === '') {
      throw new TypeError(`allowed-skips.json: entry ${index + 1} needs a name and a reason.`)
    }
    return { name, reason }
  })
}

/**
 * Adds the runners up. A failed gate, a crash and a skip that nobody allowed each count as one failed,
 * so the line that is printed can never look better than the exit code.
 */
export function judge(
  results: readonly RunnerResult[],
  steps: readonly Step[],
  allowed: readonly AllowedSkip[],
): Verdict {
  const reasons = new Map(allowed.map((entry) => [entry.name, entry.reason]))
  const skips = results.flatMap((result) => result.skips)
  const allowedSkips = skips.filter((name) => reasons.has(name))
  const failures = [
    ...results.flatMap((result) => result.failures),
    ...skips.filter((name) => !reasons.has(name)).map((name) => `skipped without leave: ${name}`),
    ...steps
      .filter((step) => step.exitCode !== 0 && !RUNNER_STEPS.has(step.name))
      .map((step) => `the step ${step.name} failed with code ${step.exitCode}`),
  ]
  const unused = allowed.filter((entry) => !skips.includes(entry.name))
  return {
    passed: results.reduce((sum, result) => sum + result.passed, 0),
    failed: failures.length,
    skipped: allowedSkips.length,
    notes: [
      ...failures.map((sentence) => `failed: ${sentence}`),
      ...allowedSkips.map((name) => `skipped: ${name} (allowed: ${reasons.get(name)})`),
      ...unused.map((entry) => `not needed this time: leave to skip ${entry.name}`),
    ],
  }
}
