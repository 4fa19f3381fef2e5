import { expect } from 'vitest'
import { test } from '@boxlab/harness/vitest'
import { firmware } from '../box.ts'

// A boot sector that halts with interrupts off hears no power button.
test.override('boxOptions', { ...firmware, timeouts: { stopMs: 300 } })

test('has a box that does not stop by itself', ({ box }) => {
  expect(box.state).toBe('running')
})
