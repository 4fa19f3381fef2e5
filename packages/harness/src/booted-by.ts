import type { Box } from './box.ts'

/** The test that asked for a box. */
export interface BootedBy {
  /** Absolute path of the test file. */
  readonly file: string
  /** The names from the outermost `describe` to the test, joined with ` > `; absent outside a test. */
  readonly test?: string
}

type Find = (box?: Box) => BootedBy | undefined

let source: Find = () => undefined

/** A test runner's integration says here how to find out which test runs. It gets a box that is about to boot. */
export function setBootedBy(find: Find): void {
  source = find
}

/** The test that runs now, where a test runner's integration knows; `box` is what it boots. */
export function bootedBy(box?: Box): BootedBy | undefined {
  return source(box)
}
