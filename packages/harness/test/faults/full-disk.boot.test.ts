import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { bootBox } from '../../src/index.ts'
import { firmwareBox, ownHome } from '../fixtures/own-home.ts'
import { alive, ownEngines } from '../fixtures/processes.ts'
import { rejection } from '../fixtures/rejection.ts'

const home = ownHome()
const firmware = firmwareBox(home)

/** A file system in memory of so many KiB, until the test ends. */
function smallFileSystem(name: string, sizeKib: number): string {
  const folder = join(home, name)
  mkdirSync(folder)
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeKib}k`, 'boxlab-test', folder], {
    encoding: 'utf8',
  })
  if (mount.status !== 0) {
    const words = mount.error?.message ?? mount.stderr.trim()
    throw new Error(`this test needs to mount a small tmpfs (${words}): run it as root, or in \`unshare -Urm\``)
  }
  onTestFinished(() => void spawnSync('umount', ['-l', folder]))
  return folder
}

/** Fills a file system to its last byte. */
function fill(folder: string): void {
  const file = openSync(join(folder, 'ballast'), 'w')
  const block = Buffer.alloc(4096, 0x55)
  try {
    for (;;) writeSync(file, block)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    closeSync(file)
  }
}

// A record takes eight pages of 4 KiB and more: there are too few from the first file on, or from the middle of the boot.
test.for([4, 12, 24])('a boot whose record has %i KiB of room fails with the file and the reason', async (sizeKib) => {
  const dir = join(smallFileSystem(`small-${sizeKib}`, sizeKib), 'record')
  const { error } = await rejection(bootBox({ ...firmware, record: { dir } }))
  expect(error.code).toBe('ERR_BOX_RECORD')
  expect(error.summary).toMatch(/^the record .*\/record\/[\w.]+\b.* No space left on device/)
  expect(ownEngines()).toEqual([])
})

test('a disk that fills up after ready fails the stop, once the engine is gone', async () => {
  const folder = smallFileSystem('filled', 256)
  const box = await bootBox({ ...firmware, record: { dir: join(folder, 'record') } })
  const { pid } = box.info()
  fill(folder)
  const { error } = await rejection(box.stop())
  expect(error.code).toBe('ERR_BOX_RECORD')
  expect(error.summary).toMatch(/^the record .*\/record\/[\w.]+\b.* No space left on device/)
  expect(alive(pid)).toBe(false)
  expect(ownEngines()).toEqual([])
})
