import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stateRoot } from '@boxlab/harness'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bootBox, disk, Wait } from '../../src/vitest/index.ts'
import { bootableDebian, writeBootableDisk } from './debian-disk.ts'

const scratch = mkdtempSync(join(tmpdir(), 'boxlab-disk-'))
const path = join(scratch, 'disk.img')
let before: string

beforeAll(async () => {
  const { path: root } = await bootableDebian.resolve({ cacheRoot: stateRoot() })
  writeBootableDisk(root, path)
  before = digestOf(path)
  // Packages are fetched and installed, and an initrd is made: a minute, once in a week.
}, 300_000)
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** Of all bytes, each time: ours is remembered while a file seems unchanged. */
function digestOf(file: string): string {
  return execFileSync('sha256sum', [file], { encoding: 'utf8' })
}

const firmwares = {
  // What QEMU has of its own.
  SeaBIOS: {},
  // Debian's package ovmf.
  OVMF: { firmware: '/usr/share/ovmf/OVMF.fd' },
} as const

describe.for(Object.entries(firmwares))('a Debian disk with a boot loader of its own, under %s', ([name, firmware]) => {
  test('boots to its login prompt, seen from outside alone, and stays as it is', { timeout: 240_000 }, async () => {
    const options = { boot: 'image', image: disk(path), cpus: 2, memoryMib: 768, accel: 'tcg' } as const
    await using box = await bootBox({ ...options, ...firmware, timeouts: { bootMs: 120_000 } })

    expect(box.state).toBe('running')
    // Its own boot loader, its own initrd, its own root, mounted for writing.
    await box.waitFor(Wait.forConsole('GRUB starts Debian'))
    await box.waitFor(Wait.forConsole(/EXT4-fs \(vda1\): re-mounted/))
    await box.waitFor(Wait.forConsole('disk login: '))
    expect(readFileSync(join(box.record, 'console.bin')).includes('efi: EFI v')).toBe(name === 'OVMF')
    expect(box).toReach('firmware')
    expect(box).toReach('kernel')
    expect(box).toReach('login-prompt', { within: '120s' })
    const marks = box.marks()
    const ofGuest = marks.slice(marks.findIndex(({ mark }) => mark === 'vm-start') + 1)
    expect(new Set(marks.map(({ source }) => source))).toEqual(new Set(['harness', 'runtime', 'qmp', 'console']))
    expect(ofGuest.filter(({ source }) => source === 'console').map(({ mark }) => mark)).toEqual(
      expect.arrayContaining(['kernel-first-line', 'init-run', 'login-prompt']),
    )

    const refusal = box.exec(['true'])
    await expect(refusal).rejects.toMatchObject({ code: 'ERR_BOX_STATE' })
    await expect(refusal).rejects.toThrow(/agent/)

    await box.stop()
    expect(digestOf(path)).toBe(before)
  })
})
