import { expect, test } from 'vitest'
import { test as boxTest, useBox } from '@boxlab/harness/vitest'
import { firmware } from '../box.ts'

const shared = useBox(firmware)
boxTest.override('boxOptions', firmware)

test('second: has a shared box', ({ task }) => {
  task.meta.boxes = [shared.id]
  expect(shared.state).toBe('running')
})

boxTest('second: has its own', ({ box, task }) => {
  task.meta.boxes = [box.id]
  expect(box.state).toBe('running')
})

test('second: fails', () => {
  expect(shared.state).toBe('stopped')
})
