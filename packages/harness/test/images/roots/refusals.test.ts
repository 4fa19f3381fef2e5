import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ImageSource } from '../../../src/images/root-image.ts'
import { debian, directory, disk, oci, tarball } from '../../../src/images/sources/index.ts'
import { type Member, tarOf, tarOfMembers } from './archives.ts'
import { imageError, refusal as refusalIn } from './refusal.ts'

const folder = mkdtempSync(join(tmpdir(), 'boxlab-refusals-'))
let tar: Buffer

beforeAll(() => {
  const root = join(folder, 'root')
  mkdirSync(root)
  writeFileSync(join(root, 'file'), 'x'.repeat(100_000))
  tar = tarOf(root)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let count = 0
function refusal(source: ImageSource, cacheRoot: string = join(folder, `cache-${count++}`)): Promise<unknown> {
  return refusalIn(cacheRoot, source)
}

function put(bytes: Uint8Array | string): string {
  const path = join(folder, `file-${count++}`)
  writeFileSync(path, bytes)
  return path
}

describe('an archive that would lead out of itself is refused with the member that does', () => {
  const link = (path: string, to: string): Member => ({ path, type: 'symlink', link: to })
  const hardlink = (to: string): Member => ({ path: 'innocent', type: 'hardlink', link: to })

  test.for<[string, Member[], RegExp]>([
    [
      'with .. at the front',
      [{ path: '../outside' }],
      /holds \.\.\/outside, which leads out of the archive with `\.\.`: do not use it$/,
    ],
    ['with .. in the middle', [{ path: 'a/../../outside' }], /holds a\/\.\.\/\.\.\/outside, which leads out/],
    [
      'through an absolute link',
      [link('a', '/etc'), { path: 'a/passwd' }],
      /holds a\/passwd, which lies below the symbolic link to \/etc of the same archive, so that it could lead out/,
    ],
    [
      'through a link to a parent',
      [link('a', '..'), { path: 'a/outside' }],
      /holds a\/outside, which lies below the symbolic link to \.\. of the same archive/,
    ],
    [
      'through links over links',
      [link('a', 'b'), link('b', '/tmp'), { path: 'a/outside' }],
      /holds a\/outside, which lies below the symbolic link to b of the same archive/,
    ],
    [
      'by a hard link with ..',
      [hardlink('../../etc/shadow')],
      /holds innocent, a hard link to \.\.\/\.\.\/etc\/shadow, which leads out of the archive/,
    ],
    [
      'by an absolute hard link',
      [hardlink('/etc/shadow')],
      /holds innocent, a hard link to \/etc\/shadow, which is not in it: what is outside is never linked/,
    ],
    [
      'by a hard link through a link',
      [link('a', '/etc'), hardlink('a/shadow')],
      /a hard link to a\/shadow, which is not in it/,
    ],
  ])('%s', async ([, members, message]) => {
    expect(await refusal(tarball(put(tarOfMembers(members))))).toEqual(imageError('ERR_IMAGE_ARCHIVE', message))
  })

  test('a leading slash means nothing: such names are of the tree', async () => {
    const path = put(
      tarOfMembers([{ path: '/bin/tool', data: '1' }, hardlink('/bin/tool'), link('absolute', '/etc/passwd')]),
    )
    expect(await tarball(path).resolve({ cacheRoot: join(folder, 'cache') })).toMatchObject({ format: 'ext4' })
  })
})

describe('a damaged archive is refused with what is damaged', () => {
  test.for<[string, () => Uint8Array, RegExp]>([
    ['nothing at all', () => Buffer.alloc(0), /is not a whole tar archive: it is empty/],
    ['something else', () => Buffer.from('#!/bin/sh\n'.repeat(100)), /it does not begin with a tar header/],
    ['cut in a file', () => tar.subarray(0, 60_000), /it ends in the middle of \.\/file\. Make or fetch it again$/],
    ['cut in a header', () => tar.subarray(0, 700), /it ends in the middle of an extended header/],
    [
      'cut between two members',
      () => tar.subarray(0, tar.lastIndexOf('x') + 512 - (tar.lastIndexOf('x') % 512)),
      /it ends after \d+ bytes without its end mark, so it was cut/,
    ],
    [
      'a spoilt header',
      () => Buffer.from(tar).fill('?', 1024 + 512 + 1024, 1024 + 512 + 1024 + 90),
      /the header at byte \d+ is damaged/,
    ],
    [
      'cut gzip',
      () => gzipSync(tar).subarray(0, -30),
      /is damaged or cut: its gzip data cannot be unpacked \(unexpected end of file\)/,
    ],
    ['cut xz', () => execFileSync('xz', ['-c'], { input: tar }).subarray(0, -30), /its xz data cannot be unpacked/],
    [
      'cut zstd',
      () => execFileSync('zstd', ['-c'], { input: tar }).subarray(0, -5),
      /its zstd data cannot be unpacked/,
    ],
  ])('%s', async ([, bytes, message]) => {
    expect(await refusal(tarball(put(bytes())))).toEqual(imageError('ERR_IMAGE_ARCHIVE', message))
  })
})

describe('a source that is not there, or not what it should be', () => {
  test.for<[string, () => ImageSource, string, RegExp]>([
    [
      'tarball',
      () => tarball('/nonexistent.tar'),
      'ERR_IMAGE_SOURCE',
      /^The tarball \/nonexistent\.tar cannot be read: check its path \(ENOENT/,
    ],
    [
      'directory',
      () => directory('/nonexistent'),
      'ERR_IMAGE_SOURCE',
      /^The directory \/nonexistent cannot be read: check its path$/,
    ],
    [
      'a file as a directory',
      () => directory('/etc/passwd'),
      'ERR_IMAGE_SOURCE',
      /^The directory \/etc\/passwd cannot be read: .*\(it is no directory\)$/,
    ],
    [
      'suite',
      () => debian({ suite: '--help' }),
      'ERR_IMAGE_SOURCE',
      /^`suite` must be the name of a Debian suite such as 'trixie', not "--help"$/,
    ],
    [
      'package',
      () => debian({ suite: 'trixie', packages: ['a b'] }),
      'ERR_IMAGE_PACKAGE',
      /^"a b" is not the name of a package/,
    ],
    [
      'registry',
      () => oci('localhost:1/name'),
      'ERR_IMAGE_REGISTRY',
      /^oci localhost:1\/name cannot be fetched: nobody answers there: check the name, and that the registry runs \(.*connection refused\)$/,
    ],
  ])('%s', async ([, source, code, message]) => {
    expect(await refusal(source())).toEqual(imageError(code, message))
  })
})

describe('a disk that leads to other files', () => {
  test.for<[string, string, RegExp]>([
    [
      'an absolute path',
      '/etc/passwd',
      /is built on \/etc\/passwd outside of its own folder: put it into \S+ and name it relatively/,
    ],
    ['a path upwards', '../../etc/passwd', /outside of its own folder|which is not there/],
    ['a protocol', 'nbd://host/disk', /is built on nbd:\/\/host\/disk, which is no file/],
    ['QEMU options', 'json:{"driver":"raw"}', /which is no file/],
    ['nothing', 'gone.raw', /is built on gone\.raw, which is not there/],
  ])('by %s is refused', async ([, backing, message]) => {
    expect(await refusal(disk(put(qcow2(backing))))).toEqual(imageError('ERR_IMAGE_DISK', message))
  })

  test('in its own folder is taken, and its digest counts them', async () => {
    const place = join(folder, 'chain')
    mkdirSync(place)
    writeFileSync(join(place, 'base.raw'), Buffer.alloc(4096, 1))
    writeFileSync(join(place, 'top.qcow2'), qcow2('base.raw'))
    const context = { cacheRoot: join(folder, 'cache') }
    const one = await disk(join(place, 'top.qcow2')).resolve(context)
    expect(one).toMatchObject({
      format: 'qcow2',
      path: join(place, 'top.qcow2'),
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string,
    })
    writeFileSync(join(place, 'base.raw'), Buffer.alloc(4096, 2))
    expect((await disk(join(place, 'top.qcow2')).resolve(context)).digest).not.toBe(one.digest)
  })

  test('is refused as qcow2 when it is none', async () => {
    const error = await refusal(disk(put(Buffer.alloc(4096)), { format: 'qcow2' }))
    expect(error).toEqual(imageError('ERR_IMAGE_DISK', /is no qcow2 file/))
  })
})

test.for<[string, () => ImageSource, RegExp]>([
  [
    'skopeo',
    () => oci('localhost:1/name'),
    /^skopeo is not installed: install the package skopeo, or give an OCI layout/,
  ],
  ['mmdebstrap', () => debian({ suite: 'trixie' }), /^mmdebstrap is not installed: install the package mmdebstrap, or/],
  [
    'xz',
    () => tarball(put(execFileSync('xz', ['-c'], { input: tar }))),
    /^xz is not installed: install the package xz-utils/,
  ],
])('a host without %s says which package to install', async ([, source, message]) => {
  const path = process.env['PATH']
  const bin = join(folder, `bin-${count++}`)
  mkdirSync(bin)
  symlinkSync('/usr/bin/setpriv', join(bin, 'setpriv'))
  const made = source()
  try {
    process.env['PATH'] = bin
    expect(await refusal(made)).toEqual(imageError('ERR_IMAGE_TOOL_MISSING', message))
  } finally {
    process.env['PATH'] = path
  }
})

test('a full disk is one error that says what to do, and leaves nothing on it', async () => {
  const small = join(folder, 'small')
  mkdirSync(small)
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'boxlab-test', small], { encoding: 'utf8' })
  if (mount.status !== 0)
    throw new Error(`this test needs to mount a small tmpfs (${mount.stderr.trim()}): run it as root`)
  try {
    const big = put(tarOfMembers([{ path: 'big', data: 'x'.repeat(3 << 20) }]))
    const expected = imageError(
      'ERR_IMAGE_SPACE',
      /needs more space than is left on the disk: free some \(`boxlab image gc --max-size 10G`\)/,
    )
    expect(await refusal(tarball(big), small)).toEqual(expected)
    // Enough for what is read, too little for the image.
    const half = put(tarOfMembers([{ path: 'half', data: 'x'.repeat(600_000) }]))
    expect(await refusal(tarball(half), small)).toEqual(expected)
    expect(await refusal(tarball(half, { format: 'erofs' }), small)).toEqual(expected)
  } finally {
    execFileSync('umount', [small])
  }
})

/** The beginning of a qcow2 version 3 file with a backing file. */
function qcow2(backing: string): Buffer {
  const bytes = Buffer.alloc(65_536)
  bytes.write('QFI\u{fb}', 0, 'latin1')
  bytes.writeUInt32BE(3, 4)
  bytes.writeBigUInt64BE(1024n, 8)
  bytes.writeUInt32BE(backing.length, 16)
  bytes.writeUInt32BE(104, 100)
  bytes.write(backing, 1024)
  return bytes
}
