import { expect, test } from 'vitest'
import { useBox } from '@boxlab/harness/vitest'
import { endless } from '../box.ts'

const box = useBox({ ...endless, timeouts: { bootMs: 1500 } })

test('is skipped', () => {
  expect(box.state).toBe('running')
})
