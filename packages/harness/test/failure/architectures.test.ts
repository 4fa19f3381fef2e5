import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { engineArchitecture, kernelArchitecture } from '../../src/failure/architectures.ts'

const folder = mkdtempSync(join(tmpdir(), 'boxlab-arch-'))
afterAll(() => rmSync(folder, { recursive: true }))

function kernel(size: number, ...parts: readonly (readonly [at: number, bytes: string | number[]])[]): string {
  const bytes = Buffer.alloc(size)
  for (const [at, part] of parts) Buffer.from(part as string, 'latin1').copy(bytes, at)
  const path = join(folder, 'kernel')
  writeFileSync(path, bytes)
  return path
}

const elf = '\x7fELF'
const kernels: readonly [string | undefined, ...(readonly [at: number, bytes: string | number[]])[]][] = [
  ['x86_64', [0, `${elf}\x02\x01`], [18, [62, 0]]],
  ['aarch64', [0, `${elf}\x02\x01`], [18, [183, 0]]],
  ['s390x', [0, `${elf}\x02\x02`], [18, [0, 22]]],
  ['i386', [0, `${elf}\x01\x01`], [18, [3, 0]]],
  [undefined, [0, `${elf}\x02\x01`], [18, [99, 0]]],
  ['aarch64', [0, 'MZ'], [56, 'ARM\x64']],
  ['riscv64', [0, 'MZ'], [56, 'RSC\x05']],
  ['x86_64', [0, 'MZ'], [0x202, 'HdrS'], [0x236, [0x7f, 0]]],
  ['i386', [0x202, 'HdrS']],
  [undefined, [0, 'MZ']],
]

describe('the architecture of a kernel', () => {
  it.each(kernels.map((one) => ({ architecture: one[0], parts: one.slice(1) as never })))(
    '$architecture: $parts',
    (one) => {
      expect(kernelArchitecture(kernel(0x400, ...(one.parts as [number, string][])))).toBe(one.architecture)
    },
  )

  it('is not known of a file that is short, missing or no file', () => {
    expect(kernelArchitecture(kernel(8, [0, elf]))).toBeUndefined()
    expect(kernelArchitecture(join(folder, 'none'))).toBeUndefined()
    execFileSync('mkfifo', [join(folder, 'pipe')])
    expect(kernelArchitecture(join(folder, 'pipe'))).toBeUndefined()
  })
})

it('the architecture of an engine is in its name, or in that of what a link names', () => {
  writeFileSync(join(folder, 'qemu-system-aarch64'), '')
  symlinkSync('qemu-system-aarch64', join(folder, 'engine'))
  expect(engineArchitecture('/usr/bin/qemu-system-x86_64')).toBe('x86_64')
  expect(engineArchitecture(join(folder, 'engine'))).toBe('aarch64')
  expect(engineArchitecture(join(folder, 'kernel'))).toBeUndefined()
  expect(engineArchitecture(join(folder, 'none'))).toBeUndefined()
})
