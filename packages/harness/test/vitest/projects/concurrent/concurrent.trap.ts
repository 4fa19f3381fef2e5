import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { bootBox } from '@boxlab/harness'
import { test as boxTest } from '@boxlab/harness/vitest'
import { firmware } from '../box.ts'

describe.concurrent('the fixture', () => {
  boxTest.override('boxOptions', firmware)

  boxTest('passes', ({ box, task }) => {
    task.meta.boxes = [box.id]
    expect(box.state).toBe('running')
  })

  boxTest('fails', ({ box, task }) => {
    task.meta.boxes = [box.id]
    expect(box.state).toBe('stopped')
  })
})

describe.concurrent('without it', () => {
  test('leaves a box', async () => {
    const box = await bootBox(firmware)
    expect(box.state).toBe('running')
  })

  test('has nothing to do with it', async () => {
    await setTimeout(1000)
    expect(true).toBe(true)
  })
})
