import { beforeAll, describe, expect, test } from 'vitest'
import { container, sweepEngine } from '../../../src/images/docker/index.ts'
import { currentOwner, formatOwner } from '../../../src/owner.ts'
import { processStat } from '../../../src/proc.ts'
import { runBoxlab } from '../../cli/run-boxlab.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { baseArchive } from './base-image.ts'
import { buildFolder } from './build-folder.ts'
import { useEngine } from './engine.ts'
import { engineUser } from './run-user.ts'

const engine = useEngine()
const base = 'boxlab-test-leftovers:1'

beforeAll(() => engine.importImage(base, baseArchive()))

describe('after a process was killed', () => {
  const moments = [
    { killAt: 'Step 3/6', killDelayMs: 0 },
    { killAt: 'Running in', killDelayMs: 100 },
    { killAt: 'fetch save', killDelayMs: 0 },
    { killAt: 'fetch save', killDelayMs: 20 },
    { killAt: 'fetch remove', killDelayMs: 0 },
    { killAt: 'fetch remove', killDelayMs: 5 },
    { killAt: 'unpack', killDelayMs: 0 },
  ]
  test.for(moments)(
    '$killDelayMs ms after "$killAt" the next use leaves nothing of its build in the engine',
    async ({ killAt, killDelayMs }) => {
      const text = `FROM ${base}\nVOLUME /volume\nRUN touch /a /volume/b\nRUN sleep 0.2\nCOPY large /\n`
      const folder = await buildFolder(text, { large: 'x'.repeat(4 << 20) })
      const cacheRoot = await temporaryFolder()
      const before = await engine.everything()
      const { signal } = await engineUser({ cacheRoot, dockerfile: folder, killAt, killDelayMs }).ended()
      expect(signal).toBe('SIGKILL')
      const image = await container(base).resolve({ cacheRoot })
      expect(image.cached).toBe(false)
      expect(await engine.everything()).toEqual(before)
    },
  )
})

test('a sweep removes what a gone owner left, and nothing of anybody else', async () => {
  const us = currentOwner()
  const owners = {
    gone: { ...us, startTicks: '1' },
    alive: { ...us, pid: process.ppid, tid: process.ppid, startTicks: processStat(process.ppid)?.startTicks ?? '' },
    'of another machine, or of before a restart': { ...us, boot: '00000000' },
    'of another pid namespace': { ...us, startTicks: '1', pidNamespace: '1' },
    ourselves: us,
  }
  const made = await Promise.all(
    Object.entries(owners).map(
      async ([whose, owner]) => [whose, await engine.leftover(base, formatOwner(owner))] as const,
    ),
  )
  made.push(['of somebody with another idea of our label', await engine.leftover(base, 'somebody')])
  try {
    expect(await sweepEngine()).toEqual({ containers: 2, images: 0 })
    const left = await engine.labelled()
    const gone = made.filter(([, id]) => !left.includes(`containers ${id}`)).map(([whose]) => whose)
    expect(gone).toEqual(['gone', 'ourselves'])
  } finally {
    await engine.removeContainers(made.map(([, id]) => id))
  }
})

test('`boxlab sweep --engine` removes them too, with --dry-run it only counts', async () => {
  const left = await engine.leftover(base, formatOwner({ ...currentOwner(), startTicks: '1' }))
  const env = { BOXLAB_HOME: await temporaryFolder() }
  const lastLine = async (...more: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runBoxlab(['sweep', '--engine', ...more], { env })
    expect([code, stderr]).toEqual([0, ''])
    return stdout.split('\n').at(-2) ?? ''
  }
  const found = 'container engine: 1 container and 0 images of killed builds, '
  try {
    expect(await lastLine('--dry-run')).toBe(`${found}would be removed`)
    expect(await engine.labelled()).toEqual([`containers ${left}`])
    expect(await lastLine()).toBe(`${found}removed`)
    expect(await engine.labelled()).toEqual([])
    expect(await lastLine()).toBe('nothing to sweep in the container engine')
    const { stdout } = await runBoxlab(['sweep', '--engine', '--json'], { env })
    expect(JSON.parse(stdout)).toMatchObject({ swept: [], engine: { containers: 0, images: 0 } })
  } finally {
    await engine.removeContainers([left])
  }
})

test('where no engine answers, the boxes are swept and the engine is one sentence', async () => {
  const env = { BOXLAB_HOME: await temporaryFolder(), DOCKER_HOST: 'unix:///nowhere.sock' }
  const { code, stdout, stderr } = await runBoxlab(['sweep', '--engine'], { env })
  expect([code, stdout]).toEqual([1, `nothing to sweep in ${env.BOXLAB_HOME}/records\n`])
  expect(stderr).toMatch(/^boxlab: [^\n]*container engine[^\n]*\n$/)
})

test("a sweep leaves another process's build in the making alone", async () => {
  const folder = await buildFolder(`FROM ${base}\nRUN echo one > /one\nRUN sleep 3\n`)
  const user = engineUser({ cacheRoot: await temporaryFolder(), dockerfile: folder, sayAt: 'RUN sleep' })
  await user.said('said')
  await expect.poll(() => engine.runningCommands(), { timeout: 10_000 }).toEqual(["/bin/sh -c 'sleep 3'"])
  const before = await engine.labelled()
  expect(await sweepEngine()).toEqual({ containers: 0, images: 0 })
  expect(await engine.labelled()).toEqual(before)
  expect(JSON.parse((await user.ended()).output.replace('said\n', ''))).toMatchObject({ image: { cached: false } })
  expect(await engine.labelled()).toEqual([])
})
