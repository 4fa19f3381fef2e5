import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, type RunnerTask, type RunnerTestCase, TestRunner } from 'vitest'
import { setBootedBy } from '../booted-by.ts'
import type { Box } from '../box.ts'
import { recordBox } from './record-artifact.ts'

const followed = new WeakSet<Box>()
const ownTest = new AsyncLocalStorage<RunnerTestCase>()

// From here on every box of this worker knows its test, and the test its boxes.
setBootedBy((box?: Box) => {
  const file = expect.getState().testPath
  if (file === undefined) return undefined
  const tests = runningTests()
  if (box) followBox(box, tests)
  return { file, ...(tests.length > 0 && { test: tests.map((test) => test.fullTestName).join(' or ') }) }
})

/**
 * Keeps the record of a box until the end of its test, and where the test fails, for good: reporters hear of it then.
 * With several tests it is one of them, and it cannot be told which. Once for a box; later calls change nothing.
 */
export function followBox(box: Box, tests: readonly RunnerTestCase[]): void {
  // The body of a test that is over its limit goes on and may boot a box yet: nothing of the test comes after that.
  const running = tests.filter(({ result }) => result?.duration === undefined)
  if (followed.has(box) || running.length === 0) return
  followed.add(box)
  box.holdRecord()
  let open = running.length
  for (const test of running) {
    test.context.onTestFinished(async () => {
      open -= 1
      try {
        if (test.result?.state === 'fail') {
          box.keepRecord()
          await recordBox(test, box, running.length > 1)
        }
      } finally {
        if (open === 0) await box.releaseRecord()
      }
    })
  }
}

/** Runs what belongs to a test so that its boxes are known as its own, whatever runs at the same time. */
export async function runAs(test: RunnerTestCase, work: () => Promise<void>): Promise<void> {
  await ownTest.run(test, work)
}

/**
 * The test that runs. Without `runAs`, where tests are concurrent, all that run: vitest tells only the one that began
 * last. None in a hook of a suite.
 */
function runningTests(): readonly RunnerTestCase[] {
  const own = ownTest.getStore()
  if (own) return [own]
  const current = TestRunner.getCurrentTest()
  if (!current) return []
  const others = testsOf(current.file.tasks).filter((test) => test !== current && test.result?.state === 'run')
  return [current, ...others]
}

function testsOf(tasks: readonly RunnerTask[]): RunnerTestCase[] {
  return tasks.flatMap((task) => (task.type === 'suite' ? testsOf(task.tasks) : [task]))
}
