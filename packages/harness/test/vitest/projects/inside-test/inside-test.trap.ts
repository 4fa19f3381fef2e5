import { expect, test } from 'vitest'
import { useBox } from '@boxlab/harness/vitest'
import { firmware } from '../box.ts'

test('uses a hook where there are none', () => {
  expect(useBox(firmware).state).toBe('running')
})
