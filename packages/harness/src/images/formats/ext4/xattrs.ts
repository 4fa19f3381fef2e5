import { ImageError } from '../../errors.ts'
import { printable } from '../../tar/read-tar.ts'
import { BLOCK_BYTES, INODE_BYTES } from './geometry.ts'
import { diskAcl } from './acl.ts'

/** Where a node's xattrs go: behind its inode when all of them fit there, else into one block. */
export type PlacedXattrs = { readonly inInode: Buffer } | { readonly block: Buffer } | undefined

const MAGIC = 0xea02_0000
/** Of the inode, after its fields and i_extra_isize. */
export const IN_INODE_BYTES: number = INODE_BYTES - 160
const BLOCK_HEADER_BYTES = 32
const ENTRY_BYTES = 16

/** Names are kept without their prefix (Documentation/filesystems/ext4/attributes.rst). The whole ones first. */
const PREFIXES: readonly (readonly [prefix: string, index: number])[] = [
  ['system.posix_acl_access', 2],
  ['system.posix_acl_default', 3],
  ['user.', 1],
  ['trusted.', 4],
  ['security.', 6],
]

interface Attribute {
  readonly index: number
  readonly name: Buffer
  readonly value: Buffer
}

/** Lays the xattrs of one node out. Fails with ERR_IMAGE_FORMAT when ext4 cannot hold them. */
export function placeXattrs(path: string, xattrs: ReadonlyMap<string, Buffer>): PlacedXattrs {
  if (xattrs.size === 0) return undefined
  const attributes = [...xattrs].map(([name, value]) => attribute(path, name, value)).toSorted(compare)
  // The magic before and four zero bytes behind the entries.
  const needed = 8 + attributes.reduce((sum, each) => sum + entryBytes(each) + padded(each.value.length), 0)
  if (needed <= IN_INODE_BYTES) {
    const inInode = Buffer.alloc(IN_INODE_BYTES)
    inInode.writeUInt32LE(MAGIC, 0)
    // Offsets of values count from the first entry here, from the start of the block there.
    fill(inInode.subarray(4), attributes, 0)
    return { inInode }
  }
  if (needed - 8 + BLOCK_HEADER_BYTES + 4 > BLOCK_BYTES) {
    throw refusal(
      path,
      `its xattrs take ${needed} bytes, and the file system holds 4 KiB: use format 'erofs', or remove some`,
    )
  }
  const block = Buffer.alloc(BLOCK_BYTES)
  block.writeUInt32LE(MAGIC, 0)
  block.writeUInt32LE(1, 4)
  block.writeUInt32LE(1, 8)
  block.writeUInt32LE(fill(block, attributes, BLOCK_HEADER_BYTES), 12)
  return { block }
}

/** Writes entries from `at` on and values from the end down; gives the hash over all. */
function fill(area: Buffer, attributes: readonly Attribute[], at: number): number {
  let end = area.length
  let entry = at
  let blockHash = 0
  for (const each of attributes) {
    end -= padded(each.value.length)
    each.value.copy(area, end)
    const hash = entryHash(each)
    area.writeUInt8(each.name.length, entry)
    area.writeUInt8(each.index, entry + 1)
    area.writeUInt16LE(each.value.length === 0 ? 0 : end, entry + 2)
    area.writeUInt32LE(each.value.length, entry + 8)
    area.writeUInt32LE(hash, entry + 12)
    each.name.copy(area, entry + ENTRY_BYTES)
    entry += entryBytes(each)
    blockHash = (((blockHash << 16) | (blockHash >>> 16)) ^ hash) >>> 0
  }
  return blockHash
}

function attribute(path: string, name: string, value: Buffer): Attribute {
  const found = PREFIXES.find(([prefix]) => (prefix.endsWith('.') ? name.startsWith(prefix) : name === prefix))
  if (found === undefined) throw refusal(path, `its xattr ${printable(name)} is of no kind that ext4 knows: remove it`)
  const [prefix, index] = found
  const rest = Buffer.from(name.slice(prefix.length), 'latin1')
  if (rest.length > 255 || (rest.length === 0 && prefix.endsWith('.'))) {
    throw refusal(path, `its xattr ${printable(name)} has a name that no file system takes: remove it`)
  }
  if (index !== 2 && index !== 3) return { index, name: rest, value }
  const acl = diskAcl(value)
  if (acl === undefined) throw refusal(path, `its access control list ${name} is damaged: remove or set it again`)
  return { index, name: rest, value: acl }
}

/** The kernel looks blocks up in this order. */
function compare(a: Attribute, b: Attribute): number {
  return a.index - b.index || a.name.length - b.name.length || Buffer.compare(a.name, b.name)
}

/** ext4_xattr_hash_entry of fs/ext4/xattr.c. */
function entryHash({ name, value }: Attribute): number {
  let hash = 0
  for (const byte of name) hash = ((hash << 5) ^ (hash >>> 27) ^ byte) >>> 0
  const words = Buffer.alloc(padded(value.length))
  value.copy(words)
  for (let at = 0; at < words.length; at += 4) {
    hash = ((hash << 16) ^ (hash >>> 16) ^ words.readUInt32LE(at)) >>> 0
  }
  return hash
}

function entryBytes({ name }: Attribute): number {
  return ENTRY_BYTES + padded(name.length)
}

function padded(bytes: number): number {
  return (bytes + 3) & ~3
}

function refusal(path: string, what: string): ImageError {
  return new ImageError('ERR_IMAGE_FORMAT', `/${printable(path)} cannot go into an ext4 image: ${what}`)
}
