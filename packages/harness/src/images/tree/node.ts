/** What every thing in a tree has. Times in nanoseconds since 1970. */
export interface NodeMeta {
  mode: number
  uid: number
  gid: number
  mtimeNs: bigint
  xattrs: ReadonlyMap<string, Buffer>
}

/** Consecutive blocks of a file that are not all zeros, and where the spool keeps them. In blocks of 4096 bytes. */
export interface BlockRun {
  readonly fileBlock: number
  readonly spoolBlock: number
  readonly count: number
}

/** A file's content, kept in a spool. */
export interface Content {
  readonly size: number
  readonly runs: readonly BlockRun[]
  /** Over size, places and bytes of the blocks: equal for equal content, however its holes were stored. */
  readonly sha256: string
  /** Its beginning. */
  readonly start: Buffer
}

/** One thing in a tree. Two names with the same node are hard links. Names are bytes, one a character. */
export type TreeNode = NodeMeta &
  (
    | { readonly kind: 'directory'; readonly children: Map<string, TreeNode> }
    | { readonly kind: 'file'; readonly content: Content }
    | { readonly kind: 'symlink'; readonly target: string }
    | { readonly kind: 'char' | 'block'; readonly major: number; readonly minor: number }
    | { readonly kind: 'fifo' }
  )

export type DirectoryNode = Extract<TreeNode, { readonly kind: 'directory' }>

/** A name in a tree. */
export interface TreeEntry {
  /** Relative to the root; the root itself is the empty path. */
  readonly path: string
  readonly node: TreeNode
}

/** All names, each directory before what is in it, siblings in the order of their bytes. */
export function* walkTree(root: DirectoryNode): Generator<TreeEntry> {
  const waiting: TreeEntry[] = [{ path: '', node: root }]
  for (let entry = waiting.pop(); entry; entry = waiting.pop()) {
    yield entry
    if (entry.node.kind !== 'directory') continue
    for (const [name, node] of sortedChildren(entry.node).toReversed()) {
      waiting.push({ path: entry.path === '' ? name : `${entry.path}/${name}`, node })
    }
  }
}

/** Children in the order of their names' bytes. */
export function sortedChildren(directory: DirectoryNode): [string, TreeNode][] {
  return [...directory.children].toSorted(([a], [b]) => (a < b ? -1 : 1))
}

/** A directory that nothing described: root's, and everybody may look into it. */
export function plainDirectory(): DirectoryNode {
  return { kind: 'directory', children: new Map(), mode: 0o755, uid: 0, gid: 0, mtimeNs: 0n, xattrs: new Map() }
}
