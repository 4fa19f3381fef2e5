import { beforeAll, expect, test } from 'vitest'
import { type Box, bootBox } from '@boxlab/harness'
import { firmware } from '../box.ts'

let box: Box
beforeAll(async () => {
  box = await bootBox(firmware)
})

test('uses a box of a hook', () => {
  expect(box.state).toBe('running')
})
