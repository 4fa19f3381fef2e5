/** The test that asked for a box. */
export interface BootedBy {
  /** Absolute path of the test file. */
  readonly file: string
  /** The names from the outermost `describe` to the test, joined with ` > `; absent outside a test. */
  readonly test?: string
}

let source: () => BootedBy | undefined = () => undefined

/** A test runner's integration says here how to find out which test runs. */
export function setBootedBy(find: () => BootedBy | undefined): void {
  source = find
}

/** The test that runs now, where a test runner's integration knows. */
export function bootedBy(): BootedBy | undefined {
  return source()
}
