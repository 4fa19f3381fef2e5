import { BLOCK_BYTES } from './geometry.ts'

/** Consecutive blocks of a file that lie consecutively on the disk. */
export interface Extent {
  readonly fileBlock: number
  readonly diskBlock: number
  readonly count: number
}

/** Where the map of a file's blocks goes: into the inode, and what does not fit into blocks of its own. */
export interface ExtentTree {
  /** The 60 bytes of the inode. */
  readonly root: Buffer
  /** Bytes of the blocks, in the order of their numbers. */
  readonly blocks: readonly Buffer[]
}

/** An extent that is initialised can count as many blocks (ext4_extent.ee_len). */
export const EXTENT_LIMIT_BLOCKS = 32_768

const MAGIC = 0xf30a
const ENTRY_BYTES = 12
const ROOT_ENTRIES = 4
const BLOCK_ENTRIES = Math.floor((BLOCK_BYTES - ENTRY_BYTES) / ENTRY_BYTES)

/** How many blocks the map needs beside the inode. */
export function extentTreeBlocks(extents: number): number {
  let blocks = 0
  for (let entries = extents; entries > ROOT_ENTRIES; blocks += entries) entries = Math.ceil(entries / BLOCK_ENTRIES)
  return blocks
}

/** The map as the kernel reads it (Documentation/filesystems/ext4/ifork.rst, "Extent Tree"); its blocks begin at `firstBlock`. */
export function extentTree(extents: readonly Extent[], firstBlock: number): ExtentTree {
  const blocks: Buffer[] = []
  let depth = 0
  let entries = extents.map(leafEntry)
  let firsts = extents.map(({ fileBlock }) => fileBlock)
  while (entries.length > ROOT_ENTRIES) {
    const above: Buffer[] = []
    const aboveFirsts: number[] = []
    for (let at = 0; at < entries.length; at += BLOCK_ENTRIES) {
      above.push(indexEntry(firsts[at]!, firstBlock + blocks.length))
      aboveFirsts.push(firsts[at]!)
      blocks.push(node(entries.slice(at, at + BLOCK_ENTRIES), depth, BLOCK_BYTES))
    }
    entries = above
    firsts = aboveFirsts
    depth += 1
  }
  return { root: node(entries, depth, ENTRY_BYTES * (ROOT_ENTRIES + 1)), blocks }
}

function node(entries: readonly Buffer[], depth: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes)
  buffer.writeUInt16LE(MAGIC, 0)
  buffer.writeUInt16LE(entries.length, 2)
  buffer.writeUInt16LE(Math.floor(bytes / ENTRY_BYTES) - 1, 4)
  buffer.writeUInt16LE(depth, 6)
  for (const [index, entry] of entries.entries()) entry.copy(buffer, ENTRY_BYTES * (index + 1))
  return buffer
}

function leafEntry({ fileBlock, diskBlock, count }: Extent): Buffer {
  const entry = Buffer.alloc(ENTRY_BYTES)
  entry.writeUInt32LE(fileBlock, 0)
  entry.writeUInt16LE(count, 4)
  entry.writeUInt32LE(diskBlock, 8)
  return entry
}

function indexEntry(fileBlock: number, diskBlock: number): Buffer {
  const entry = Buffer.alloc(ENTRY_BYTES)
  entry.writeUInt32LE(fileBlock, 0)
  entry.writeUInt32LE(diskBlock, 4)
  return entry
}
