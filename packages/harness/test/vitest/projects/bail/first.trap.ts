import { expect, test } from 'vitest'
import { test as boxTest, useBox } from '@boxlab/harness/vitest'
import { firmware } from '../box.ts'

const shared = useBox(firmware)
boxTest.override('boxOptions', firmware)

boxTest('fails', ({ box }) => {
  expect(box.state).toBe('stopped')
})

test('is not run any more', () => {
  expect(shared.state).toBe('running')
})
