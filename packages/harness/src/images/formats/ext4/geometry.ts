/** Bytes of a block; the spool keeps contents in the same unit. */
export const BLOCK_BYTES = 4096
export const INODE_BYTES = 256
export const ROOT_INODE = 2
/** Inodes before this one are the file system's own. */
export const FIRST_INODE = 11
/** One bitmap block has a bit for each block of its group. */
export const GROUP_BLOCKS = 32_768
export const DESCRIPTOR_BYTES = 32

/** Where everything lies, in blocks. All of the metadata is in front, so that the contents follow without a gap. */
export interface Geometry {
  readonly blocks: number
  readonly groups: number
  readonly inodesPerGroup: number
  readonly descriptorBlocks: number
  readonly blockBitmaps: number
  readonly inodeBitmaps: number
  readonly inodeTables: number
  readonly tableBlocksPerGroup: number
  /** The first block of contents. */
  readonly firstData: number
  /** Blocks before this one are in use, from it on free. */
  readonly usedBlocks: number
  /** Inodes up to this one are in use. */
  readonly lastInode: number
}

/** What has to fit. */
export interface Demand {
  readonly lastInode: number
  readonly dataBlocks: number
  readonly freeBlocks: number
  readonly freeInodes: number
}

/** The smallest file system for a demand. */
export function geometryFor({ lastInode, dataBlocks, freeBlocks, freeInodes }: Demand): Geometry {
  const inodes = lastInode + freeInodes
  for (let groups = Math.max(1, Math.ceil(inodes / GROUP_BLOCKS)); ; groups++) {
    // Sixteen inodes fill a block, and tables hold whole blocks.
    const inodesPerGroup = Math.ceil(Math.ceil(inodes / groups) / 16) * 16
    const descriptorBlocks = Math.ceil((groups * DESCRIPTOR_BYTES) / BLOCK_BYTES)
    const tableBlocksPerGroup = (inodesPerGroup * INODE_BYTES) / BLOCK_BYTES
    const blockBitmaps = 1 + descriptorBlocks
    const firstData = blockBitmaps + 2 * groups + tableBlocksPerGroup * groups
    const usedBlocks = firstData + dataBlocks
    const blocks = Math.max(usedBlocks + freeBlocks, (groups - 1) * GROUP_BLOCKS + 1)
    if (Math.ceil(blocks / GROUP_BLOCKS) > groups) continue
    return {
      blocks,
      groups,
      inodesPerGroup,
      descriptorBlocks,
      blockBitmaps,
      inodeBitmaps: blockBitmaps + groups,
      inodeTables: blockBitmaps + 2 * groups,
      tableBlocksPerGroup,
      firstData,
      usedBlocks,
      lastInode,
    }
  }
}
