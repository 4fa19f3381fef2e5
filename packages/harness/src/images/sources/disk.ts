import { type FileHandle, open } from 'node:fs/promises'
import { runCommand } from '../command.ts'
import { bytesDigest } from '../digest.ts'
import { ImageError } from '../errors.ts'
import type { ImageSource, RootImage } from '../root-image.ts'
import { qcow2Files } from './qcow2.ts'
import { sourceFile } from './source-file.ts'

/** How a disk is read. */
export interface DiskSourceOptions {
  /** Default: qcow2 when the file begins like one, else raw. */
  readonly format?: 'raw' | 'qcow2'
}

/**
 * A disk of the user's. Its file is used where it is and never written to. Files that a qcow2 disk is built on must lie in the
 * disk's own folder (ERR_IMAGE_DISK), since a disk from somewhere else could name any file of the host.
 */
export function disk(path: string, options: DiskSourceOptions = {}): ImageSource {
  const name = `disk ${path}`
  return {
    name,
    async resolve({ signal }): Promise<RootImage> {
      const file = await sourceFile(path, 'disk')
      const { format, start } = await recognise(file.path, options.format)
      const files = format === 'qcow2' ? await qcow2Files(file.path) : []
      const below = await Promise.all(files.map((each) => sourceFile(each, `file that ${path} is built on,`)))
      const digests = [file, ...below].map(({ sha256 }) => sha256)
      return {
        path: file.path,
        format,
        digest: `sha256:${below.length === 0 ? file.sha256 : bytesDigest(digests.join('\n'))}`,
        bytes: file.bytes,
        hasInit: format === 'qcow2' || (await hasInit(file.path, start, signal)),
        cached: true,
      }
    },
  }
}

const START_BYTES = 2048

async function recognise(path: string, asked?: 'raw' | 'qcow2'): Promise<{ format: 'raw' | 'qcow2'; start: Buffer }> {
  let file: FileHandle | undefined
  try {
    file = await open(path)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(START_BYTES), 0, START_BYTES, 0)
    const start = buffer.subarray(0, bytesRead)
    const isQcow2 = start.toString('latin1', 0, 4) === 'QFI\u{fb}'
    if (asked === 'qcow2' && !isQcow2) {
      throw new ImageError('ERR_IMAGE_DISK', `The disk ${path} is no qcow2 file: leave \`format\` out, or give 'raw'`)
    }
    if (start.length < 512) {
      throw new ImageError('ERR_IMAGE_DISK', `The disk ${path} is shorter than one sector of 512 bytes: make it again`)
    }
    return { format: asked ?? (isQcow2 ? 'qcow2' : 'raw'), start }
  } finally {
    await file?.close()
  }
}

/** A disk with a partition table has a system of its own; a bare ext file system is looked into. */
async function hasInit(path: string, start: Buffer, signal: AbortSignal | undefined): Promise<boolean> {
  // Magic of ext2, 3 and 4, at byte 56 of the superblock.
  if (start.length >= START_BYTES && start.readUInt16LE(1024 + 56) === 0xef53) {
    for (const init of ['/sbin/init', '/lib/systemd/systemd', '/usr/lib/systemd/systemd', '/init']) {
      const whenMissing = 'install the package e2fsprogs'
      const words = await runCommand('debugfs', ['-R', `stat ${init}`, path], {
        whenMissing,
        signal,
      })
      if (words.includes('Inode: ')) return true
    }
    return false
  }
  // The signature that ends a boot sector, of GPT's protective one too.
  return start.readUInt16LE(510) === 0xaa55
}
