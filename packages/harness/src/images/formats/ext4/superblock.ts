import { BLOCK_BYTES, DESCRIPTOR_BYTES, FIRST_INODE, type Geometry, GROUP_BLOCKS, INODE_BYTES } from './geometry.ts'

/** What the superblock says beside the geometry. */
export interface Identity {
  /** 16 bytes. */
  readonly uuid: Buffer
  /** 16 bytes. */
  readonly hashSeed: Buffer
}

// Names as in fs/ext4/ext4.h. No journal: the image is not written to. sparse_super2 with no backup keeps the groups'
// contents together. No checksums: they would guard bytes that the cache already knows the digest of.
const COMPAT = 0x0008 | 0x0200 // ext_attr, sparse_super2
const INCOMPAT = 0x0002 | 0x0040 | 0x0200 // filetype, extents, flex_bg
const RO_COMPAT = 0x0002 | 0x0008 | 0x0020 | 0x0040 // large_file, huge_file, dir_nlink, extra_isize

/** The superblock (Documentation/filesystems/ext4/super.rst), 1024 bytes. Times are 0, so that bytes depend on the tree alone. */
export function superblock(geometry: Geometry, identity: Identity): Buffer {
  const bytes = Buffer.alloc(1024)
  const inodes = geometry.inodesPerGroup * geometry.groups
  const free = geometry.blocks - geometry.usedBlocks
  const words: readonly (readonly [offset: number, value: number])[] = [
    [0x00, inodes],
    [0x04, geometry.blocks],
    [0x0c, free],
    [0x10, inodes - geometry.lastInode],
    [0x18, 2], // block size 1024 << 2
    [0x1c, 2],
    [0x20, GROUP_BLOCKS],
    [0x24, GROUP_BLOCKS],
    [0x28, geometry.inodesPerGroup],
    [0x4c, 1], // revision 1: sizes of inodes and features are said here
    [0x54, FIRST_INODE],
    [0x5c, COMPAT],
    [0x60, INCOMPAT],
    [0x64, RO_COMPAT],
    [0x100, 0x000c], // mount with user xattrs and access control lists
    [0x160, 0x0001], // directory hashes would be signed
  ]
  for (const [offset, value] of words) bytes.writeUInt32LE(value, offset)
  bytes.writeUInt16LE(0xffff, 0x36) // never check because of the number of mounts
  bytes.writeUInt16LE(0xef53, 0x38)
  bytes.writeUInt16LE(1, 0x3a) // clean
  bytes.writeUInt16LE(1, 0x3c) // go on after errors
  bytes.writeUInt16LE(INODE_BYTES, 0x58)
  identity.uuid.copy(bytes, 0x68)
  identity.hashSeed.copy(bytes, 0xec)
  bytes.writeUInt8(1, 0xfc) // half MD4
  bytes.writeUInt16LE(32, 0x15c) // min_extra_isize
  bytes.writeUInt16LE(32, 0x15e)
  bytes.writeUInt8(4, 0x174) // groups of a flexible group: 1 << 4
  return bytes
}

/** The table of groups (Documentation/filesystems/ext4/group_descr.rst), as whole blocks. */
export function groupDescriptors(geometry: Geometry, directoriesOf: (group: number) => number): Buffer {
  const bytes = Buffer.alloc(geometry.descriptorBlocks * BLOCK_BYTES)
  for (let group = 0; group < geometry.groups; group++) {
    const at = group * DESCRIPTOR_BYTES
    bytes.writeUInt32LE(geometry.blockBitmaps + group, at)
    bytes.writeUInt32LE(geometry.inodeBitmaps + group, at + 4)
    bytes.writeUInt32LE(geometry.inodeTables + group * geometry.tableBlocksPerGroup, at + 8)
    bytes.writeUInt16LE(blocksOf(geometry, group) - usedIn(geometry.usedBlocks, group, GROUP_BLOCKS), at + 12)
    const used = usedIn(geometry.lastInode, group, geometry.inodesPerGroup)
    bytes.writeUInt16LE(geometry.inodesPerGroup - used, at + 14)
    bytes.writeUInt16LE(directoriesOf(group), at + 16)
  }
  return bytes
}

/** A bit for each block of a group; those beyond the end of the disk count as used. */
export function blockBitmap(geometry: Geometry, group: number): Buffer {
  return bitmap(usedIn(geometry.usedBlocks, group, GROUP_BLOCKS), blocksOf(geometry, group))
}

/** A bit for each inode of a group. */
export function inodeBitmap(geometry: Geometry, group: number): Buffer {
  return bitmap(usedIn(geometry.lastInode, group, geometry.inodesPerGroup), geometry.inodesPerGroup)
}

function blocksOf({ blocks }: Geometry, group: number): number {
  return Math.min(GROUP_BLOCKS, blocks - group * GROUP_BLOCKS)
}

/** How many of a group's things are among the first `used` of all. */
function usedIn(used: number, group: number, perGroup: number): number {
  return Math.min(Math.max(used - group * perGroup, 0), perGroup)
}

function bitmap(used: number, end: number): Buffer {
  const bits = Buffer.alloc(BLOCK_BYTES)
  setBits(bits, 0, used)
  setBits(bits, end, GROUP_BLOCKS)
  return bits
}

function setBits(bits: Buffer, from: number, to: number): void {
  let bit = from
  for (; bit < to && bit % 8 !== 0; bit++) bits[bit >> 3]! |= 1 << (bit % 8)
  const bytes = (to - bit) >> 3
  if (bytes > 0) bits.fill(0xff, bit >> 3, (bit >> 3) + bytes)
  for (bit += Math.max(bytes, 0) * 8; bit < to; bit++) bits[bit >> 3]! |= 1 << (bit % 8)
}
