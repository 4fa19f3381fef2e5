import { type TestAPI, test as base } from 'vitest'
import { Box } from '../box.ts'
import type { BoxOptions } from '../options.ts'
import { followBox } from './follow-boxes.ts'

/** What tests of `test` can ask for. */
export interface BoxFixtures {
  /** Options of the box; change them for a block with `test.override('boxOptions', { … })`. */
  readonly boxOptions: BoxOptions
  /** A fresh box for each test (and each retry), ready, and stopped after it. */
  readonly box: Box
}

/**
 * vitest's `test` with a fresh box for each test that asks for it: `test('…', async ({ box }) => …)`. The boot happens
 * inside the test's time limit, which must have room for it.
 */
export const test: TestAPI<BoxFixtures> = base.extend<BoxFixtures>({
  // oxlint-disable-next-line no-empty-pattern -- vitest reads the names of what a fixture needs from its first parameter
  boxOptions: async ({}, use) => {
    await use({})
  },
  box: async ({ boxOptions, signal, task }, use) => {
    // A test that is over its limit has its signal aborted: the boot then ends and throws, so the body never runs late.
    const both = boxOptions.signal ? AbortSignal.any([boxOptions.signal, signal]) : signal
    await using box = new Box(boxOptions)
    followBox(box, [task])
    await box.boot({ signal: both })
    await use(box)
  },
})
