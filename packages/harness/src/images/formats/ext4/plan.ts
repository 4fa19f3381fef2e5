import { ImageError } from '../../errors.ts'
import { printable } from '../../tar/read-tar.ts'
import { type DirectoryNode, type TreeNode, walkTree } from '../../tree/node.ts'
import { directoryBlockCount } from './directory.ts'
import { type Extent, EXTENT_LIMIT_BLOCKS, extentTreeBlocks } from './extents.ts'
import { BLOCK_BYTES, FIRST_INODE, ROOT_INODE } from './geometry.ts'
import { LINK_LIMIT } from './inode.ts'
import { type PlacedXattrs, placeXattrs } from './xattrs.ts'

/** One inode and where its blocks are, counted from the first block of contents: xattrs, map, then data. */
export interface PlannedInode {
  readonly number: number
  readonly node: TreeNode
  /** The inode of the directory above; a directory has one, of another node it means nothing. */
  readonly parent: number
  links: number
  readonly xattrs: PlacedXattrs
  readonly firstBlock: number
  readonly mapBlocks: number
  readonly extents: readonly Extent[]
}

export interface TreePlan {
  /** In the order of their numbers: the root, then from the first free inode on without a gap. */
  readonly inodes: readonly PlannedInode[]
  readonly numberOf: (node: TreeNode) => number
  readonly dataBlocks: number
  readonly lastInode: number
}

/** A target as long as this lies in the inode. */
export const SHORT_LINK_BYTES = 59

/** Blocks of a file, and of a disk, are numbered in 32 bits. */
const SIZE_LIMIT_BYTES = 2 ** 44 - BLOCK_BYTES
const BLOCK_LIMIT = 15 * 2 ** 28

/** Gives every node an inode and its blocks, in the order of the tree. Fails with ERR_IMAGE_FORMAT. */
export function planTree(root: DirectoryNode): TreePlan {
  const planned = new Map<TreeNode, PlannedInode>()
  const parents = new Map<string, number>([['', ROOT_INODE]])
  let next = FIRST_INODE
  let dataBlocks = 0
  for (const { path, node } of walkTree(root)) {
    const known = planned.get(node)
    if (known !== undefined) {
      known.links += 1
      if (known.links > LINK_LIMIT) throw refusal(path, `its file has more than ${LINK_LIMIT} names`)
      continue
    }
    if (node.kind === 'file' && node.content.size > SIZE_LIMIT_BYTES) throw refusal(path, 'it is larger than 16 TiB')
    const isRoot = path === ''
    const number = isRoot ? ROOT_INODE : next++
    const parent = parents.get(path.slice(0, Math.max(path.lastIndexOf('/'), 0))) ?? ROOT_INODE
    if (node.kind === 'directory') parents.set(path, number)
    const xattrs = placeXattrs(path, node.xattrs)
    const firstBlock = dataBlocks
    const mapBlocks = extentTreeBlocks(stretches(node).length)
    let at = firstBlock + (xattrs && 'block' in xattrs ? 1 : 0) + mapBlocks
    const extents: Extent[] = []
    for (const { fileBlock, count } of stretches(node)) {
      extents.push({ fileBlock, count, diskBlock: at })
      at += count
    }
    dataBlocks = at
    if (dataBlocks > BLOCK_LIMIT) throw refusal(path, 'with it the image is larger than 15 TiB')
    planned.set(node, { number, node, parent, links: linksOf(node), xattrs, firstBlock, mapBlocks, extents })
  }
  const numberOf = (node: TreeNode): number => planned.get(node)!.number
  return { inodes: [...planned.values()], numberOf, dataBlocks, lastInode: next - 1 }
}

/** The stretches of blocks that a node's data takes, each as long as an extent may be. */
function stretches(node: TreeNode): { fileBlock: number; count: number }[] {
  if (node.kind === 'directory') return split(0, directoryBlockCount(node))
  if (node.kind === 'symlink') return node.target.length > SHORT_LINK_BYTES ? [{ fileBlock: 0, count: 1 }] : []
  if (node.kind !== 'file') return []
  return node.content.runs.flatMap(({ fileBlock, count }) => split(fileBlock, count))
}

function split(fileBlock: number, count: number): { fileBlock: number; count: number }[] {
  return Array.from({ length: Math.ceil(count / EXTENT_LIMIT_BLOCKS) }, (_, index) => ({
    fileBlock: fileBlock + index * EXTENT_LIMIT_BLOCKS,
    count: Math.min(EXTENT_LIMIT_BLOCKS, count - index * EXTENT_LIMIT_BLOCKS),
  }))
}

/** A directory is named by its parent, by itself, and by each directory in it. */
function linksOf(node: TreeNode): number {
  if (node.kind !== 'directory') return 1
  return 2 + [...node.children.values()].filter(({ kind }) => kind === 'directory').length
}

function refusal(path: string, what: string): ImageError {
  return new ImageError(
    'ERR_IMAGE_FORMAT',
    `/${printable(path)} cannot go into an ext4 image: ${what}. Use format 'erofs'`,
  )
}
