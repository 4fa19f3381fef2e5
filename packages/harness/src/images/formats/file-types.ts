import type { TreeNode } from '../tree/node.ts'

/** The bits of a mode that say what a thing is (inode(7)). */
export const FILE_TYPE_BITS: Readonly<Record<TreeNode['kind'], number>> = {
  fifo: 0o010000,
  char: 0o020000,
  directory: 0o040000,
  block: 0o060000,
  file: 0o100000,
  symlink: 0o120000,
}
