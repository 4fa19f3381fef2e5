import { copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Box, bootBox, debianKernel } from '../../src/index.ts'
import { ownHome } from '../fixtures/own-home.ts'
import { ownEngines } from '../fixtures/processes.ts'
import { rejection } from '../fixtures/rejection.ts'

const home = ownHome()

async function kernelCopy(name: string): Promise<string> {
  const { path } = await debianKernel().resolve({ cacheRoot: home })
  const copy = join(home, name)
  copyFileSync(path, copy)
  return copy
}

test('a kernel that is missing is refused when the box is made, by its path', () => {
  expect(() => new Box({ kernel: '/no/such/vmlinuz' })).toThrow('`kernel`: there is no file /no/such/vmlinuz')
})

test('a kernel that was removed since is an error that names the file, and the record tells of it', async () => {
  const kernel = await kernelCopy('removed')
  const box = new Box({ kernel })
  rmSync(kernel)
  const error = (await box.boot().catch((thrown: unknown) => thrown)) as Error & { code: string }
  expect(error.code).toBe('ERR_IMAGE_KERNEL')
  expect(error.message).toContain(kernel)
  expect(box.state).toBe('failed')
  const boot: unknown = JSON.parse(readFileSync(join(box.record, 'boot.json'), 'utf8'))
  expect(boot).toMatchObject({ outcome: 'failed', error: { code: 'ERR_IMAGE_KERNEL' } })
  expect(ownEngines()).toEqual([])
})

test('a file that is no kernel is refused when the box is made', () => {
  const text = join(home, 'text')
  writeFileSync(text, 'this is a text and no kernel\n'.repeat(100))
  expect(() => new Box({ kernel: text })).toThrow(
    `\`kernel\`: ${text} is not an x86 Linux kernel (neither a bzImage nor ELF)`,
  )
})

test('a kernel of which only the beginning is there ends the boot as a reset, right after the start', async () => {
  const kernel = await kernelCopy('truncated')
  truncateSync(kernel, 256 * 1024)
  const { error } = await rejection(bootBox({ kernel, accel: 'tcg' }))
  expect(error).toMatchObject({ code: 'ERR_BOX_RESET', lastMark: 'vm-start', exit: { code: 0 } })
  expect(ownEngines()).toEqual([])
})
