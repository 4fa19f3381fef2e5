import { closeSync, openSync, readSync, realpathSync, statSync } from 'node:fs'
import { basename } from 'node:path'

const startBytes = 0x264
// e_machine of elf(5).
const elfMachines = new Map([
  [3, 'i386'],
  [22, 's390x'],
  [40, 'arm'],
  [62, 'x86_64'],
  [183, 'aarch64'],
  [243, 'riscv64'],
  [258, 'loongarch64'],
])

/** The architecture of a kernel file, by its header; undefined where that does not tell. */
export function kernelArchitecture(path: string): string | undefined {
  const start = startOf(path)
  if (start === undefined || start.length < 0x40) return undefined
  if (start.readUInt32BE(0) === 0x7f454c46) {
    return elfMachines.get(start[5] === 2 ? start.readUInt16BE(18) : start.readUInt16LE(18))
  }
  // Documentation/arch/x86/boot.rst: `HdrS` at 0x202, bit 0 of xloadflags at 0x236 for a 64-bit entry.
  if (start.length >= startBytes && start.toString('latin1', 0x202, 0x206) === 'HdrS') {
    return (start.readUInt16LE(0x236) & 1) === 1 ? 'x86_64' : 'i386'
  }
  // Documentation/arch/arm64/booting.rst and riscv/boot-image-header.rst: the magic at 56.
  const magic = start.toString('latin1', 56, 60)
  return magic === 'ARMd' ? 'aarch64' : magic === 'RSC\u0005' ? 'riscv64' : undefined
}

/** The architecture that an engine emulates, by its program's name; undefined for a wrapper of another name. */
export function engineArchitecture(binary: string): string | undefined {
  const named = /^qemu-system-(\w+)$/
  try {
    return named.exec(basename(binary))?.[1] ?? named.exec(basename(realpathSync(binary)))?.[1]
  } catch {
    return undefined
  }
}

function startOf(path: string): Buffer | undefined {
  try {
    // Opening a pipe would wait for its writer.
    if (!statSync(path).isFile()) return undefined
    const file = openSync(path, 'r')
    try {
      const bytes = Buffer.alloc(startBytes)
      return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, 0))
    } finally {
      closeSync(file)
    }
  } catch {
    return undefined
  }
}
