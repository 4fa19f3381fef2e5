import { describe, expect, test } from 'vitest'
import { bootBox, Wait } from '@boxlab/harness'
import { test as boxTest, useBox } from '@boxlab/harness/vitest'
import { endless, firmware } from '../box.ts'

test('an assertion about a box that is gone by then', async () => {
  await using box = await bootBox({ ...firmware, name: 'asserted' })
  expect(box.state).toBe('stopped')
})

test('a boot fails', async () => {
  const box = await bootBox({ ...endless, timeouts: { bootMs: 1500 } })
  expect(box.state).toBe('running')
})

describe('the fixture', () => {
  boxTest.override('boxOptions', firmware)

  boxTest('has a box of its own', ({ box }) => {
    expect(box.state).toBe('stopped')
  })
})

describe('a hook that fails', () => {
  useBox({ ...endless, timeouts: { bootMs: 1500 } })

  test('is skipped', () => {
    expect.unreachable()
  })
})

describe('a shared box', () => {
  const box = useBox(firmware)

  test('is killed', async () => {
    process.kill(box.info().pid ?? 0, 'SIGKILL')
    expect(await box.waitFor(Wait.forMark('userspace'))).toBeDefined()
  })

  test('is missed', async () => {
    expect(await box.exec(['true'])).toMatchObject({ exitCode: 0 })
  })

  test('is missed again', async () => {
    expect(await box.exec(['true'])).toMatchObject({ exitCode: 0 })
  })
})

test('passes', async () => {
  await using box = await bootBox(firmware)
  expect(box.state).toBe('running')
})
