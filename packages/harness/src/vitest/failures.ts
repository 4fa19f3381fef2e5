import type { SerializedError, TestCase, TestModule, TestSuite } from 'vitest/node'

/** One attempt at a test that failed, or a suite or module of which a hook did. */
export interface Failure {
  readonly id: string
  /** As vitest prints it: the file, and the names joined with ` > `. */
  readonly name: string
  readonly errors: readonly SerializedError[]
  /** Absent for hooks of a suite. */
  readonly retryIndex?: number
  readonly repeatIndex?: number
}

/** Everything that failed in a module. A test that a retry saved did not. */
export function failuresIn(module: TestModule): Failure[] {
  const hooks = [module, ...module.children.allSuites()].flatMap((suite) => hookFailure(module, suite))
  return [...hooks, ...[...module.children.allTests('failed')].flatMap((test) => attemptFailures(module, test))]
}

function hookFailure(module: TestModule, suite: TestModule | TestSuite): Failure[] {
  const errors = suite.errors()
  const names = suite.type === 'suite' ? [suite.fullName] : []
  return errors.length === 0 ? [] : [{ id: suite.id, name: [module.relativeModuleId, ...names].join(' > '), errors }]
}

function attemptFailures(module: TestModule, test: TestCase): Failure[] {
  const common = { id: test.id, name: `${module.relativeModuleId} > ${test.fullName}` }
  const failed = test.attempts().filter(({ errors }) => errors !== undefined && errors.length > 0)
  return failed.map(({ errors = [], retryIndex, repeatIndex }) => ({ ...common, errors, retryIndex, repeatIndex }))
}

/** The texts of an error and of its causes, as vitest prints them. */
export function textOf(error: unknown): string {
  const { message = '', cause } = (error ?? {}) as { readonly message?: string; readonly cause?: unknown }
  return cause === undefined || cause === null ? message : `${message}\n${textOf(cause)}`
}
