import { beforeAll, describe, expect, test } from 'vitest'
import { bootBox } from '@boxlab/harness'
import { useBox } from '@boxlab/harness/vitest'
import { endless, firmware } from '../box.ts'

describe('a boot in a hook of the suite', () => {
  beforeAll(async () => {
    await bootBox(endless)
  })

  test('is skipped', () => {
    expect.unreachable()
  })
})

describe('a hook beside `useBox`', () => {
  const box = useBox(firmware)
  beforeAll(() => new Promise(() => {}))

  test('is skipped', () => {
    expect(box.state).toBe('running')
  })
})
