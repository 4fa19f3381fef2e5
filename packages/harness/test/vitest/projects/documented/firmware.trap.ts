import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bootBox, Wait } from '@boxlab/harness'

const path = process.env['TRAP_DISK'] ?? ''

test('the boot sector says goodbye', async () => {
  await using box = await bootBox({ boot: 'firmware', disks: [{ path }], waitFor: Wait.forConsole('done') })
  expect(readFileSync(join(box.record, 'console.bin'), 'utf8')).toContain('goodbye')
})
