import { afterAll, beforeAll, beforeEach, TestRunner } from 'vitest'
import { BoxError } from '@boxlab/native'
import { Box } from '../box.ts'
import type { BoxOptions } from '../options.ts'
import { recordBox } from './record-artifact.ts'

/** Room for the harness beside the boot itself: a first kernel from the network, an initramfs, the end of a failed boot. */
const hookExtraMs = 120_000
/** The same where an image may have to be made first: as long as another process may take to make it. */
const imageExtraMs = 1_800_000

/**
 * A box for the tests of a describe block or file. Call it there, beside the tests: the box boots before the first of
 * them, under time limits of its own (`timeouts.turnMs`, `timeouts.bootMs`), and is stopped after the last. It is
 * returned at once and usable inside tests and hooks. After a failed test the record of the box is kept.
 *
 * Throws a `BoxError` where it is called inside a test, since vitest ignores hooks there.
 */
export function useBox(options: BoxOptions = {}): Box {
  if (TestRunner.getCurrentTest()) {
    throw new BoxError(
      'ERR_BOX_STATE',
      '`useBox` was called inside a test, where its hooks never run: call it in the describe block or at the top of the file, or use `await using box = await bootBox()` here',
    )
  }
  const box = new Box(options)
  const pending = new AbortController()
  const signal = options.signal ? AbortSignal.any([options.signal, pending.signal]) : pending.signal
  const { turnMs = 600_000, bootMs = 60_000, stopMs = 10_000 } = options.timeouts ?? {}
  let boot: Promise<unknown> | undefined
  beforeAll(
    async () => {
      boot = box.boot({ signal })
      await boot
    },
    turnMs + bootMs + (options.image ? imageExtraMs : hookExtraMs),
  )
  beforeEach(({ task, onTestFinished }) => {
    // Of a box that an earlier test has lost, that one tells.
    if (box.state !== 'running') return
    onTestFinished(async () => {
      if (task.result?.state !== 'fail') return
      box.keepRecord()
      await recordBox(task, box)
    })
  })
  // A separate hook: it runs also when beforeAll timed out, whose own clean-up vitest drops.
  afterAll(
    async () => {
      if (box.state === 'running') {
        await box.stop()
        return
      }
      pending.abort(new Error('the suite is over'))
      await boot?.catch(() => {})
      await box.stop()
    },
    stopMs * 2 + hookExtraMs,
  )
  return box
}
