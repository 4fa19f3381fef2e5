import { execFile } from 'node:child_process'
import { lstat, mkdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { type CpioEntry, encodeCpio } from '../../src/images/index.ts'
import { temporaryFolder } from './temporary-folder.ts'

const run = promisify(execFile)
const hasCpio = await run('cpio', ['--version']).then(
  () => true,
  () => false,
)

describe('a cpio archive', () => {
  test('is header, name and data, each ended at a multiple of 4, with times of 0', () => {
    const archive = encodeCpio([
      { type: 'directory', path: 'bin' },
      { type: 'file', path: '/bin/a', data: Buffer.from('12345'), mode: 0o755 },
    ])
    // ino, mode, uid, gid, nlink, mtime, filesize, dev, dev, rdev, rdev, namesize, check
    const bin =
      '070701 00000001 000041ED 00000000 00000000 00000002 00000000 00000000 00000000 00000000 00000000 00000000 00000004 00000000'
    const file =
      '070701 00000002 000081ED 00000000 00000000 00000001 00000000 00000005 00000000 00000000 00000000 00000000 00000006 00000000'
    const end =
      '070701 00000000 00000000 00000000 00000000 00000001 00000000 00000000 00000000 00000000 00000000 00000000 0000000B 00000000'
    const expected = [bin, 'bin\0', '\0\0', file, 'bin/a\0', '12345\0\0\0', end, 'TRAILER!!!\0', '\0\0\0']
    expect(archive.toString('latin1')).toBe(expected.join('').replaceAll(' ', ''))
    expect(archive.length % 4).toBe(0)
  })

  test('has links with their target as data, and device nodes with their numbers', () => {
    const archive = encodeCpio([
      { type: 'symlink', path: 'sh', target: '/bin/busybox' },
      { type: 'device', path: 'console', kind: 'char', major: 5, minor: 1 },
      { type: 'device', path: 'vda', kind: 'block', major: 254, minor: 16, mode: 0o660 },
    ]).toString('latin1')
    expect(archive).toContain('0000A1FF')
    expect(archive).toContain('sh\0\0\0\0/bin/busybox')
    expect(archive).toMatch(/00002180.{40}0{16}0000000500000001/)
    expect(archive).toMatch(/000061B0.{40}0{16}000000FE00000010/)
  })

  test('of the same entries is the same bytes', () => {
    const entries: CpioEntry[] = [
      { type: 'directory', path: 'etc', mode: 0o700 },
      { type: 'file', path: 'etc/hosts', data: Buffer.from('::1 localhost\n') },
    ]
    expect(encodeCpio(entries)).toEqual(encodeCpio(structuredClone(entries)))
  })

  test.for([
    ['a file before its directory', ['bin/sh'], 'no directory bin comes before it'],
    ['a path twice', ['sh', '/sh'], 'it comes twice'],
    ['a path out of the root', ['../sh'], 'not a plain one'],
    ['a path that ends in a slash', ['sh/'], 'not a plain one'],
    ['an empty path', ['/'], 'not a plain one'],
    ['the name of the end mark', ['TRAILER!!!'], 'ends the archive'],
    ['a path longer than the kernel reads', ['x'.repeat(4096)], 'longer than 4095 bytes'],
    ['a file below a file', ['sh', 'sh/a'], 'no directory sh'],
  ] as const)('refuses %s', ([, paths, message]) => {
    const entries = paths.map((path): CpioEntry => ({ type: 'file', path, data: Buffer.alloc(0) }))
    expect(() => encodeCpio(entries)).toThrow(
      expect.objectContaining({ code: 'ERR_IMAGE_CPIO', message: expect.stringContaining(message) }),
    )
  })

  test('is listed and unpacked by cpio as it was meant', async ({ skip }) => {
    skip(!hasCpio, 'the tool cpio is not installed (package cpio)')
    const folder = await temporaryFolder()
    const data = Buffer.from(Array.from({ length: 1001 }, (_, index) => index % 251))
    const archive = encodeCpio([
      { type: 'directory', path: '.' },
      { type: 'directory', path: 'bin' },
      { type: 'directory', path: 'tmp', mode: 0o1777 },
      { type: 'file', path: 'bin/tool', data, mode: 0o750 },
      { type: 'file', path: 'bin/empty', data: Buffer.alloc(0) },
      { type: 'file', path: 'bin/zażółć', data: Buffer.from('name of many bytes') },
      { type: 'symlink', path: 'bin/link', target: '../bin/tool' },
      { type: 'device', path: 'null', kind: 'char', major: 1, minor: 3, mode: 0o666 },
    ])
    await writeFile(join(folder, 'a.cpio'), archive)
    const listing = await run('cpio', ['--list', '--verbose', '--numeric-uid-gid', '--file', join(folder, 'a.cpio')], {
      env: { TZ: 'UTC', LC_ALL: 'C', PATH: process.env['PATH'] },
    })
    expect(listing.stdout).toMatch(/^drwxrwxrwt\s+2\s+0\s+0\s+0 Jan\s+1\s+1970 tmp$/m)
    expect(listing.stdout).toMatch(/^-rwxr-x---\s+1\s+0\s+0\s+1001 Jan\s+1\s+1970 bin\/tool$/m)
    expect(listing.stdout).toMatch(/^crw-rw-rw-\s+1\s+0\s+0\s+1,\s+3 Jan\s+1\s+1970 null$/m)
    expect(listing.stderr).toMatch(/^\d+ blocks$/m)

    const out = join(folder, 'out')
    await mkdir(out)
    // Device nodes need root: they are seen in the listing.
    await run('cpio', ['--extract', '--no-preserve-owner', '--file', join(folder, 'a.cpio'), 'bin', 'bin/*'], {
      cwd: out,
    })
    expect(await readFile(join(out, 'bin/tool'))).toEqual(data)
    expect((await lstat(join(out, 'bin/tool'))).mode & 0o7777).toBe(0o750)
    expect(await readFile(join(out, 'bin/empty'))).toHaveLength(0)
    expect(await readFile(join(out, 'bin/zażółć'), 'utf8')).toBe('name of many bytes')
    expect(await readlink(join(out, 'bin/link'))).toBe('../bin/tool')
  })
})
