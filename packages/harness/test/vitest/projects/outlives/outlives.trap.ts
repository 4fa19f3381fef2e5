import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { describe, expect } from 'vitest'
import { test } from '@boxlab/harness/vitest'
import { endless } from '../box.ts'

describe('a boot that takes longer than the test may', () => {
  test.override('boxOptions', endless)

  test('never gets its body run', { timeout: 600 }, ({ box }) => {
    writeFileSync(join(process.env['TRAP_OUT'] ?? '', 'late-body'), box.id)
  })

  test('while others run', async () => {
    await setTimeout(700)
    expect(true).toBe(true)
  })
})
