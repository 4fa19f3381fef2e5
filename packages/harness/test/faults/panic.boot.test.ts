import { expect, test } from 'vitest'
import { Box, bootBox } from '../../src/index.ts'
import { ownHome } from '../fixtures/own-home.ts'
import { ownEngines } from '../fixtures/processes.ts'
import { atOf, rejection } from '../fixtures/rejection.ts'

ownHome()

test(
  'a boot without a root file system is a panic, told within a second of it, with the oops',
  { timeout: 120_000 },
  async () => {
    const box = new Box({ cmdline: 'rdinit=/nothing root=/dev/vda' })
    const ended = await rejection(box.boot())
    expect(ended.error).toMatchObject({ code: 'ERR_BOX_PANIC', lastMark: expect.any(String) as string })
    expect(ended.error.summary).toMatch(/Kernel panic - not syncing: VFS: Unable to mount root fs/)
    expect(ended.error.likelyCause).toMatch(/root/)
    expect(ended.error.consoleTail).toMatch(/Kernel panic[\s\S]*Call Trace:/)
    expect((ended.atNs - atOf(box.marks(), 'guest-panic')) / 1e6).toBeLessThan(1000)
    expect(ownEngines()).toEqual([])
  },
)

test(
  'a guest that panics under a command ends it within a second, as a panic with the oops',
  { timeout: 120_000 },
  async () => {
    await using box = await bootBox()
    const ended = await rejection(box.shell('echo c > /proc/sysrq-trigger'))
    expect(ended.error).toMatchObject({ code: 'ERR_BOX_PANIC' })
    expect(ended.error.message).toMatch(/Kernel panic - not syncing: sysrq triggered crash/)
    // A tail of so many lines may begin behind it: the oops is shown from its first line on.
    expect(ended.error.consoleTail).toMatch(/Kernel panic - not syncing: sysrq triggered crash[\s\S]*Call Trace:/)
    expect((ended.atNs - atOf(box.marks(), 'guest-panic')) / 1e6).toBeLessThan(1000)
    await expect(box.exec(['true'])).rejects.toMatchObject({
      code: expect.stringMatching(/ERR_BOX_(PANIC|STATE)/) as string,
    })
  },
)
