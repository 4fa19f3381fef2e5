import { describe, expect, test } from 'vitest'
import { useBox } from '@boxlab/harness/vitest'

describe('the kernel', () => {
  const box = useBox({ memoryMib: 512 })

  test('boots to its init, without a complaint on the console', () => {
    expect(box).toReach('kernel', { within: '30s' })
    expect(box).toHaveCleanConsole()
  })

  test('sees the memory it was given', async () => {
    const { stdout } = await box.exec(['head', '-n1', '/proc/meminfo'])
    expect(stdout.toString()).toMatch(/^MemTotal: +4\d{5} kB/)
  })
})
