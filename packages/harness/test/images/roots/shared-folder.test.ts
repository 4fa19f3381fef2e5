import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { directory } from '../../../src/images/sources/index.ts'
import { folderFacts, followInFolder } from '../../../src/images/tree/folder-facts.ts'
import { settledStamp } from '../../../src/images/sources/directory-stamp.ts'
import { imageError } from './refusal.ts'

const scratch = mkdtempSync(join(tmpdir(), 'boxlab-shared-folder-'))
afterAll(() => rmSync(scratch, { recursive: true }))
const context = { cacheRoot: join(scratch, 'never-made') }

function folder(name: string): string {
  const place = join(scratch, name)
  for (const each of ['bin', 'sbin', 'usr/lib']) mkdirSync(join(place, each), { recursive: true })
  copyFileSync('/bin/busybox', join(place, 'bin/busybox'))
  return place
}

describe('a folder that is a root where it is', () => {
  test('is told by its own facts; its digest is of what it was before the boot, and waits for the end of changes', async () => {
    const place = folder('root')
    symlinkSync('/bin/busybox', join(place, 'sbin/init'))
    const source = directory(place, { format: 'virtiofs' })
    const began = performance.now()
    const image = await source.resolve(context)
    expect(performance.now() - began).toBeGreaterThan(1000)
    expect(image).toEqual({
      path: place,
      format: 'virtiofs',
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string,
      bytes: Number(execFileSync('stat', ['-c', '%s', '/bin/busybox'])),
      architecture: 'x86_64',
      hasInit: true,
      init: '/sbin/init',
      cached: true,
    })
    const again = performance.now()
    expect(await source.resolve(context)).toEqual(image)
    expect(performance.now() - again).toBeLessThan(1000)
    chmodSync(join(place, 'bin'), 0o700)
    expect((await source.resolve(context)).digest).not.toBe(image.digest)
  })

  test('is waited for no longer than its caller wants', async () => {
    const place = folder('abandoned')
    const signal = AbortSignal.timeout(100)
    const began = performance.now()
    const image = directory(place, { format: 'virtiofs' }).resolve({ ...context, signal })
    await expect(image).rejects.toEqual(imageError('ERR_IMAGE_ABORTED', /was aborted$/))
    expect(performance.now() - began).toBeLessThan(1500)
  })

  test('that changes all the time says so', async () => {
    const place = folder('restless')
    const changes = setInterval(() => writeFileSync(join(place, 'log'), 'again'), 100)
    const stamp = settledStamp(place, undefined, 3000)
    await expect(stamp).rejects.toEqual(
      imageError('ERR_IMAGE_SOURCE', /restless changes all the time: let nobody write to it while a box begins, or/),
    )
    clearInterval(changes)
  })
})

test('links are followed as in the guest: never out of the folder', () => {
  const place = folder('links')
  const led = (path: string): string | undefined => followInFolder(place, path)?.slice(place.length)
  symlinkSync('/usr/lib', join(place, 'lib'))
  symlinkSync('../../../../../bin/busybox', join(place, 'usr/lib/up'))
  symlinkSync('/etc/passwd', join(place, 'outside'))
  symlinkSync('round', join(place, 'round'))
  expect(led('lib/up')).toBe('/bin/busybox')
  expect(led('lib/./..//lib')).toBe('/usr/lib')
  expect(led('lib/../bin/busybox')).toBe(undefined)
  expect(led('outside')).toBe(undefined)
  expect(led('round')).toBe(undefined)
  expect(led('bin/busybox/below')).toBe(undefined)
})

test('an init must be a file that may be run, and a program tells the architecture without one', () => {
  const place = folder('facts')
  writeFileSync(join(place, 'sbin/init'), '#!/bin/sh\n')
  symlinkSync('/etc/passwd', join(place, 'init'))
  expect(folderFacts(place)).toEqual({ architecture: 'x86_64' })
  chmodSync(join(place, 'sbin/init'), 0o755)
  expect(folderFacts(place)).toEqual({ architecture: 'x86_64', init: '/sbin/init' })
})
