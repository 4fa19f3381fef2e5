import { createHash } from 'node:crypto'
import type { DirectoryNode } from '../../tree/node.ts'
import type { Spool } from '../../tree/spool.ts'
import { BufferedFile } from '../../buffered-file.ts'
import { directoryBlocks } from './directory.ts'
import { type ExtentTree, extentTree } from './extents.ts'
import { BLOCK_BYTES, type Geometry, geometryFor, INODE_BYTES } from './geometry.ts'
import { deviceBody, encodeInode, type InodeFacts } from './inode.ts'
import { type PlannedInode, planTree, SHORT_LINK_BYTES, type TreePlan } from './plan.ts'
import { blockBitmap, groupDescriptors, inodeBitmap, superblock } from './superblock.ts'

/** How an ext4 image is written. */
export interface Ext4Options {
  /** The tree's digest: UUID and hash seed come from it. */
  readonly digest: string
  /** Room that a box which mounts the image for writing has. Default 0. */
  readonly freeMib?: number
  readonly signal?: AbortSignal | undefined
  readonly onBytes?: (done: number, total: number) => void
}

const FREE_INODES_PER_MIB = 64

/**
 * Writes a tree as an ext4 file system, front to back, in bytes that depend on the tree alone. Own code instead of
 * `mke2fs -d`, which (1.47.0) takes names in the order of the host's directories and change times from the host's files,
 * forgets owner, mode and xattrs of the root, splits hard-linked symbolic links, adds lost+found, and needs root and an
 * unpacked copy of the tree; so equal trees were not equal bytes. `e2fsck` and the kernel judge what is written here.
 * Fails with ERR_IMAGE_FORMAT or ERR_IMAGE_SPACE.
 */
export async function writeExt4(path: string, root: DirectoryNode, spool: Spool, options: Ext4Options): Promise<void> {
  const plan = planTree(root)
  const freeMib = options.freeMib ?? 0
  const geometry = geometryFor({
    lastInode: plan.lastInode,
    dataBlocks: plan.dataBlocks,
    freeBlocks: (freeMib << 20) / BLOCK_BYTES,
    freeInodes: freeMib * FREE_INODES_PER_MIB,
  })
  const writer = await BufferedFile.create(path, 'Writing the image')
  try {
    await writeMetadata(writer, geometry, plan, options.digest)
    await writer.skipTo(geometry.firstData * BLOCK_BYTES)
    for (const inode of plan.inodes) {
      options.signal?.throwIfAborted()
      await writeBlocks(writer, geometry, plan, inode, spool)
      options.onBytes?.(writer.position, geometry.usedBlocks * BLOCK_BYTES)
    }
    await writer.skipTo(geometry.blocks * BLOCK_BYTES)
    await writer.finish()
  } finally {
    await writer.close()
  }
}

async function writeMetadata(writer: BufferedFile, geometry: Geometry, plan: TreePlan, digest: string): Promise<void> {
  await writer.skipTo(1024)
  await writer.write(superblock(geometry, { uuid: uuidFrom(`uuid ${digest}`), hashSeed: uuidFrom(`seed ${digest}`) }))
  await writer.skipTo(BLOCK_BYTES)
  const directories = new Map<number, number>()
  for (const { node, number } of plan.inodes) {
    if (node.kind !== 'directory') continue
    const group = Math.floor((number - 1) / geometry.inodesPerGroup)
    directories.set(group, (directories.get(group) ?? 0) + 1)
  }
  await writer.write(groupDescriptors(geometry, (group) => directories.get(group) ?? 0))
  for (let group = 0; group < geometry.groups; group++) await writer.write(blockBitmap(geometry, group))
  for (let group = 0; group < geometry.groups; group++) await writer.write(inodeBitmap(geometry, group))
  // The tables of all groups lie one behind the other, so that an inode's number is its place.
  for (const inode of plan.inodes) {
    await writer.skipTo(geometry.inodeTables * BLOCK_BYTES + (inode.number - 1) * INODE_BYTES)
    await writer.write(encodeInode(inode.node, inodeFacts(inode, geometry)))
  }
}

/** The blocks of one inode, in the order that the plan gave them. */
async function writeBlocks(
  writer: BufferedFile,
  geometry: Geometry,
  plan: TreePlan,
  inode: PlannedInode,
  spool: Spool,
): Promise<void> {
  const { node, xattrs } = inode
  if (xattrs && 'block' in xattrs) await writer.write(xattrs.block)
  for (const block of mapOf(inode, geometry).blocks) await writer.write(block)
  if (node.kind === 'directory') {
    await writer.write(directoryBlocks(node, inode.number, inode.parent, plan.numberOf))
  } else if (node.kind === 'symlink' && node.target.length > SHORT_LINK_BYTES) {
    const block = Buffer.alloc(BLOCK_BYTES)
    block.write(node.target, 'latin1')
    await writer.write(block)
  } else if (node.kind === 'file') {
    for (const run of node.content.runs) for await (const blocks of spool.read(run)) await writer.write(blocks)
  }
}

function inodeFacts(inode: PlannedInode, geometry: Geometry): InodeFacts {
  const { node, links, xattrs, extents } = inode
  const data = extents.reduce((sum, { count }) => sum + count, 0)
  const hasXattrBlock = xattrs !== undefined && 'block' in xattrs
  const shared = {
    links,
    blocks: data + inode.mapBlocks + (hasXattrBlock ? 1 : 0),
    ...(hasXattrBlock && { xattrBlock: geometry.firstData + inode.firstBlock }),
    ...(xattrs && 'inInode' in xattrs && { xattrs: xattrs.inInode }),
  }
  if (node.kind === 'char' || node.kind === 'block') {
    return { ...shared, size: 0, body: deviceBody(node.major, node.minor), isMap: false }
  }
  if (node.kind === 'fifo') return { ...shared, size: 0, body: Buffer.alloc(60), isMap: false }
  if (node.kind === 'symlink' && extents.length === 0) {
    const body = Buffer.alloc(60)
    body.write(node.target, 'latin1')
    return { ...shared, size: node.target.length, body, isMap: false }
  }
  const size =
    node.kind === 'file' ? node.content.size : node.kind === 'symlink' ? node.target.length : data * BLOCK_BYTES
  return { ...shared, size, body: mapOf(inode, geometry).root, isMap: true }
}

function mapOf(inode: PlannedInode, { firstData }: Geometry): ExtentTree {
  const extents = inode.extents.map((extent) => ({ ...extent, diskBlock: extent.diskBlock + firstData }))
  const xattrBlocks = inode.xattrs && 'block' in inode.xattrs ? 1 : 0
  return extentTree(extents, firstData + inode.firstBlock + xattrBlocks)
}

/** 16 bytes in the form of a UUID made of a hash (RFC 9562, version 8). */
function uuidFrom(text: string): Buffer {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16)
  bytes[6] = (bytes[6]! & 0x0f) | 0x80
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytes
}
