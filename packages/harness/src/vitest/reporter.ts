import { join, relative } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { BoxError } from '@boxlab/native'
import type { TestArtifact } from 'vitest'
import type { Reporter, TestCase, TestModule, TestRunEndReason, Vitest } from 'vitest/node'
import { type BoxEvidence, evidenceLines, readEvidence } from './box-evidence.ts'
import { type Failure, failuresIn, textOf } from './failures.ts'
import { isLeak, type Leak, leakLines, leaksOf } from './leaks.ts'
import type { RecordArtifact } from './record-artifact.ts'

/** What was seen of a box when a test had failed. */
interface Seen {
  readonly evidence: BoxEvidence
  /** Absent where only an error tells of the box. */
  readonly artifact?: RecordArtifact
}

/**
 * A vitest reporter beside the one that prints tests: under each failed test and hook it shows what is known of its
 * boxes, and a run whose tests left boxes running fails. It prints nothing otherwise.
 *
 * Set it by name: `reporters: ['default', '@boxlab/harness/reporter']`.
 */
export class BoxReporter implements Reporter {
  #vitest!: Vitest
  readonly #seen: Seen[] = []
  readonly #shown = new Set<string>()
  readonly #left: { readonly module: TestModule; readonly leak: Leak }[] = []

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
    const { logger, projects } = vitest
    const setup = join(import.meta.dirname, import.meta.filename.endsWith('.ts') ? 'setup.ts' : 'setup.js')
    for (const { config } of projects) if (!config.browser.enabled) config.setupFiles.push(setup)
    // The reporters of vitest print every error through this function: what follows it stands under the error.
    const printError = logger.printError.bind(logger)
    logger.printError = (error, options) => {
      printError(error, options)
      const failures = this.#failures(vitest.state.getTestModules())
      const failure = failures.find(({ errors }) => errors.some((one) => one === error))
      if (failure) this.#print(this.#newLines(failure, textOf(error)))
    }
  }

  onTestRunStart(): void {
    this.#seen.length = 0
    this.#shown.clear()
    this.#left.length = 0
  }

  onTestCaseArtifactRecord(_test: TestCase, artifact: TestArtifact): void {
    if (artifact.type !== 'boxlab:record') return
    // Read now: the box may go on, and its record with it.
    const evidence = readEvidence(artifact.record, artifact)
    if (evidence) this.#seen.push({ artifact, evidence })
  }

  onTestModuleEnd(module: TestModule): void {
    // Another project may have run the same file.
    const known = new Set(this.#left.map(({ leak }) => leak.record))
    const leaks = leaksOf(module.moduleId).filter(({ record }) => !known.has(record))
    this.#left.push(...leaks.map((leak) => ({ module, leak })))
  }

  async onTestRunEnd(modules: readonly TestModule[], _errors: unknown, reason: TestRunEndReason): Promise<void> {
    // The other reporters print the failures before this goes on.
    await setImmediate()
    for (const failure of this.#failures(modules)) {
      const [why = ''] = textOf(failure.errors[0]).split('\n', 1)
      const lines = this.#newLines(failure, '')
      if (lines.length > 0) this.#print([`FAIL ${failure.name}`, why, ...lines])
    }
    // Who interrupts a run takes its boxes from it.
    if (reason !== 'interrupted') await this.#reportLeaks()
  }

  #failures(modules: readonly TestModule[]): Failure[] {
    return modules.flatMap(failuresIn)
  }

  /** What is known of a failure's boxes, was not printed yet and does not stand in the text above. */
  #newLines({ id, errors, retryIndex, repeatIndex }: Failure, text: string): string[] {
    const seen = this.#seen.filter(
      ({ artifact }) =>
        artifact?.testId === id && artifact.retryIndex === retryIndex && artifact.repeatIndex === repeatIndex,
    )
    return [...seen, ...told(errors as readonly Partial<BoxError>[])].flatMap(({ evidence, artifact }) => {
      const key = [id, retryIndex, repeatIndex, evidence.record].join(' ')
      if (this.#shown.has(key)) return []
      this.#shown.add(key)
      const attached = artifact?.attachments?.map(({ path = '' }) => relative(this.#vitest.config.root, path)) ?? []
      const doubt = artifact?.isDoubtful ? ['  it may be of another test that ran at the same time'] : []
      return [...evidenceLines(evidence, text), ...doubt, ...attached.map((path) => `  attached: ${path}`)]
    })
  }

  /** A run that left a box running has failed, whatever its tests say. */
  async #reportLeaks(): Promise<void> {
    const patienceMs = this.#vitest.config.teardownTimeout
    const leaks = await Promise.all(this.#left.map(({ leak }) => isLeak(leak, patienceMs)))
    const left = this.#left.filter((_, index) => leaks[index])
    if (left.length === 0) return
    process.exitCode = 1
    const what = left.length === 1 ? '1 box was' : `${left.length} boxes were`
    this.#print([
      `LEAK ${what} still running at the end of the test file, so the run fails: \`stop()\` it, or boot it with \`await using\``,
      ...left.flatMap(({ module, leak }) => [`${module.relativeModuleId}: ${leakLines(leak).join('\n')}`]),
    ])
  }

  #print(lines: readonly string[]): void {
    if (lines.length > 0) this.#vitest.logger.error(`${lines.join('\n')}\n`)
  }
}

/** The boxes that errors name: those of a failed hook, which has no artifacts. */
function told(errors: readonly Partial<BoxError>[]): Seen[] {
  return errors.flatMap((error) => {
    // Of a box that an earlier test has lost, that one tells.
    if (error.record === undefined || error.code === 'ERR_BOX_STATE') return []
    const evidence = readEvidence(error.record, error)
    return evidence ? [{ evidence }] : []
  })
}

export { BoxReporter as default }
