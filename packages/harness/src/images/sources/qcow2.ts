import { open, realpath } from 'node:fs/promises'
import { dirname, resolve, sep } from 'node:path'
import { ImageError, systemCode } from '../errors.ts'

const CHAIN_LIMIT = 64
const NAME_LIMIT_BYTES = 1023
/** Header extensions: the end, and the name of a file that holds the data. */
const EXTENSION_END = 0
const EXTENSION_DATA_FILE = 0x44415441
const INCOMPATIBLE_DATA_FILE = 1n << 2n

/**
 * The files that a qcow2 disk is built on, nearest first: backing files and external data files (QEMU docs/interop/qcow2.rst,
 * "Header"). Each must be a file in the folder of the disk that names it. Fails with ERR_IMAGE_DISK.
 */
export async function qcow2Files(path: string): Promise<string[]> {
  const found: string[] = []
  const waiting = [path]
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    for (const name of await namedFiles(next)) {
      const file = await ownFile(next, name)
      if (found.includes(file) || file === path || found.length >= CHAIN_LIMIT) {
        throw refusal(path, `it is built on ${file} in a circle, or on more than ${CHAIN_LIMIT} files: flatten it`)
      }
      found.push(file)
      waiting.push(file)
    }
  }
  return found
}

/** What the header of one disk names; nothing when the file is not qcow2. */
async function namedFiles(path: string): Promise<string[]> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(1 << 16), 0, 1 << 16, 0)
    const bytes = buffer.subarray(0, bytesRead)
    if (bytes.length < 72 || bytes.toString('latin1', 0, 4) !== 'QFI\u{fb}') return []
    const version = bytes.readUInt32BE(4)
    const text = (at: number, length: number): string => {
      if (length > NAME_LIMIT_BYTES || at + length > bytes.length)
        throw refusal(path, 'its header is damaged: make it again')
      return bytes.toString('utf8', at, at + length)
    }
    const backingAt = Number(bytes.readBigUInt64BE(8))
    const names = backingAt === 0 ? [] : [text(backingAt, bytes.readUInt32BE(16))]
    if (version < 3 || bytes.length < 104) return names
    const usesDataFile = (bytes.readBigUInt64BE(72) & INCOMPATIBLE_DATA_FILE) !== 0n
    let dataFile: string | undefined
    for (let at = bytes.readUInt32BE(100); at + 8 <= bytes.length;) {
      const type = bytes.readUInt32BE(at)
      const length = bytes.readUInt32BE(at + 4)
      if (type === EXTENSION_END) break
      if (type === EXTENSION_DATA_FILE) dataFile = text(at + 8, length)
      at += 8 + Math.ceil(length / 8) * 8
    }
    if (usesDataFile && dataFile === undefined) throw refusal(path, 'it keeps its data in a file that it does not name')
    return dataFile === undefined ? names : [...names, dataFile]
  } finally {
    await file.close()
  }
}

/** The file of that name, when it lies where the disk lies. */
async function ownFile(disk: string, name: string): Promise<string> {
  const folder = dirname(disk)
  const remedy = `put it into ${folder} and name it relatively (\`qemu-img rebase\`), or flatten the disk (\`qemu-img convert\`)`
  // Names with a protocol (nbd:, json:, https:) lead elsewhere altogether.
  if (/^[a-z][a-z0-9+.-]*:/i.test(name)) throw refusal(disk, `it is built on ${name}, which is no file: ${remedy}`)
  try {
    const real = await realpath(resolve(folder, name))
    if (real.startsWith(`${folder}${sep}`)) return real
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
    throw refusal(disk, `it is built on ${name}, which is not there: ${remedy}`)
  }
  throw refusal(disk, `it is built on ${name} outside of its own folder: ${remedy}`)
}

function refusal(path: string, what: string): ImageError {
  return new ImageError('ERR_IMAGE_DISK', `The disk ${path} cannot be used: ${what}`)
}
