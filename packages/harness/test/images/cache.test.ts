import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { lutimes, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Worker } from 'node:worker_threads'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  type CacheEntry,
  cachedEntry,
  cacheKey,
  canonicalJson,
  ImageError,
  kindFolder,
} from '../../src/images/index.ts'
import { currentOwner, formatOwner } from '../../src/owner.ts'
import { temporaryFolder } from './temporary-folder.ts'

const MAKER = join(import.meta.dirname, 'maker-process.ts')
const INPUTS = { from: 'maker-process' }

type Maker = ChildProcessByStdio<null, Readable, null>

function startMaker(root: string, end: 'finish' | 'hang', makeMs = 0): Maker {
  const maker = spawn(process.execPath, [MAKER, root, end, String(makeMs)], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void maker.kill('SIGKILL'))
  return maker
}

async function entryOf(maker: Maker): Promise<CacheEntry> {
  const output = await text(maker.stdout)
  return JSON.parse(output.trim().split('\n').at(-1) ?? '') as CacheEntry
}

function putFile(content: string): (dir: string) => Promise<void> {
  return (dir) => writeFile(join(dir, 'file'), content)
}

const unused = (): Promise<void> => Promise.reject(new Error('made although it was there'))

describe('a cache key', () => {
  test('does not depend on the order of names, and does on everything else', () => {
    const key = cacheKey('kernel', { name: 'linux', parts: ['a', 'b'], form: 1 })
    expect(key).toMatch(/^[0-9a-f]{64}$/)
    expect(cacheKey('kernel', { form: 1, parts: ['a', 'b'], name: 'linux' })).toBe(key)
    expect(cacheKey('kernel', { form: 1, parts: ['b', 'a'], name: 'linux' })).not.toBe(key)
    expect(cacheKey('initramfs', { form: 1, parts: ['a', 'b'], name: 'linux' })).not.toBe(key)
  })

  test('is made of sorted JSON, and refuses numbers that JSON cannot hold', () => {
    expect(canonicalJson({ b: [1, { d: null, c: true }], a: undefined, 'a b': 'x' })).toBe(
      '{"a b":"x","b":[1,{"c":true,"d":null}]}',
    )
    expect(() => canonicalJson({ size: Number.NaN })).toThrow('NaN cannot be part of a cache key')
  })
})

describe('a cache entry', () => {
  test('is made once and found from then on, with its inputs written down', async () => {
    const root = await temporaryFolder()
    const first = await cachedEntry(root, 'thing', { a: 1 }, putFile('one'))
    const second = await cachedEntry(root, 'thing', { a: 1 }, unused)
    expect(first.made).toBe(true)
    expect(second).toEqual({ ...first, made: false })
    expect(first.dir).toBe(join(root, 'images/thing', first.key))
    expect((await readdir(first.dir)).toSorted()).toEqual(['entry.json', 'file'])
    expect(JSON.parse(await readFile(join(first.dir, 'entry.json'), 'utf8'))).toEqual({
      version: 1,
      kind: 'thing',
      inputs: { a: 1 },
    })
  })

  test('that fails to be made leaves nothing, and the next try makes it', async () => {
    const root = await temporaryFolder()
    const failing = cachedEntry(root, 'thing', { a: 1 }, async (dir) => {
      await putFile('half')(dir)
      throw new Error('the disk is full')
    })
    await expect(failing).rejects.toThrow('the disk is full')
    expect(await readdir(kindFolder(root, 'thing'))).toEqual([])
    expect((await cachedEntry(root, 'thing', { a: 1 }, putFile('whole'))).made).toBe(true)
  })

  test('is made once when one process asks many times at the same time', async () => {
    const root = await temporaryFolder()
    let makes = 0
    const make = async (dir: string): Promise<void> => {
      makes += 1
      await putFile('one')(dir)
    }
    const entries = await Promise.all(Array.from({ length: 8 }, () => cachedEntry(root, 'thing', { a: 1 }, make)))
    expect(makes).toBe(1)
    expect(entries.filter(({ made }) => made)).toHaveLength(1)
  })

  test('in a folder that cannot be made says where and what to set', async () => {
    const root = await temporaryFolder()
    await writeFile(join(root, 'images'), 'a file in the way')
    const error = await cachedEntry(root, 'thing', {}, unused).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(ImageError)
    expect(error).toMatchObject({ code: 'ERR_IMAGE_CACHE', message: expect.stringContaining('set BOXLAB_HOME') })
  })
})

describe('between processes', { timeout: 30_000 }, () => {
  test('an entry is made once by makers that race', async () => {
    const root = await temporaryFolder()
    const makers = [startMaker(root, 'finish', 300), startMaker(root, 'finish', 300), startMaker(root, 'finish', 300)]
    const entries = await Promise.all(makers.map(entryOf))
    expect(entries.filter(({ made }) => made)).toHaveLength(1)
    expect((await readFile(join(root, 'made'), 'utf8')).trim().split('\n')).toHaveLength(1)
    expect(await readFile(join(entries[0]!.dir, 'whole'), 'utf8')).toBe('both halves')
    expect(await readdir(kindFolder(root, 'thing'))).toEqual([entries[0]!.key])
  })

  test('a maker that is killed in the middle leaves no entry, and the next one cleans up and makes it', async () => {
    const root = await temporaryFolder()
    const maker = startMaker(root, 'hang')
    await once(maker.stdout, 'data')
    maker.kill('SIGKILL')
    await once(maker, 'exit')
    const key = cacheKey('thing', INPUTS)
    const left = await readdir(kindFolder(root, 'thing'))
    expect(left).toHaveLength(2)
    expect(left).not.toContain(key)
    const entry = await cachedEntry(root, 'thing', INPUTS, putFile('again'))
    expect(entry.made).toBe(true)
    expect(await readdir(kindFolder(root, 'thing'))).toEqual([key])
  })

  test('what was left for one key is removed by the maker of another', async () => {
    const root = await temporaryFolder()
    const maker = startMaker(root, 'hang')
    await once(maker.stdout, 'data')
    maker.kill('SIGKILL')
    await once(maker, 'exit')
    const entry = await cachedEntry(root, 'thing', { another: 'key' }, putFile('other'))
    expect(await readdir(kindFolder(root, 'thing'))).toEqual([entry.key])
  })

  test('of many that find a dead lock one makes the entry', async () => {
    const root = await temporaryFolder()
    const dead = startMaker(root, 'hang')
    await once(dead.stdout, 'data')
    dead.kill('SIGKILL')
    await once(dead, 'exit')
    const entries = await Promise.all(Array.from({ length: 4 }, () => entryOf(startMaker(root, 'finish', 100))))
    expect(entries.filter(({ made }) => made)).toHaveLength(1)
    expect((await readFile(join(root, 'made'), 'utf8')).trim().split('\n')).toHaveLength(2)
  })

  test('the wait for a live maker ends at the limit and names it, and its folder stays', async () => {
    const root = await temporaryFolder()
    const maker = startMaker(root, 'hang')
    await once(maker.stdout, 'data')
    const waiting = cachedEntry(root, 'thing', INPUTS, unused, { timeoutMs: 200 })
    await expect(waiting).rejects.toMatchObject({
      code: 'ERR_IMAGE_LOCK_TIMEOUT',
      message: expect.stringContaining(`still held by process ${maker.pid} after 200 ms`),
    })
    await cachedEntry(root, 'thing', { another: 'key' }, putFile('other'))
    expect((await readdir(kindFolder(root, 'thing'))).filter((name) => name.includes('.making-'))).toHaveLength(1)
  })

  test('the wait for a live maker ends at once when the caller aborts', async () => {
    const root = await temporaryFolder()
    const maker = startMaker(root, 'hang')
    await once(maker.stdout, 'data')
    const reason = new Error('the suite is over')
    const controller = new AbortController()
    setTimeout(() => controller.abort(reason), 50)
    const waiting = cachedEntry(root, 'thing', INPUTS, unused, { signal: controller.signal })
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_IMAGE_ABORTED', cause: reason })
  })

  test('a worker thread that is terminated in the middle does not block its own process', async () => {
    const root = await temporaryFolder()
    const worker = new Worker(join(import.meta.dirname, 'worker-maker.ts'), { workerData: root })
    await once(worker, 'message')
    await worker.terminate()
    const entry = await cachedEntry(root, 'thing', INPUTS, putFile('again'), { timeoutMs: 5_000 })
    expect(await readdir(kindFolder(root, 'thing'))).toEqual([entry.key])
  })
})

describe('the holder of a lock', () => {
  const me = currentOwner()
  const hourMs = 3_600_000

  test.for([
    ['of a pid that was given out again', { ...me, startTicks: '1' }, 0],
    ['from before the last boot of the machine', { ...me, boot: '00000000' }, 0],
    ['out of sight in another container, an hour ago', { ...me, pidNamespace: '1' }, 2 * hourMs],
  ] as const)('%s counts as gone', async ([, owner, ageMs]) => {
    const root = await temporaryFolder()
    await lockFor(root, formatOwner(owner), ageMs)
    expect((await cachedEntry(root, 'thing', INPUTS, putFile('mine'), { timeoutMs: 1000 })).made).toBe(true)
  })

  test.for([
    ['that lives', me],
    ['out of sight in another container, just now', { ...me, pidNamespace: '1' }],
  ] as const)('%s is waited for', async ([, owner]) => {
    const root = await temporaryFolder()
    await lockFor(root, formatOwner(owner), 0)
    const waiting = cachedEntry(root, 'thing', INPUTS, unused, { timeoutMs: 50 })
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_IMAGE_LOCK_TIMEOUT' })
  })

  test('that was killed but not yet collected by its parent counts as gone', async () => {
    const root = await temporaryFolder()
    // The shell's child dies at once; the shell becomes a sleep, which never collects it.
    const parent = spawn('sh', ['-c', 'sh -c "echo \\$\\$; exit" & exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void parent.kill('SIGKILL'))
    const pid = Number(String((await once(parent.stdout, 'data'))[0]))
    await expect.poll(() => readFile(`/proc/${pid}/stat`, 'latin1')).toContain(') Z ')
    const startTicks = (await readFile(`/proc/${pid}/stat`, 'latin1')).split(' ')[21]!
    await lockFor(root, formatOwner({ ...me, pid, tid: pid, startTicks }), 0)
    expect((await cachedEntry(root, 'thing', INPUTS, putFile('mine'), { timeoutMs: 1000 })).made).toBe(true)
  })

  async function lockFor(root: string, owner: string, ageMs: number): Promise<void> {
    const folder = kindFolder(root, 'thing')
    await mkdir(folder, { recursive: true })
    const path = join(folder, `${cacheKey('thing', INPUTS)}.lock`)
    await symlink(`${owner}-12345678`, path)
    const seconds = (Date.now() - ageMs) / 1000
    await lutimes(path, seconds, seconds)
  }
})
