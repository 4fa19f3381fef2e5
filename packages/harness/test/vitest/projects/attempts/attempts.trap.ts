import { describe, expect, test } from 'vitest'
import { test as boxTest, useBox } from '@boxlab/harness/vitest'
import { firmware } from '../box.ts'

describe('the fixture', () => {
  boxTest.override('boxOptions', firmware)

  boxTest('with retries', { retry: 2 }, ({ box, task }) => {
    const boxes = (task.meta.boxes ??= [])
    expect(boxes.push(box.id)).toBe(3)
  })

  boxTest('with repeats', { repeats: 1 }, ({ box, task }) => {
    const boxes = (task.meta.boxes ??= [])
    expect(boxes.push(box.id)).toBeLessThan(3)
  })

  boxTest('that fails at each attempt', { retry: 1 }, ({ box, task }) => {
    const boxes = (task.meta.boxes ??= [])
    expect(boxes.push(box.id)).toBe(0)
  })
})

describe('a shared box', () => {
  const box = useBox(firmware)

  test('with retries', { retry: 2 }, ({ task }) => {
    const boxes = (task.meta.boxes ??= [])
    expect(boxes.push(box.id)).toBe(3)
  })

  test('with repeats', { repeats: 1 }, ({ task }) => {
    const boxes = (task.meta.boxes ??= [])
    expect(boxes.push(box.id)).toBeLessThan(3)
  })
})
