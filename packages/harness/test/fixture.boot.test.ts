import { existsSync } from 'node:fs'
import { describe, expect } from 'vitest'
import { test } from '../src/vitest/index.ts'

describe('the fixture', () => {
  const boxes: { readonly id: string; readonly pid: number; readonly record: string }[] = []
  test.override('boxOptions', { name: 'fixture', accel: 'tcg' })

  test('gives a box of its own', async ({ box }) => {
    boxes.push({ id: box.id, pid: box.info().pid ?? 0, record: box.record })
    expect(box.info().name).toBe('fixture')
    await box.files.write('/left-behind', 'by the first test')
  })

  test('to each test, and the one before is gone with its record', async ({ box }) => {
    const [first] = boxes
    expect(box.id).not.toBe(first?.id)
    expect(existsSync(`/proc/${first?.pid}`)).toBe(false)
    expect(existsSync(first?.record ?? '/')).toBe(false)
    await expect(box.files.read('/left-behind')).rejects.toMatchObject({ errno: 2 })
  })
})
