import { type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, cpSync, existsSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { processStat } from '../../src/proc.ts'
import { listBoxes, sweep } from '../../src/sweep/index.ts'
import {
  beginRecord,
  bootOf,
  deadOwner,
  emptyRoot,
  here,
  livingProcess,
  makeOld,
  ownerOf,
  putRecord,
} from './records.ts'

const id = 'b0123456789'
const seesAll = here().pidNamespace === 0xeffffffc

function stateOf(root: string): string | undefined {
  return listBoxes(root, { all: true })[0]?.state
}

/** Sweeps with everything on, and tells whether a record is byte for byte what it was. */
async function survives(root: string, record: string): Promise<boolean> {
  const content = (): string =>
    JSON.stringify(
      readdirSync(record).map((name) => [name, name.endsWith('json') && readFileSync(join(record, name), 'utf8')]),
    )
  const before = content()
  expect((await sweep(root, { remove: true })).swept).toEqual([])
  return existsSync(record) && content() === before
}

async function printed(child: ChildProcess): Promise<void> {
  await once(child.stdout as NodeJS.ReadableStream, 'data')
}

describe('a box whose owner is dead', () => {
  test('is orphaned, and its record then tells how it ended and loses nothing', async () => {
    const root = emptyRoot()
    const owner = await deadOwner()
    const record = putRecord(root, id, { name: 'demo', owner, plan: { memoryMib: 512 } })
    const before = bootOf(record)
    writeFileSync(join(record, 'boot.json.new'), '{"version": 1, "boxI')
    const [box] = listBoxes(root)
    expect(box).toMatchObject({ id, name: 'demo', state: 'orphaned', ownerPid: owner.pid, record })
    expect(box?.reason).toBe(`its owner, process ${owner.pid}, is gone`)
    expect(box?.ageMs).toBeGreaterThanOrEqual(300_000)
    const { swept, unknown } = await sweep(root)
    expect(swept).toMatchObject([{ id, action: 'ended', killedPids: [] }])
    expect(unknown).toEqual([])
    expect(bootOf(record)).toEqual({
      ...before,
      outcome: 'killed',
      error: {
        code: 'ERR_BOX_OWNER_DIED',
        message: `process ${owner.pid}, which owned the box, ended without stopping it`,
      },
    })
    expect(readdirSync(record).toSorted()).toEqual(['boot.json', 'guest', 'marks.jsonl'])
    expect(listBoxes(root)).toEqual([])
    expect(listBoxes(root, { all: true })).toMatchObject([{ id, state: 'ended', outcome: 'killed' }])
    expect((await sweep(root)).swept).toEqual([])
  })

  test('is told from a live process that got the same pid', async () => {
    const root = emptyRoot()
    const owner = ownerOf(process.pid)
    putRecord(root, id, { owner: { ...owner, startTicks: owner.startTicks - 1 } })
    expect(stateOf(root)).toBe('orphaned')
  })

  test('is orphaned also while its owner is a zombie', async () => {
    const root = emptyRoot()
    const child = livingProcess()
    await printed(child)
    const owner = ownerOf(child.pid as number)
    const record = putRecord(root, id, { owner })
    expect(await survives(root, record)).toBe(true)
    // Not reaped before this turn of the event loop ends.
    process.kill(owner.pid, 'SIGKILL')
    while (processStat(owner.pid)?.state !== 'Z') continue
    expect(stateOf(root)).toBe('orphaned')
  })

  test('is orphaned after the host has booted anew, whatever lives under its pid', () => {
    const root = emptyRoot()
    putRecord(root, id, { owner: { ...ownerOf(process.pid), bootId: '00000000-0000-4000-8000-000000000000' } })
    expect(listBoxes(root)).toMatchObject([{ state: 'orphaned', reason: 'its owner lived before this host booted' }])
  })

  test('gives a record that the schema allows', async () => {
    const root = emptyRoot()
    const { pid, startTicks } = await deadOwner()
    // Without what tells its pid namespace, as a first version wrote it.
    const record = putRecord(root, id, { owner: { pid, startTicks } })
    const { swept, unknown } = await sweep(root)
    expect([swept.length, unknown.length]).toEqual(seesAll ? [1, 0] : [0, 1])
    const schema = new URL('../../../probes/schema/record-v1.schema.json', import.meta.url)
    const validate = new Ajv2020({ strict: false }).compile(JSON.parse(readFileSync(schema, 'utf8')) as object)
    validate(bootOf(record))
    expect(validate.errors).toBeNull()
  })

  test('is only told of by a dry run', async () => {
    const root = emptyRoot()
    const record = putRecord(root, id, { owner: await deadOwner() })
    const before = bootOf(record)
    expect(await sweep(root, { dryRun: true, remove: true })).toMatchObject({
      dryRun: true,
      swept: [{ id, action: 'removed' }],
    })
    expect(bootOf(record)).toEqual(before)
  })

  test('is removed on request, at once or after an earlier sweep, but not a copy or another failure', async () => {
    const root = emptyRoot()
    const record = putRecord(root, id, { owner: await deadOwner() })
    const failed = putRecord(root, 'b1111111111', {
      outcome: 'failed',
      error: { code: 'ERR_BOX_PANIC', message: 'oops' },
    })
    const copy = join(root, 'records', 'for-the-report')
    cpSync(record, copy, { recursive: true })
    await sweep(root)
    const later = putRecord(root, 'b2222222222', { owner: await deadOwner() })
    const { swept } = await sweep(root, { remove: true })
    expect(new Map(swept.map((box) => [box.id, box.action]))).toEqual(
      new Map([
        [id, 'removed'],
        ['b2222222222', 'removed'],
      ]),
    )
    expect([record, later, copy, failed].map(existsSync)).toEqual([false, false, true, true])
  })

  test('is swept once by many sweeps at once', async () => {
    const root = emptyRoot()
    const owner = await deadOwner()
    const records = Array.from({ length: 20 }, (_, index) => putRecord(root, `b${1000000000 + index}`, { owner }))
    const reports = await Promise.all([1, 2, 3, 4].map((nth) => sweep(root, { remove: nth === 4 })))
    expect(reports.flatMap(({ swept }) => swept).filter(({ problem }) => problem !== undefined)).toEqual([])
    expect(records.filter(existsSync)).toEqual([])
    expect(readdirSync(join(root, 'records'))).toEqual([])
  })
})

describe('a box that is never touched', () => {
  test('has an owner that lives', async () => {
    const root = emptyRoot()
    const record = putRecord(root, id, { owner: ownerOf(process.pid) })
    expect(listBoxes(root)).toMatchObject([{ state: 'running', ownerPid: process.pid }])
    expect(listBoxes(root)[0]).not.toHaveProperty('enginePid')
    expect(await survives(root, record)).toBe(true)
  })

  test('has an owner in a container, as long as that records it', async () => {
    const root = emptyRoot()
    const record = putRecord(root, id, { owner: { ...(await deadOwner()), pidNamespace: 1 } })
    const marks = openSync(join(record, 'marks.jsonl'), 'a')
    expect(listBoxes(root)).toMatchObject([{ state: 'running', ownerPid: process.pid }])
    expect(await survives(root, record)).toBe(true)
    closeSync(marks)
    // Who only reads it is not its owner.
    const reader = openSync(join(record, 'marks.jsonl'), 'r')
    onTestFinished(() => closeSync(reader))
    expect(stateOf(root)).toBe(seesAll ? 'orphaned' : 'unknown')
  })

  test('has a boot.json that cannot be judged', async () => {
    const root = emptyRoot()
    const record = putRecord(root, id)
    for (const [content, reason] of [
      ['{"version": 1, "outc', 'its boot.json is not JSON'],
      ['[]', 'its boot.json tells no outcome'],
      ['{"version": 2, "outcome": "running"}', 'its boot.json has version 2, not 1'],
    ] as const) {
      writeFileSync(join(record, 'boot.json'), content)
      expect(listBoxes(root)).toMatchObject([{ id, state: 'unknown', reason }])
      expect(await survives(root, record)).toBe(true)
    }
    expect((await sweep(root)).unknown).toMatchObject([{ id, record }])
  })

  test('is being begun: it has no boot.json yet and is young, or is written', async () => {
    const root = emptyRoot()
    const record = beginRecord(root, id)
    expect(listBoxes(root)).toEqual([{ id, state: 'starting', record }])
    expect(await survives(root, record)).toBe(true)
    makeOld(record)
    const marks = openSync(join(record, 'marks.jsonl'), 'a')
    expect(listBoxes(root)).toEqual([{ id, state: 'starting', ownerPid: process.pid, record }])
    expect(await survives(root, record)).toBe(true)
    closeSync(marks)
    expect(await sweep(root)).toMatchObject({ swept: [{ id, action: 'removed' }] })
    expect(existsSync(record)).toBe(false)
  })

  test('is no box at all', async () => {
    const root = emptyRoot()
    const record = beginRecord(root, 'notes')
    makeOld(record)
    writeFileSync(join(root, 'records', 'b2222222222'), 'a file')
    expect(listBoxes(root, { all: true })).toEqual([])
    expect(await survives(root, record)).toBe(true)
  })
})

test('a record without boot.json in which an engine said something is kept as evidence', async () => {
  const root = emptyRoot()
  const record = beginRecord(root, id)
  writeFileSync(join(record, 'engine.log'), 'qemu: no such thing\n')
  makeOld(record)
  const { swept } = await sweep(root)
  expect(swept).toMatchObject([{ id, action: 'ended', problem: expect.stringContaining('--remove') as string }])
  expect(existsSync(record)).toBe(true)
  expect((await sweep(root, { remove: true })).swept).toMatchObject([{ id, action: 'removed' }])
})

describe('an engine that outlived its owner', () => {
  const name = ['-name', `boxlab-${id}`]

  test('is killed when its whole command line is the recorded one', async () => {
    const root = emptyRoot()
    const engine = livingProcess(...name, '-nodefaults')
    await printed(engine)
    const record = putRecord(root, id, {
      owner: await deadOwner(),
      engine: { binary: '/bin/sh', argv: engine.spawnargs.slice(1) },
    })
    expect((await sweep(root, { dryRun: true })).swept).toMatchObject([{ enginePid: engine.pid, killedPids: [] }])
    expect(engine.signalCode).toBeNull()
    const ended = once(engine, 'exit')
    expect((await sweep(root)).swept).toMatchObject([{ action: 'ended', killedPids: [engine.pid] }])
    expect(await ended).toEqual([null, 'SIGKILL'])
    expect(bootOf(record)).toMatchObject({ outcome: 'killed' })
  })

  test('is not mistaken for a process that only names the box, such as `find -name`', async () => {
    const root = emptyRoot()
    const other = livingProcess(...name)
    await printed(other)
    const argv = [...other.spawnargs.slice(1), '-nodefaults']
    putRecord(root, id, { owner: await deadOwner(), engine: { binary: '/bin/sh', argv } })
    expect((await sweep(root)).swept).toMatchObject([{ action: 'ended', killedPids: [] }])
    expect(processStat(other.pid as number)?.state).toBe('S')
  })

  test('is the one of a live box only below its owner', async () => {
    const root = emptyRoot()
    const engine = livingProcess(...name)
    await printed(engine)
    const parts = { engine: { binary: '/bin/sh', argv: engine.spawnargs.slice(1) } }
    putRecord(root, id, { owner: ownerOf(process.pid), ...parts })
    expect(listBoxes(root)).toMatchObject([{ state: 'running', enginePid: engine.pid }])
    const stranger = livingProcess()
    putRecord(root, id, { owner: ownerOf(stranger.pid as number), ...parts })
    expect(listBoxes(root)[0]).not.toHaveProperty('enginePid')
  })
})

test('a state root that is not there has no boxes, and one that cannot be read is an error', async () => {
  const root = emptyRoot()
  expect(listBoxes(join(root, 'nowhere'))).toEqual([])
  expect(await sweep(root)).toEqual({ dryRun: false, swept: [], unknown: [] })
  writeFileSync(join(root, 'records'), '')
  expect(() => listBoxes(root)).toThrow(/^the records in .* cannot be read \(ENOTDIR\)/)
})
