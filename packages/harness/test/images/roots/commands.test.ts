import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { RootImage } from '../../../src/images/root-image.ts'
import { runBoxlab } from '../../cli/run-boxlab.ts'
import { tarOf } from './archives.ts'

vi.setConfig({ testTimeout: 60_000 })

const folder = mkdtempSync(join(tmpdir(), 'boxlab-image-commands-'))
const env = { BOXLAB_HOME: join(folder, 'home') }
const images = join(env.BOXLAB_HOME, 'images')
const archives = ['one', 'two', 'three'].map((name) => join(folder, `${name}.tar`))

beforeAll(() => {
  for (const [index, archive] of archives.entries()) {
    const root = join(folder, `root-${index}`)
    mkdirSync(root)
    writeFileSync(join(root, 'file'), String(index).repeat((index + 1) * 1_000_000))
    writeFileSync(archive, tarOf(root))
  }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function made(archive: string): Promise<RootImage> {
  const { code, stdout } = await runBoxlab(['image', 'make', 'tarball', archive, '--json'], { env })
  expect(code).toBe(0)
  return JSON.parse(stdout) as RootImage
}

/** As if it had been used last so long ago. */
function age(image: RootImage, hours: number): void {
  const then = new Date(Date.now() - hours * 3_600_000)
  utimesSync(join(dirname(image.path), 'entry.json'), then, then)
}

test('an empty cache is one line', async () => {
  expect(await runBoxlab(['image', 'ls'], { env })).toMatchObject({
    code: 0,
    stdout: `nothing is in ${images}\n`,
    stderr: '',
  })
})

test('make tells its steps in plain lines where no terminal is, and prints the image', async () => {
  const { code, stdout, stderr } = await runBoxlab(['image', 'make', 'tarball', archives[0]!], { env })
  const name = `tarball ${archives[0]}`
  expect(stderr).toBe(`${name}: reading 990 KiB\n${name}: writing the image\n${name}: putting it into the cache\n`)
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^\/\S+\/root\.ext4\next4, 1\.\d MiB, sha256:[0-9a-f]{64}\n$/),
  ])
  const again = await runBoxlab(['image', 'make', 'tarball', archives[0]!], { env })
  expect(again).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/, was there already\n$/) as string,
  })
})

test('ls, rm and gc know images by their sources, and the longest unused go first', async () => {
  const [one, two, three] = [await made(archives[0]!), await made(archives[1]!), await made(archives[2]!)]
  age(one, 3)
  age(two, 2)
  age(three, 1)
  const { stdout } = await runBoxlab(['image', 'ls'], { env })
  const row = (image: RootImage, hours: number, archive: string): unknown =>
    expect.stringMatching(
      new RegExp(
        `^${keyOf(image).slice(0, 12)}  root  \\d\\.\\d MiB  ${hours > 1 ? `${hours} h` : '60 min'} +ago +tarball ${archive}$`,
      ),
    )
  expect(stdout.split('\n')).toEqual([
    expect.stringMatching(/^KEY {11}KIND {2}SIZE {5}USED +FROM$/),
    row(three, 1, archives[2]!),
    row(two, 2, archives[1]!),
    row(one, 3, archives[0]!),
    '',
  ])
  const json = JSON.parse((await runBoxlab(['image', 'ls', '--json'], { env })).stdout) as {
    entries: { key: string }[]
  }
  expect(json.entries.map(({ key }) => key)).toEqual([keyOf(three), keyOf(two), keyOf(one)])

  const collected = await runBoxlab(['image', 'gc', '--max-size', '5.5M'], { env })
  expect(collected).toMatchObject({ code: 0, stderr: '' })
  expect(collected.stdout).toMatch(
    new RegExp(
      `^removed root ${keyOf(one).slice(0, 12)} \\(tarball ${archives[0]}\\), 1\\.\\d MiB\n4\\.\\d MiB are in ${images}\n$`,
    ),
  )
  expect(readdirSync(join(images, 'source'))).toHaveLength(2)

  const removed = await runBoxlab(['image', 'rm', keyOf(two).slice(0, 8)], { env })
  expect(removed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^removed root /) as string })
  expect([one, two, three].map(({ path }) => existsSync(path))).toEqual([false, false, true])
  expect(readdirSync(join(images, 'source'))).toHaveLength(1)
  expect(await runBoxlab(['image', 'rm', 'feed'], { env })).toMatchObject({
    code: 1,
    stderr: 'boxlab: no entry has the key feed; `boxlab image ls` shows them\n',
  })
})

test('gc leaves what was used a moment ago, and removes what dead makers left', async () => {
  const image = await made(archives[2]!)
  const left = join(images, 'root', `${'ab'.repeat(32)}.making-1.1.1.1.00000000-12345678`)
  mkdirSync(left)
  const { stdout } = await runBoxlab(['image', 'gc', '--max-size', '0'], { env })
  expect(stdout).toMatch(
    /^kept root \w+ \(tarball \S+three\.tar\), [\d.]+ MiB, used less than 10 minutes ago\n[\d.]+ MiB are in /m,
  )
  expect([existsSync(image.path), existsSync(left)]).toEqual([true, false])
})

test('verify finds what the cheap look cannot, and removes it', async () => {
  const image = await made(archives[1]!)
  expect(await runBoxlab(['image', 'verify'], { env })).toMatchObject({
    code: 0,
    stdout: '2 root images are whole, 0 were damaged\n',
  })
  spoil(image)
  const { code, stdout } = await runBoxlab(['image', 'verify'], { env })
  expect([code, stdout]).toEqual([
    1,
    expect.stringMatching(/^damaged, and removed: root \w+ .*\n1 root images are whole, 1 were damaged\n$/),
  ])
  expect(await made(archives[1]!)).toMatchObject({ path: image.path, cached: false })
})

test('what cannot be made is one sentence and exit code 1, wrong use one and 2', async () => {
  expect(await runBoxlab(['image', 'make', 'tarball', '/nonexistent'], { env })).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^boxlab: The tarball \/nonexistent cannot be read: [^\n]*\n$/) as string,
  })
  for (const [args, sentence] of [
    [['make', 'nothing', 'x'], /It must be one of directory, tarball, disk, debian, oci/],
    [['make', 'directory', '/', '--format', 'virtiofs'], /'virtiofs' is invalid. Allowed choices are ext4, erofs/],
    [['rm'], /name the keys to remove, or give --all/],
    [['gc', '--max-size', 'much'], /It must be a size such as 500M or 10G/],
    [['gc'], /required option '--max-size <size>' not specified/],
  ] as const) {
    const { code, stdout, stderr } = await runBoxlab(['image', ...args], { env })
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(sentence)
    expect(stderr).toMatch(/^boxlab: [^\n]+\n$/)
  }
})

function keyOf({ path }: RootImage): string {
  return path.split('/').at(-2)!
}

/** Changes bytes without changing size and time, as a bad disk does. */
function spoil({ path }: RootImage): void {
  const before = new Date(0)
  chmodSync(path, 0o644)
  const file = join(dirname(path), 'image.json')
  utimesSync(path, before, before)
  const facts = JSON.parse(readFileSync(file, 'utf8')) as { mtimeNs: string }
  writeFileSync(path, Buffer.from(readFileSync(path)).fill('spoilt', 70_000, 70_006))
  utimesSync(path, before, before)
  writeFileSync(file, JSON.stringify({ ...facts, mtimeNs: '0' }))
}
