import { expect, test } from 'vitest'
import { test as boxTest, useBox } from '@boxlab/harness/vitest'
import { firmware } from '../box.ts'

const shared = useBox(firmware)
boxTest.override('boxOptions', firmware)

test('has a shared box', () => {
  expect(shared.state).toBe('running')
})

boxTest('has its own', ({ box }) => {
  expect(box.state).toBe('running')
})
