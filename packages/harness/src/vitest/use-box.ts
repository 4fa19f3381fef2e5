import { afterAll, afterEach, beforeAll, TestRunner } from 'vitest'
import { BoxError } from '@boxlab/native'
import { Box } from '../box.ts'
import type { BoxOptions } from '../options.ts'

/** Room for the harness beside the boot itself: a first kernel from the network, an initramfs, the end of a failed boot. */
const hookExtraMs = 120_000

/**
 * A box for the tests of a describe block or file. Call it there, beside the tests: the box boots before the first of
 * them, under a time limit of its own (`timeouts.bootMs`), and is stopped after the last. It is returned at once and
 * usable inside tests and hooks. After a failed test the record of the box is kept.
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
  const bootMs = options.timeouts?.bootMs ?? 60_000
  const stopMs = options.timeouts?.stopMs ?? 10_000
  let boot: Promise<unknown> | undefined
  beforeAll(async () => {
    boot = box.boot({ signal })
    await boot
  }, bootMs + hookExtraMs)
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') box.keepRecord()
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
