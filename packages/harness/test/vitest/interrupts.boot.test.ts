import { utimesSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startVitest } from './run-vitest.ts'

const left = { timeout: 1000, interval: 20 }

describe.for(['forks', 'threads'])('in the pool of %s', (pool) => {
  test('SIGINT to vitest without a terminal leaves no engine', async () => {
    const running = startVitest('interrupted', { args: ['run', `--pool=${pool}`] })
    await running.printed('three boxes are there')
    expect(running.engines()).toHaveLength(3)
    running.child.kill('SIGINT')
    const { code } = await running.ended
    expect(code).not.toBe(0)
    await expect.poll(() => running.engines(), left).toEqual([])
  })

  test.for(['run', 'watch'])('Ctrl-C on a terminal leaves no engine, with `vitest %s`', async (command) => {
    const running = startVitest('interrupted', { args: [command, `--pool=${pool}`], onTerminal: true })
    await running.printed('three boxes are there')
    expect(running.engines()).toHaveLength(3)
    running.child.stdin?.write('\u0003')
    const { output } = await running.ended
    expect(output).not.toContain('LEAK')
    await expect.poll(() => running.engines(), left).toEqual([])
  })
})

test('a run that watches runs again after an edit, and nothing of the first one is left', async () => {
  const running = startVitest('watched', { args: ['watch'] })
  await running.printed('Waiting for file changes')
  expect(running.engines()).toEqual([])
  const now = new Date()
  utimesSync(join(import.meta.dirname, 'projects/watched/watched.trap.ts'), now, now)
  await running.printed('Waiting for file changes', 2)
  expect(running.engines()).toEqual([])
  expect(running.boxes()).toEqual([])
  running.child.kill('SIGINT')
  const { output } = await running.ended
  expect(output.match(/Tests {2}2 passed/g)).toHaveLength(2)
  expect(output).not.toContain('LEAK')
})
