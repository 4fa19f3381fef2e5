import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fileDigest } from '../../../src/images/index.ts'
import type { ImageProgress, ImageSource, RootImage } from '../../../src/images/root-image.ts'
import { directory, disk, oci, tarball } from '../../../src/images/sources/index.ts'
import { tarOf, writeLayout } from './archives.ts'
import { imageListing, listing, mounted } from './listing.ts'
import { copyImage, type Registry, startRegistry } from './registry.ts'
import { sampleRoot, SPARSE_BYTES } from './sample-root.ts'

const folder = mkdtempSync(join(tmpdir(), 'boxlab-sources-'))
const root = join(folder, 'root')
const config = {
  Env: ['PATH=/bin', 'EMPTY='],
  User: 'user',
  WorkingDir: '/tmp',
  Entrypoint: ['/bin/sh'],
  Cmd: ['-c', 'true'],
}
let registry: Registry
let expected: string[]

beforeAll(async () => {
  mkdirSync(root)
  sampleRoot(root)
  expected = listing(root)
  const tar = tarOf(root)
  writeFileSync(join(folder, 'root.tar'), tar)
  writeFileSync(join(folder, 'root.tar.gz'), gzipSync(tar))
  writeFileSync(join(folder, 'root.tar.zst'), zstdCompressSync(tar))
  writeFileSync(join(folder, 'root.tar.xz'), execFileSync('xz', ['-0', '-c'], { input: tar, maxBuffer: 1 << 28 }))
  writeFileSync(join(folder, 'gnu.tar'), tarOf(root, ['--format=gnu', '--no-xattrs']))
  writeLayout(join(folder, 'layout'), [tar], { config })
  copyImage(`oci:${folder}/layout:latest`, `docker-archive:${folder}/docker.tar:sample:latest`)
  copyImage(`oci:${folder}/layout:latest`, `oci-archive:${folder}/oci.tar:latest`)
  registry = await startRegistry(join(folder, 'registry'))
  copyImage(`oci:${folder}/layout:latest`, `docker://${registry.address}/sample:1`, ['--dest-tls-verify=false'])
}, 60_000)

afterAll(async () => {
  await registry?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** As `tarOf`, without --sparse. */
const TAR = ['--create', '--numeric-owner', '--xattrs', '--xattrs-include=*']

let caches = 0
function freshCache(): string {
  return join(folder, `cache-${caches++}`)
}

const SOURCES: readonly (readonly [string, () => ImageSource])[] = [
  ['directory', () => directory(root)],
  ['plain tarball', () => tarball(join(folder, 'root.tar'))],
  ['gzipped tarball', () => tarball(join(folder, 'root.tar.gz'))],
  ['zstd tarball', () => tarball(join(folder, 'root.tar.zst'))],
  ['xz tarball', () => tarball(join(folder, 'root.tar.xz'))],
  ['OCI layout', () => oci(`oci:${folder}/layout`)],
  ['OCI layout by tag', () => oci(`oci:${folder}/layout:latest`)],
  ['docker archive', () => oci(`docker-archive:${folder}/docker.tar`)],
  ['OCI archive', () => oci(`oci-archive:${folder}/oci.tar:latest`)],
  ['registry', () => oci(`${registry.address}/sample:1`)],
]

describe('one small root from every source', () => {
  const images = new Map<string, RootImage>()

  test.for(SOURCES)('%s gives an image whose listing equals the source, byte for byte', async ([name, source]) => {
    const image = await source().resolve({ cacheRoot: freshCache() })
    images.set(name, image)
    expect(image).toMatchObject({
      format: 'ext4',
      architecture: 'x86_64',
      hasInit: true,
      init: '/sbin/init',
      cached: false,
    })
    expect(image.bytes).toBe(statSync(image.path).size)
    expect(imageListing(image.path, 'ext4')).toEqual(expected)
  })

  test('all images have one digest, and are equal in every byte', async () => {
    expect(images.size).toBe(SOURCES.length)
    expect(new Set([...images.values()].map(({ digest }) => digest)).size).toBe(1)
    const files = await Promise.all([...images.values()].map(({ path }) => fileDigest(path)))
    expect(new Set(files).size).toBe(1)
  })

  test('e2fsck finds nothing to say', () => {
    const { path } = images.get('directory')!
    const output = execFileSync('e2fsck', ['-f', '-n', path], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
    expect(output.split('\n').filter((line) => !/^Pass|^$/.test(line))).toEqual([
      expect.stringContaining(' files (0.0% non-contiguous)'),
    ])
  })

  test('a sparse file takes only its blocks with data', () => {
    const { path } = images.get('plain tarball')!
    const facts = mounted(path, 'ext4', (place) => statSync(join(place, 'var/lib/odd/sparse')))
    expect([facts.size, facts.blocks * 512]).toEqual([SPARSE_BYTES, 3 * 4096])
    expect(images.get('plain tarball')!.bytes).toBeLessThan(SPARSE_BYTES)
  })

  test('only an OCI image has a configuration', () => {
    const read = {
      env: { PATH: '/bin', EMPTY: '' },
      user: 'user',
      workdir: '/tmp',
      entrypoint: ['/bin/sh'],
      cmd: ['-c', 'true'],
    }
    for (const name of ['OCI layout', 'docker archive', 'OCI archive', 'registry'])
      expect(images.get(name)!.config).toEqual(read)
    expect(images.get('plain tarball')).not.toHaveProperty('config')
  })
})

describe('a tar archive as other options of GNU tar make it', () => {
  test.for([
    ['bzip2', () => execFileSync('bzip2', ['-1', '-c'], { input: tarOf(root), maxBuffer: 1 << 28 })],
    ['sparse files in the form 0.0', () => tarOf(root, ['--sparse-version=0.0'])],
    ['sparse files in the form 0.1', () => tarOf(root, ['--sparse-version=0.1'])],
    [
      'no sparse files',
      () => execFileSync('tar', [...TAR, '--format=posix', '--directory', root, '.'], { maxBuffer: 1 << 28 }),
    ],
    ['lists of access as text', () => tarOf(root, ['--acls', '--xattrs-exclude=system.*'])],
    ['names with a slash in front', () => tarOf(root, ['--absolute-names', '--transform=flags=rh;s,^\\.,/,'])],
    ['a label', () => tarOf(root, ['--label=backup'])],
    ['a global header', () => tarOf(root, ['--pax-option=comment=for all'])],
  ] as const)('with %s has the same listing', async ([, archive]) => {
    const path = join(folder, 'variant.tar')
    writeFileSync(path, archive())
    const image = await tarball(path).resolve({ cacheRoot: freshCache() })
    expect(imageListing(image.path, 'ext4')).toEqual(expected)
  })
})

test('GNU tar without xattrs keeps all but those', async () => {
  const image = await tarball(join(folder, 'gnu.tar')).resolve({ cacheRoot: freshCache() })
  const seconds = { wholeSeconds: true }
  const noXattrs = (lines: readonly string[]): string[] => lines.filter((line) => !line.startsWith('# file'))
  // Its numbers hold no parts of a second.
  expect(noXattrs(imageListing(image.path, 'ext4', seconds))).toEqual(noXattrs(listing(root, seconds)))
})

/** What of a listing cpio(1) gives back: it sets no times of folders and links, and those of files in 32 bits of seconds. */
function asCpio(lines: readonly string[]): string[] {
  return lines.map((line) =>
    line
      .replace(/^(.*: [dl] \d+ \d+ \d+) \S+/, '$1')
      .replace(/^(.*: l .*) \d+ (\S+)( = \S+)?"$/, '$1 $2"')
      .replace(
        /^(.*: [^dl] \d+ \d+ \d+) (-?\d+)\S*/,
        (_, before: string, seconds: string) => `${before} ${Math.min(Math.max(Number(seconds), 0), 2 ** 32 - 1)}`,
      ),
  )
}

describe('the other formats', () => {
  test('an erofs image has the same listing, and equal bytes when it is made again', async () => {
    // mkfs.erofs 1.5 cuts names of 255 bytes.
    const shorter = join(folder, 'shorter')
    mkdirSync(shorter)
    sampleRoot(shorter, { longestName: 254 })
    const first = await directory(shorter, { format: 'erofs' }).resolve({ cacheRoot: freshCache() })
    const second = await directory(shorter, { format: 'erofs' }).resolve({ cacheRoot: freshCache() })
    expect(first).toMatchObject({ format: 'erofs', cached: false })
    expect(imageListing(first.path, 'erofs')).toEqual(listing(shorter))
    expect(await fileDigest(second.path)).toBe(await fileDigest(first.path))
  })

  test('an initramfs unpacks to the same tree, and refuses xattrs', async () => {
    const plain = join(folder, 'plain')
    mkdirSync(plain)
    sampleRoot(plain, { xattrs: false })
    const image = await directory(plain, { format: 'initramfs' }).resolve({ cacheRoot: freshCache() })
    const unpacked = join(folder, 'unpacked')
    mkdirSync(unpacked)
    execFileSync('cpio', ['-idmu', '--quiet', '--no-absolute-filenames'], {
      cwd: unpacked,
      input: await readFile(image.path),
    })
    // It leaves the folder that it unpacks into as it is.
    expect(asCpio(listing(unpacked)).slice(1)).toEqual(asCpio(listing(plain)).slice(1))
    await expect(directory(root, { format: 'initramfs' }).resolve({ cacheRoot: freshCache() })).rejects.toMatchObject({
      code: 'ERR_IMAGE_FORMAT',
      message: expect.stringMatching(
        /cannot go into an initramfs: cpio has no place for its xattr \S+\. Use format 'ext4'$/,
      ) as string,
    })
  })

  test('free room is room: a box that mounts the image for writing can write', async () => {
    const image = await tarball(join(folder, 'root.tar'), { freeMib: 300 }).resolve({ cacheRoot: freshCache() })
    const [copy, place] = [join(folder, 'copy.ext4'), join(folder, 'place')]
    execFileSync('cp', ['--sparse=always', image.path, copy])
    expect(statSync(image.path).blocks * 512).toBeLessThan(16 << 20)
    mkdirSync(place)
    execFileSync('mount', ['-o', 'loop', copy, place])
    try {
      for (let index = 0; index < 1000; index++) writeFileSync(join(place, `file-${index}`), 'x'.repeat(100_000))
    } finally {
      execFileSync('umount', [place])
    }
    execFileSync('e2fsck', ['-f', '-n', copy], { stdio: 'ignore' })
  })
})

describe('progress and cache', () => {
  test('each step is told once at its beginning, and a hit tells nothing', async () => {
    const cacheRoot = freshCache()
    const events: ImageProgress[] = []
    const context = { cacheRoot, progress: (event: ImageProgress) => void events.push(event) }
    const source = oci(`${registry.address}/sample:1`)
    const made = await source.resolve(context)
    const steps = events
      .filter(({ doneBytes, detail }) => doneBytes === undefined && detail === undefined)
      .map(({ step }) => step)
    expect(steps).toEqual(['fetch', 'unpack', 'format', 'rename'])
    expect(events.every((event) => event.source === source.name)).toBe(true)
    events.length = 0
    expect(await source.resolve(context)).toEqual({ ...made, cached: true })
    expect(events).toEqual([])
  })

  test('equal trees from two sources are one file', async () => {
    const cacheRoot = freshCache()
    const made = await tarball(join(folder, 'root.tar')).resolve({ cacheRoot })
    const found = await oci(`oci:${folder}/layout`).resolve({ cacheRoot })
    expect(found).toMatchObject({ path: made.path, digest: made.digest, cached: true })
  })

  test('a directory that changed is another image, also when it changed a moment ago', async () => {
    const [cacheRoot, place] = [freshCache(), join(folder, 'changing')]
    mkdirSync(place)
    writeFileSync(join(place, 'file'), 'one')
    const one = await directory(place).resolve({ cacheRoot })
    writeFileSync(join(place, 'file'), 'two')
    const two = await directory(place).resolve({ cacheRoot })
    expect(two.digest).not.toBe(one.digest)
    expect((await directory(place).resolve({ cacheRoot })).path).toBe(two.path)
  })
})

test('a disk is used where it is, and its own init is seen', async () => {
  const image = await tarball(join(folder, 'root.tar')).resolve({ cacheRoot: freshCache() })
  expect(await disk(image.path).resolve({ cacheRoot: freshCache() })).toEqual({
    path: image.path,
    format: 'raw',
    digest: `sha256:${await fileDigest(image.path)}`,
    bytes: image.bytes,
    hasInit: true,
    cached: true,
  })
})
