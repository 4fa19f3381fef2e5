import { expect, test } from 'vitest'
import { bootBox } from '@boxlab/harness'
import { firmware } from '../box.ts'

test('stops what it booted', async () => {
  await using box = await bootBox(firmware)
  expect(box.state).toBe('running')
})

test('leaves a box', async () => {
  const box = await bootBox(firmware)
  expect(box.state).toBe('running')
})
