import { endFailures, type ExitCode, type RunnerResult } from './runner.ts'

// libtest has no stable machine-readable output, so these are the lines of its ordinary one (Rust 1.88 to 1.96).
const BINARY = /^\s+Running (?:unittests )?\S+ \((?:.*\/)?(.+?)(?:-[0-9a-f]{16})?\)$/
const DOC_TESTS = /^\s+Doc-tests (\S+)$/
const STARTED = /^running \d+ tests?$/
const IGNORED = /^test (.+) \.\.\. ignored(?:, .*)?$/
const FAILED = /^test (.+) \.\.\. FAILED$/
const RESULT = /^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;/
// oxlint-disable-next-line no-control-regex -- colours, which cargo writes when it is asked to
const COLOUR = /\x1b\[[0-9;]*m/g

/**
 * Reads what `cargo test --no-fail-fast` printed (stdout and stderr together); `text` is undefined where there is none.
 * A skip is named `binary > module::test`, with the binary as cargo names its file, or `doc-tests CRATE > …`.
 */
export function readCargoLog(text: string | undefined, exitCode: ExitCode): RunnerResult {
  let passed = 0
  let failed = 0
  let ignored = 0
  let binary = 'unknown'
  // The binary that has said `running N tests` and not yet its result.
  let open: string | undefined
  const crashed: string[] = []
  const failedNames: string[] = []
  const skips: string[] = []
  const close = (): void => {
    if (open !== undefined) crashed.push(`${open} (cargo test) ended without a result: it crashed or was ended`)
    open = undefined
  }
  for (const line of (text ?? '').replace(COLOUR, '').split(/\r?\n/)) {
    const next = BINARY.exec(line)?.[1] ?? DOC_TESTS.exec(line)?.[1]
    if (next !== undefined) {
      close()
      binary = DOC_TESTS.test(line) ? `doc-tests ${next}` : next
      continue
    }
    if (STARTED.test(line)) {
      close()
      open = binary
      continue
    }
    const skip = IGNORED.exec(line)?.[1]
    if (skip !== undefined) skips.push(`${binary} > ${skip}`)
    const failure = FAILED.exec(line)?.[1]
    if (failure !== undefined) failedNames.push(`${binary} > ${failure}`)
    const result = RESULT.exec(line)
    if (result) {
      open = undefined
      passed += Number(result[1])
      failed += Number(result[2])
      ignored += Number(result[3])
    }
  }
  close()
  // The counts are the truth and the names only their reading: a name that was not recognised still counts.
  const unnamedFailed = Math.max(0, failed - failedNames.length)
  const unnamedIgnored = Math.max(0, ignored - skips.length)
  const failures = [
    ...failedNames,
    ...Array.from({ length: unnamedFailed }, () => 'a failed test of cargo test whose name could not be read'),
    ...crashed,
  ]
  skips.push(...Array.from({ length: unnamedIgnored }, () => 'an ignored test whose name could not be read'))
  failures.push(...endFailures('cargo test', exitCode, passed, failures.length))
  return { runner: 'cargo test', passed, failures, skips }
}
