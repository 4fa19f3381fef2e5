import type { TreeNode } from '../../tree/node.ts'
import { FILE_TYPE_BITS } from '../file-types.ts'
import { BLOCK_BYTES, INODE_BYTES } from './geometry.ts'

/** What an inode says beside its node's own description. */
export interface InodeFacts {
  readonly links: number
  readonly size: number
  /** Blocks that belong to it, with those of its map and its xattrs. */
  readonly blocks: number
  /** The 60 bytes for the map, a short link's target or a device's number. */
  readonly body: Buffer
  /** Whether `body` is a map of extents. */
  readonly isMap: boolean
  readonly xattrBlock?: number
  readonly xattrs?: Buffer
}

const EXTENTS_FLAG = 0x80000
/** With more sub-directories a directory says 1: not counted (dir_nlink). */
export const LINK_LIMIT = 65_000

/** An inode (Documentation/filesystems/ext4/inodes.rst), 256 bytes. All four times are the tree's one. */
export function encodeInode(node: TreeNode, facts: InodeFacts): Buffer {
  const bytes = Buffer.alloc(INODE_BYTES)
  const { seconds, extra } = diskTime(node.mtimeNs)
  bytes.writeUInt16LE(FILE_TYPE_BITS[node.kind] | node.mode, 0x00)
  bytes.writeUInt16LE(node.uid & 0xffff, 0x02)
  bytes.writeUInt32LE(facts.size % 2 ** 32, 0x04)
  for (const offset of [0x08, 0x0c, 0x10, 0x90]) bytes.writeInt32LE(seconds, offset)
  bytes.writeUInt16LE(node.gid & 0xffff, 0x18)
  bytes.writeUInt16LE(node.kind === 'directory' && facts.links > LINK_LIMIT ? 1 : facts.links, 0x1a)
  const sectors = facts.blocks * (BLOCK_BYTES / 512)
  bytes.writeUInt32LE(sectors % 2 ** 32, 0x1c)
  bytes.writeUInt32LE(facts.isMap ? EXTENTS_FLAG : 0, 0x20)
  facts.body.copy(bytes, 0x28)
  bytes.writeUInt32LE(facts.xattrBlock ?? 0, 0x68)
  bytes.writeUInt32LE(Math.floor(facts.size / 2 ** 32), 0x6c)
  bytes.writeUInt16LE(Math.floor(sectors / 2 ** 32), 0x74)
  bytes.writeUInt16LE(node.uid >>> 16, 0x78)
  bytes.writeUInt16LE(node.gid >>> 16, 0x7a)
  bytes.writeUInt16LE(32, 0x80) // i_extra_isize
  for (const offset of [0x84, 0x88, 0x8c, 0x94]) bytes.writeUInt32LE(extra, offset)
  facts.xattrs?.copy(bytes, 160)
  return bytes
}

/** A device's number: the old form where it fits, else the new one in the second word (ext4_new_encode_dev). */
export function deviceBody(major: number, minor: number): Buffer {
  const body = Buffer.alloc(60)
  if (major < 256 && minor < 256) body.writeUInt32LE((major << 8) | minor, 0)
  else body.writeUInt32LE(((minor & 0xff) | (major << 8) | ((minor & ~0xff) << 12)) >>> 0, 4)
  return body
}

const FIRST_SECOND = -(2n ** 31n)
const LAST_SECOND = 2n ** 34n - 2n ** 31n - 1n

/** 34 bits of seconds and 30 of nanoseconds, in two words; what is outside becomes the nearest. */
function diskTime(timeNs: bigint): { seconds: number; extra: number } {
  const floor = timeNs / 1_000_000_000n - (timeNs % 1_000_000_000n < 0n ? 1n : 0n)
  const seconds = floor < FIRST_SECOND ? FIRST_SECOND : floor > LAST_SECOND ? LAST_SECOND : floor
  const low = BigInt.asIntN(32, seconds)
  const nanoseconds = Number(timeNs - floor * 1_000_000_000n)
  return { seconds: Number(low), extra: nanoseconds * 4 + Number((seconds - low) >> 32n) }
}
