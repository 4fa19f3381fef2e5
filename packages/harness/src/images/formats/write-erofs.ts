import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ImageError } from '../errors.ts'
import { runTool, type ToolOptions } from '../run-tool.ts'
import { toolDigest } from '../tool-digest.ts'
import { writeTar } from '../tar/write-tar.ts'
import type { DirectoryNode } from '../tree/node.ts'
import type { Spool } from '../tree/spool.ts'

/** How an erofs image is written. */
export interface ErofsOptions {
  /** The tree's digest: the UUID comes from it. */
  readonly digest: string
  readonly signal?: AbortSignal | undefined
}

const WHEN_MISSING = "install the package erofs-utils, or use format 'ext4'"

/** Its bytes depend on the maker's version. Fails with ERR_IMAGE_TOOL_MISSING. */
export function erofsMakerDigest(): Promise<string> {
  return toolDigest('mkfs.erofs', WHEN_MISSING)
}

/**
 * Writes a tree as an erofs file system with mkfs.erofs. That takes a folder (archives only since 1.7), so the tree is
 * unpacked by GNU tar, beside the image, from an archive of ours in which no path leads anywhere else. Owners and device
 * nodes need root: ERR_IMAGE_PRIVILEGE. Equal trees give equal bytes with one version of mkfs.erofs.
 */
export async function writeErofs(
  path: string,
  root: DirectoryNode,
  spool: Spool,
  options: ErofsOptions,
): Promise<void> {
  if (process.getuid?.() !== 0) {
    const message =
      "An erofs image needs root, since its tree is unpacked with its owners and devices: use format 'ext4', or run as root"
    throw new ImageError('ERR_IMAGE_PRIVILEGE', message)
  }
  // Nobody else gets at programs with the setuid bit that lie here for a moment.
  const guarded = join(dirname(path), 'unpacked')
  const folder = join(guarded, 'tree')
  const made = join(guarded, 'image')
  await mkdir(guarded, { mode: 0o700 })
  await mkdir(folder)
  const { signal } = options
  try {
    const unpack = [
      '--extract',
      '--numeric-owner',
      '--same-owner',
      '--preserve-permissions',
      '--delay-directory-restore',
    ]
    await runTool('tar', [...unpack, '--xattrs', '--xattrs-include=*', '--directory', folder], {
      input: writeTar(root, spool),
      ...toolOptions(signal),
      whenMissing: 'install the package tar',
    })
    const uuid = options.digest.replace(/^sha256:/, '').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5')
    const form = ['-Enosbcrc,force-inode-extended', '--preserve-mtime', '-U', uuid]
    await runTool('mkfs.erofs', [...form, made, folder], toolOptions(signal)).catch((error: unknown) => {
      throw explained(error)
    })
    await clearBuildTime(made)
    await rename(made, path)
  } finally {
    await rm(guarded, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** Version 1.5 cuts names of 255 bytes and then does not find them, for one. */
function explained(error: unknown): unknown {
  if (!(error instanceof ImageError) || error.code !== 'ERR_IMAGE_COMMAND') return error
  const message = `mkfs.erofs cannot take this tree: use format 'ext4', or another version of erofs-utils (${error.message})`
  return new ImageError('ERR_IMAGE_FORMAT', message, error)
}

/** build_time and build_time_nsec of erofs_super_block (fs/erofs/erofs_fs.h); all inodes have times of their own. */
async function clearBuildTime(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.write(Buffer.alloc(12), 0, 12, 1024 + 24)
  } finally {
    await file.close()
  }
}

function toolOptions(signal: AbortSignal | undefined): ToolOptions {
  return { whenMissing: WHEN_MISSING, signal }
}
