import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { processStat } from '../../src/proc.ts'
import { listBoxes, sweep } from '../../src/sweep/index.ts'
import { engineCandidates } from '../../src/sweep/processes.ts'
import { boxlabCommand, runBoxlab } from '../cli/run-boxlab.ts'
import { bootDisk } from '../fixtures/boot-sector.ts'
import { bootOf, emptyRoot, here, makeOld } from './records.ts'

const scratch = mkdtempSync(join(tmpdir(), 'boxlab-owners-'))
afterAll(() => rmSync(scratch, { recursive: true }))
const disk = join(scratch, 'boot.img')
writeFileSync(disk, bootDisk('hello from the boot sector\r\n', 10))
const fixture = fileURLToPath(new URL('../fixtures/owner.ts', import.meta.url))

interface Owner {
  readonly child: ChildProcess
  readonly enginePid: number
}

/** Starts a process that boots a box, and resolves when the box is ready. `before` goes before its command line. */
async function startOwner(
  root: string,
  way = 'idle',
  before: readonly string[] = [],
  onStart?: (child: ChildProcess) => void,
): Promise<Owner> {
  const [file, ...args] = [...before, process.execPath, '-C', '@boxlab/source', fixture, disk, way]
  const child = spawn(file, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, BOXLAB_HOME: root },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  onStart?.(child)
  const enginePid = await new Promise<number>((resolve, reject) => {
    child.stdout.once('data', (line: Buffer) => resolve(Number(line.toString())))
    child.once('exit', (code, signal) =>
      reject(new Error(`the owner ended before its box was ready: ${signal ?? code}`)),
    )
  })
  return { child, enginePid }
}

async function kill({ child, enginePid }: Owner, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
  await expect.poll(() => isAlive(enginePid), { timeout: 1500, interval: 10 }).toBe(false)
}

function isAlive(pid: number): boolean {
  const state = processStat(pid)?.state
  return state !== undefined && state !== 'Z'
}

test('the box of a killed owner is swept, the box of another run lives on', async () => {
  const root = emptyRoot()
  const [dies, lives] = await Promise.all([startOwner(root), startOwner(root, 'blocked')])
  const boxes = listBoxes(root)
  const facts = boxes.map(({ state, ownerPid, enginePid }) => [state, ownerPid, enginePid])
  expect(facts).toHaveLength(2)
  expect(facts).toContainEqual(['running', dies.child.pid, dies.enginePid])
  expect(facts).toContainEqual(['running', lives.child.pid, lives.enginePid])
  expect((await sweep(root, { remove: true })).swept).toEqual([])

  await kill(dies)
  const left = boxes.find(({ ownerPid }) => ownerPid === dies.child.pid)
  expect(listBoxes(root).find(({ id }) => id === left?.id)).toMatchObject({
    state: 'orphaned',
    ownerPid: dies.child.pid,
  })
  expect((await sweep(root)).swept).toMatchObject([{ id: left?.id, action: 'ended', killedPids: [] }])
  expect(bootOf(left?.record ?? '')).toMatchObject({ outcome: 'killed', error: { code: 'ERR_BOX_OWNER_DIED' } })
  const { code, stdout } = await runBoxlab(['show', left?.record ?? ''], { env: { BOXLAB_HOME: root } })
  expect(code).toBe(0)
  expect(stdout).not.toContain('still running')

  expect(isAlive(lives.enginePid)).toBe(true)
  expect(listBoxes(root)).toMatchObject([{ state: 'running', ownerPid: lives.child.pid, enginePid: lives.enginePid }])
  await kill(lives)
  expect(await sweep(root, { remove: true })).toMatchObject({ swept: [{ action: 'removed' }, { action: 'removed' }] })
  expect(listBoxes(root, { all: true })).toEqual([])
})

test.for(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)(
  'an owner ended by %s while blocked leaves nothing that is not swept',
  async (signal) => {
    const root = emptyRoot()
    await kill(await startOwner(root, 'blocked'), signal)
    expect(await sweep(root)).toMatchObject({ swept: [{ action: 'ended' }], unknown: [] })
    expect(listBoxes(root)).toEqual([])
  },
)

test('a sweep in the middle of many starts touches none of them', async () => {
  const root = emptyRoot()
  const started = new AbortController()
  const sweeps = (async () => {
    let swept = 0
    while (!started.signal.aborted) {
      swept += (await sweep(root, { remove: true })).swept.length
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    return swept
  })()
  const owners = await Promise.all([startOwner(root), startOwner(root), startOwner(root)])
  started.abort()
  expect(await sweeps).toBe(0)
  const engines = listBoxes(root).map(({ enginePid }) => enginePid)
  expect(new Set(engines)).toEqual(new Set(owners.map(({ enginePid }) => enginePid)))
  for (const owner of owners) await kill(owner)
})

const container = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--kill-child', '--mount-proc']

test('a box in a pid namespace of its own is not touched, and from within no box outside is', async ({ skip }) => {
  const [program = '', ...args] = container
  if (spawnSync(program, [...args, 'true']).status !== 0) skip('this host gives no pid namespace to its users')
  const root = emptyRoot()
  const outer = await startOwner(root)
  const [file = '', ...rest] = [...container, ...boxlabCommand(['sweep', '--remove', '--json'])]
  const inside = spawnSync(file, rest, { env: { ...process.env, BOXLAB_HOME: root }, encoding: 'utf8' })
  expect(JSON.parse(inside.stdout)).toMatchObject({ swept: [], unknown: [{ ownerPid: outer.child.pid }] })
  expect(listBoxes(root)).toMatchObject([{ state: 'running', enginePid: outer.enginePid }])
  await kill(outer)

  const other = emptyRoot()
  const inner = await startOwner(other, 'idle', container)
  expect((await sweep(other, { remove: true })).swept).toEqual([])
  const [lives, died] = here().pidNamespace === 0xeffffffc ? ['running', 'orphaned'] : ['unknown', 'unknown']
  expect(listBoxes(other)).toMatchObject([{ state: lives }])
  inner.child.kill('SIGKILL')
  await expect.poll(() => listBoxes(other)[0]?.state, { timeout: 2000 }).toBe(died)
})

test('owners killed at any point of a start leave only what is swept', async () => {
  const root = emptyRoot()
  const records = join(root, 'records')
  for (const delayMs of [0, 2, 5, 10, 20, 40, 80, 160]) {
    const known = existsSync(records) ? readdirSync(records).length : 0
    let child: ChildProcess | undefined
    const ready = startOwner(root, 'idle', [], (started) => (child = started)).catch(() => {})
    await expect
      .poll(() => existsSync(records) && readdirSync(records).length, { interval: 1, timeout: 10_000 })
      .toBe(known + 1)
    await new Promise((resolve) => setTimeout(resolve, delayMs))
    child?.kill('SIGKILL')
    await ready
  }
  await expect.poll(() => listBoxes(root).every(({ state }) => state === 'orphaned' || state === 'starting')).toBe(true)
  // What was not begun in earnest is left alone for a minute.
  for (const { record, state } of listBoxes(root)) if (state === 'starting') makeOld(record)
  const { swept } = await sweep(root)
  // One that had no engine and no boot.json yet leaves no evidence to keep.
  const removed = swept.filter(({ action }) => action === 'removed').length
  expect(swept.map(({ problem }) => problem).filter(Boolean)).toEqual([])
  // Those that came to their first boot's end swept for themselves.
  const ended = listBoxes(root, { all: true })
  expect(ended.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 8 - removed }, () => 'killed'))
  expect(listBoxes(root)).toEqual([])
  expect(engineCandidates().filter(({ boxId }) => swept.some(({ id }) => id === boxId))).toEqual([])
})
