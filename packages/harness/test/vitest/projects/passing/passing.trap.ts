import { describe, expect, test as plainTest } from 'vitest'
import { bootBox } from '@boxlab/harness'
import { test, useBox } from '@boxlab/harness/vitest'
import { firmware } from '../box.ts'

describe('passing', () => {
  const shared = useBox(firmware)
  test.override('boxOptions', firmware)

  test('boxes of all kinds', async ({ box }) => {
    await using third = await bootBox(firmware)
    expect(new Set([box.id, shared.id, third.id])).toHaveLength(3)
  })
})

// Its box is stopped with the worker, after the end of the file.
// oxlint-disable-next-line no-empty-pattern -- vitest reads what a fixture needs from its first parameter
const workerTest = plainTest.extend('workerBox', { scope: 'worker' }, async ({}, { onCleanup }) => {
  const box = await bootBox(firmware)
  onCleanup(async () => {
    await box.stop()
  })
  return box
})

workerTest('a box of the worker', ({ workerBox }) => {
  expect(workerBox.state).toBe('running')
})
