import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RootImage } from '../../../src/images/root-image.ts'
import { oci, tarball } from '../../../src/images/sources/index.ts'
import { tarOf, writeLayout } from './archives.ts'
import { copyImage } from './registry.ts'
import { sampleRoot } from './sample-root.ts'

const BUILDER = join(import.meta.dirname, 'builder-process.ts')
const folder = mkdtempSync(join(tmpdir(), 'boxlab-crashes-'))
const archive = join(folder, 'docker.tar')
let expected: RootImage

beforeAll(async () => {
  const root = join(folder, 'root')
  mkdirSync(root)
  sampleRoot(root, { longestName: 200 })
  writeLayout(join(folder, 'layout'), [tarOf(root)])
  writeFileSync(join(folder, 'root.tar'), tarOf(root))
  copyImage(`oci:${folder}/layout:latest`, `docker-archive:${archive}:sample:latest`)
  expected = await oci(`docker-archive:${archive}`).resolve({ cacheRoot: join(folder, 'expected') })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let caches = 0
function freshCache(): string {
  return join(folder, `cache-${caches++}`)
}

/** Names of the cache's folders, those of entries in the making shortened. */
function namesIn(cacheRoot: string, kind: string): string[] {
  try {
    return readdirSync(join(cacheRoot, 'images', kind)).map((name) =>
      name.replace(/^[0-9a-f]{64}/, 'key').replace(/making-.*/, 'making'),
    )
  } catch {
    return []
  }
}

/** Processes that know of a folder; they have a moment to go, since the kernel kills them after their parent. */
async function processesOf(cacheRoot: string): Promise<string[]> {
  let found: string[] = []
  for (let tries = 0; tries < 50; tries++) {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    found = pids.filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(cacheRoot)
      } catch {
        return false
      }
    })
    if (found.length === 0) return []
    await sleep(20)
  }
  return found
}

function builder(cacheRoot: string, format: string, step: string, ...more: string[]): ReturnType<typeof spawn> {
  return spawn(process.execPath, [BUILDER, cacheRoot, `docker-archive:${archive}`, format, step, ...more], {
    stdio: 'ignore',
  })
}

describe('a builder that is killed', { timeout: 60_000 }, () => {
  test.for([
    ['ext4', 'fetch'],
    ['ext4', 'unpack'],
    ['ext4', 'format'],
    ['ext4', 'rename'],
    ['erofs', 'format'],
    ['erofs', 'rename'],
  ] as const)(
    'while it makes an %s image, at %s, leaves no entry; the next build works and cleans up',
    async ([format, step]) => {
      const cacheRoot = freshCache()
      const killed = builder(cacheRoot, format, step)
      expect(await once(killed, 'exit')).toEqual([null, 'SIGKILL'])
      expect(await processesOf(cacheRoot)).toEqual([])
      const left = [...namesIn(cacheRoot, 'source'), ...namesIn(cacheRoot, 'root')]
      expect(left).toContain('key.making')
      expect(left).not.toContain('key')
      const image = await oci(`docker-archive:${archive}`, { format }).resolve({ cacheRoot })
      expect(image).toMatchObject({ digest: expected.digest, cached: false })
      expect(namesIn(cacheRoot, 'source')).toEqual(['key'])
      expect(namesIn(cacheRoot, 'root')).toEqual(['key'])
    },
  )

  test('at any moment leaves no child and a cache that the next build finds whole', async () => {
    const cacheRoot = freshCache()
    for (const afterMs of [150, 220, 260, 300, 340, 380, 450, 550]) {
      const killed = builder(cacheRoot, 'ext4', 'none')
      await sleep(afterMs)
      killed.kill('SIGKILL')
      if (killed.exitCode === null && killed.signalCode === null) await once(killed, 'exit')
    }
    expect(await processesOf(cacheRoot)).toEqual([])
    const image = await oci(`docker-archive:${archive}`).resolve({ cacheRoot })
    expect(readFileSync(image.path).equals(readFileSync(expected.path))).toBe(true)
    expect(namesIn(cacheRoot, 'source')).toEqual(['key'])
    expect(namesIn(cacheRoot, 'root')).toEqual(['key'])
  })
})

test('builders that ask at the same time make one image', { timeout: 60_000 }, async () => {
  const cacheRoot = freshCache()
  const outputs = await Promise.all(
    [1, 2, 3].map(async () => {
      const child = spawn(process.execPath, [BUILDER, cacheRoot, `docker-archive:${archive}`, 'ext4', 'none'], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let text = ''
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      await once(child, 'close')
      return text.trim().split('\n')
    }),
  )
  const images = outputs.map((lines) => JSON.parse(lines.at(-1)!) as RootImage)
  expect(images.filter(({ cached }) => !cached)).toHaveLength(1)
  expect(new Set(images.map(({ path }) => path)).size).toBe(1)
  expect(outputs.filter((lines) => lines.includes('format'))).toHaveLength(1)
})

test('a build that is aborted ends at once with one error, and leaves nothing', async () => {
  const cacheRoot = freshCache()
  const controller = new AbortController()
  const reason = new Error('enough')
  const building = oci(`docker-archive:${archive}`).resolve({
    cacheRoot,
    signal: controller.signal,
    progress: ({ step }) => {
      if (step === 'fetch') setTimeout(() => controller.abort(reason), 20)
    },
  })
  await expect(building).rejects.toMatchObject({ name: 'ImageError', code: 'ERR_IMAGE_ABORTED', cause: reason })
  expect([...namesIn(cacheRoot, 'source'), ...namesIn(cacheRoot, 'root')]).toEqual([])
})

describe('an image in the cache', () => {
  test('that somebody wrote to is made again', async () => {
    const cacheRoot = freshCache()
    const source = tarball(join(folder, 'root.tar'))
    const made = await source.resolve({ cacheRoot })
    const bytes = readFileSync(made.path)
    chmodSync(made.path, 0o644)
    writeFileSync(made.path, Buffer.concat([bytes.subarray(0, -1), Buffer.from('!')]))
    expect(await source.resolve({ cacheRoot })).toMatchObject({ path: made.path, cached: false })
    expect(readFileSync(made.path).equals(bytes)).toBe(true)
  })

  test('that was only copied is taken as it is, by its digest', async () => {
    const cacheRoot = freshCache()
    const source = tarball(join(folder, 'root.tar'))
    const made = await source.resolve({ cacheRoot })
    const bytes = readFileSync(made.path)
    rmSync(made.path)
    writeFileSync(made.path, bytes)
    expect(await source.resolve({ cacheRoot })).toMatchObject({ path: made.path, cached: true })
  })
})

describe('without root', () => {
  const nobody = '65534'
  function asNobody(reference: string, format: string): { code?: string; message?: string; digest?: string } {
    const cacheRoot = join(folder, `nobody-${caches++}`)
    mkdirSync(cacheRoot, { mode: 0o777 })
    chmodSync(cacheRoot, 0o777)
    chmodSync(folder, 0o755)
    const { stdout, stderr } = spawnSync(process.execPath, [BUILDER, cacheRoot, reference, format, 'none', nobody], {
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
    return JSON.parse(stdout.trim().split('\n').at(-1)!) as RootImage
  }

  test('an ext4 image has the same owners, devices and capabilities, since nothing is unpacked', () => {
    expect(asNobody(join(folder, 'root.tar'), 'ext4')).toMatchObject({ digest: expected.digest })
    expect(asNobody(`oci:${folder}/layout`, 'ext4')).toMatchObject({ digest: expected.digest })
  })

  test('an erofs image is one clear error', () => {
    expect(asNobody(join(folder, 'root.tar'), 'erofs')).toEqual({
      code: 'ERR_IMAGE_PRIVILEGE',
      message: expect.stringMatching(/^An erofs image needs root, .*: use format 'ext4', or run as root$/) as string,
    })
  })
})
