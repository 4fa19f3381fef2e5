import { expect, test } from 'vitest'
import { bootBox, Wait } from '@boxlab/harness'

const path = process.env['TRAP_DISK'] ?? ''

test('forgets its box', async () => {
  const box = await bootBox({ boot: 'firmware', disks: [{ path }], waitFor: Wait.forConsole('done') })
  expect(box.state).toBe('running')
})
