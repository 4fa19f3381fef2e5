import { CPIO_TRAILER, cpioHeader, cpioPadding } from '../cpio.ts'
import { ImageError } from '../errors.ts'
import { printable } from '../tar/read-tar.ts'
import { type DirectoryNode, type TreeNode, walkTree } from '../tree/node.ts'
import { type Spool, SPOOL_BLOCK_BYTES } from '../tree/spool.ts'
import { FILE_TYPE_BITS } from './file-types.ts'
import { BufferedFile } from '../buffered-file.ts'

/** How an initramfs is written. */
export interface WriteInitramfsOptions {
  readonly signal?: AbortSignal | undefined
  readonly onBytes?: (done: number) => void
}

/** Sizes have eight hex digits. */
const SIZE_LIMIT_BYTES = 0xffff_ffff
const ZEROS = Buffer.alloc(1 << 20)

/**
 * Writes a tree as a cpio archive for the kernel, not compressed. The format has no xattrs, so that a tree with some (a file
 * capability) is refused: ERR_IMAGE_FORMAT. A file with several names has its data with the last, where cpio(1) has it.
 */
export async function writeInitramfs(
  path: string,
  root: DirectoryNode,
  spool: Spool,
  options: WriteInitramfsOptions = {},
): Promise<void> {
  const names = new Map<TreeNode, { inode: number; links: number; left: number }>()
  for (const { path: place, node } of walkTree(root)) {
    check(place, node)
    const known = names.get(node)
    if (known) names.set(node, { inode: known.inode, links: known.links + 1, left: known.left + 1 })
    else names.set(node, { inode: names.size + 1, links: node.kind === 'directory' ? 2 : 1, left: 1 })
  }
  const writer = await BufferedFile.create(path, 'Writing the image')
  try {
    for (const { path: place, node } of walkTree(root)) {
      options.signal?.throwIfAborted()
      const known = names.get(node)!
      known.left -= 1
      const data = node.kind === 'symlink' ? Buffer.from(node.target, 'latin1') : undefined
      const isLast = node.kind === 'file' && known.left === 0
      const bytes = isLast ? node.content.size : (data?.length ?? 0)
      const isDevice = node.kind === 'char' || node.kind === 'block'
      await writer.write(
        cpioHeader({
          path: Buffer.from(place === '' ? '.' : place, 'latin1'),
          inode: known.inode,
          mode: FILE_TYPE_BITS[node.kind] | node.mode,
          uid: node.uid,
          gid: node.gid,
          links: known.links,
          seconds: clampedSeconds(node.mtimeNs),
          bytes,
          ...(isDevice && { major: node.major, minor: node.minor }),
        }),
      )
      if (isLast) await writeContent(writer, node, spool)
      else if (data) await writer.write(data)
      await writer.write(cpioPadding(bytes))
      options.onBytes?.(writer.position)
    }
    const end = { path: CPIO_TRAILER, inode: 0, mode: 0, uid: 0, gid: 0, links: 1, seconds: 0, bytes: 0 }
    await writer.write(cpioHeader(end))
    await writer.finish()
  } finally {
    await writer.close()
  }
}

async function writeContent(writer: BufferedFile, node: TreeNode & { kind: 'file' }, spool: Spool): Promise<void> {
  const start = writer.position
  const end = start + node.content.size
  const zerosTo = async (position: number): Promise<void> => {
    while (writer.position < position) await writer.write(ZEROS.subarray(0, position - writer.position))
  }
  for (const run of node.content.runs) {
    await zerosTo(start + run.fileBlock * SPOOL_BLOCK_BYTES)
    for await (const blocks of spool.read(run)) await writer.write(blocks.subarray(0, end - writer.position))
  }
  await zerosTo(end)
}

function check(path: string, node: TreeNode): void {
  const refuse = (what: string): ImageError =>
    new ImageError('ERR_IMAGE_FORMAT', `/${printable(path)} cannot go into an initramfs: ${what}. Use format 'ext4'`)
  const [attribute] = node.xattrs.keys()
  if (attribute !== undefined) throw refuse(`cpio has no place for its xattr ${printable(attribute)}`)
  if (node.kind === 'file' && node.content.size > SIZE_LIMIT_BYTES) throw refuse('it is larger than 4 GiB')
  if (path === CPIO_TRAILER) throw refuse('its name ends such an archive')
}

function clampedSeconds(timeNs: bigint): number {
  const seconds = timeNs / 1_000_000_000n
  return Number(seconds < 0n ? 0n : seconds > 0xffff_ffffn ? 0xffff_ffffn : seconds)
}
