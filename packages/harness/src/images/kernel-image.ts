import { createReadStream } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { ImageError, systemCode } from './errors.ts'
import { EM_X86_64, PT_NOTE, readElfHeader } from './elf.ts'

/** What a kernel file says about itself. */
export interface KernelImage {
  readonly format: 'bzImage' | 'elf'
  /** The release, what `uname -r` prints in the guest; absent when the file does not tell. */
  readonly release?: string
  /** The whole version line of a bzImage: release, builder, build number and date. */
  readonly versionLine?: string
}

// Setup code of a bzImage: at most 64 sectors and the boot sector; the version pointer reaches 64 KiB + 512.
const START_BYTES = 0x1_0000 + 0x400

/**
 * Checks that `path` is an x86 kernel that an engine can start without a boot loader: a bzImage, or an ELF vmlinux
 * with a PVH entry. Fails with ERR_IMAGE_KERNEL in one sentence that names the `kernel` option.
 */
export async function checkKernelImage(path: string): Promise<KernelImage> {
  const file = await openKernel(path)
  try {
    const start = await readAt(file, 0, START_BYTES)
    if (hasBootHeader(start)) return bzImage(start)
    const elf = readElfHeader(start)
    if (elf === undefined) {
      throw refusal(path, 'it is not an x86 Linux kernel (neither a bzImage boot header nor ELF)')
    }
    if (elf.machine !== EM_X86_64) throw refusal(path, `it is ELF for machine ${elf.machine}, not for x86-64`)
    const notes = elf.segments.filter((segment) => segment.type === PT_NOTE)
    const read = await Promise.all(notes.map((note) => readAt(file, note.offset, Math.min(note.size, 1 << 20))))
    if (!read.some(hasPvhEntry))
      throw refusal(path, 'it is ELF without a PVH entry: build it with CONFIG_PVH=y, or give the bzImage')
  } finally {
    await file.close()
  }
  const release = await findRelease(path)
  return { format: 'elf', ...(release === undefined ? {} : { release }) }
}

/** The bytes of a file's start that {@link looksLikeKernel} needs. */
export const KERNEL_START_BYTES: number = 0x264

/** A first look at the start of a file, for a refusal before anything is begun; `checkKernelImage` looks closer. */
export function looksLikeKernel(start: Buffer): boolean {
  return hasBootHeader(start) || readElfHeader(start) !== undefined
}

/** boot_flag 0xAA55 at 0x1FE, header magic at 0x202: the kernel's Documentation/arch/x86/boot.rst. */
function hasBootHeader(start: Buffer): boolean {
  return (
    start.length >= KERNEL_START_BYTES &&
    start.readUInt16LE(0x1fe) === 0xaa55 &&
    start.toString('latin1', 0x202, 0x206) === 'HdrS'
  )
}

/** kernel_version at 0x20E: offset of a NUL-terminated text, less 0x200; 0 says there is none. */
function bzImage(start: Buffer): KernelImage {
  const pointer = start.readUInt16LE(0x20e)
  if (pointer === 0) return { format: 'bzImage' }
  const from = pointer + 0x200
  const end = start.indexOf(0, from)
  const versionLine = start.toString('latin1', from, end < 0 ? from : end)
  const release = versionLine.split(' ', 1)[0]
  return release ? { format: 'bzImage', release, versionLine } : { format: 'bzImage' }
}

/** A note of owner "Xen" and type 18 (XEN_ELFNOTE_PHYS32_ENTRY) is where a PVH loader enters. */
function hasPvhEntry(notes: Buffer): boolean {
  for (let at = 0; at + 12 <= notes.length;) {
    const nameBytes = notes.readUInt32LE(at)
    const valueBytes = notes.readUInt32LE(at + 4)
    const isXen = notes.toString('latin1', at + 12, at + 12 + nameBytes) === 'Xen\0'
    if (isXen && notes.readUInt32LE(at + 8) === 18) return true
    at += 12 + Math.ceil(nameBytes / 4) * 4 + Math.ceil(valueBytes / 4) * 4
  }
  return false
}

/** An ELF kernel has no version field; its banner ("Linux version 6.1.0 (...)") is plain text in it. */
async function findRelease(path: string): Promise<string | undefined> {
  let tail = ''
  for await (const chunk of createReadStream(path, { highWaterMark: 4 << 20, encoding: 'latin1' })) {
    const text: string = tail + String(chunk)
    const release = /Linux version (\d[\w.+~-]*) /.exec(text)?.[1]
    if (release !== undefined) return release
    tail = text.slice(-256)
  }
  return undefined
}

async function openKernel(path: string): Promise<FileHandle> {
  try {
    // Asked before it is opened: opening a pipe waits for a writer.
    if ((await stat(path)).isFile()) return await open(path, 'r')
  } catch (error) {
    const reasons: Record<string, string> = {
      ENOENT: 'there is no such file',
      EACCES: 'it cannot be read by this user',
    }
    throw refusal(path, reasons[systemCode(error) ?? ''] ?? 'it cannot be opened', error)
  }
  throw refusal(path, 'it is not a file: name the kernel file itself, such as /boot/vmlinuz-6.1.0')
}

async function readAt(file: FileHandle, offset: number, bytes: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, offset)
  return buffer.subarray(0, bytesRead)
}

function refusal(path: string, reason: string, cause?: unknown): ImageError {
  return new ImageError('ERR_IMAGE_KERNEL', `The \`kernel\` option ${path} cannot be used: ${reason}`, cause)
}
