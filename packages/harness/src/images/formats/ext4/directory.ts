import type { DirectoryNode, TreeNode } from '../../tree/node.ts'
import { sortedChildren } from '../../tree/node.ts'
import { BLOCK_BYTES } from './geometry.ts'

/** The byte after a name's length in a directory (EXT4_FT_… of fs/ext4/ext4.h). */
const FILE_TYPES: Readonly<Record<TreeNode['kind'], number>> = {
  file: 1,
  directory: 2,
  char: 3,
  block: 4,
  fifo: 5,
  symlink: 7,
}

/**
 * The blocks of a directory: a plain list of names in the order of their bytes
 * (Documentation/filesystems/ext4/directory.rst, "Linear (Classic) Directories").
 */
export function directoryBlocks(
  directory: DirectoryNode,
  inode: number,
  parent: number,
  inodeOf: (node: TreeNode) => number,
): Buffer {
  const blocks: Buffer[] = []
  let block = Buffer.alloc(BLOCK_BYTES)
  let at = 0
  let last = 0
  const close = (): void => {
    // The last entry of a block reaches to its end.
    block.writeUInt16LE(BLOCK_BYTES - last, last + 4)
    blocks.push(block)
  }
  const add = (name: string, target: number, type: number): void => {
    const bytes = entryBytes(name)
    if (at + bytes > BLOCK_BYTES) {
      close()
      block = Buffer.alloc(BLOCK_BYTES)
      at = 0
    }
    block.writeUInt32LE(target, at)
    block.writeUInt16LE(bytes, at + 4)
    block.writeUInt8(name.length, at + 6)
    block.writeUInt8(type, at + 7)
    block.write(name, at + 8, 'latin1')
    last = at
    at += bytes
  }
  add('.', inode, FILE_TYPES.directory)
  add('..', parent, FILE_TYPES.directory)
  for (const [name, node] of sortedChildren(directory)) add(name, inodeOf(node), FILE_TYPES[node.kind])
  close()
  return Buffer.concat(blocks)
}

/** How many blocks `directoryBlocks` will give. */
export function directoryBlockCount(directory: DirectoryNode): number {
  let blocks = 1
  let at = entryBytes('.') + entryBytes('..')
  for (const [name] of sortedChildren(directory)) {
    const bytes = entryBytes(name)
    if (at + bytes > BLOCK_BYTES) {
      blocks += 1
      at = 0
    }
    at += bytes
  }
  return blocks
}

function entryBytes(name: string): number {
  return (8 + name.length + 3) & ~3
}
