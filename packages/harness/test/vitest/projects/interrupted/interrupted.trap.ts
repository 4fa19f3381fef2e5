import { setTimeout } from 'node:timers/promises'
import { expect } from 'vitest'
import { bootBox } from '@boxlab/harness'
import { test, useBox } from '@boxlab/harness/vitest'
import { endless, firmware } from '../box.ts'

useBox(firmware)
test.override('boxOptions', firmware)

test('runs when Ctrl-C comes', { timeout: 60_000 }, async ({ box }) => {
  const boot = bootBox(endless)
  await setTimeout(300)
  console.log('three boxes are there')
  await boot
  expect(box.state).toBe('running')
})
