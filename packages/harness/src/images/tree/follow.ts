import type { DirectoryNode, TreeNode } from './node.ts'

/** Where a path led. */
export interface Followed {
  /** What is there; absent where nothing is, or where a link goes round in a circle. */
  readonly node?: TreeNode
  /** The last directory on the way. */
  readonly directory: DirectoryNode
  /** The names below that directory that were not found; the first is missing or is no directory. */
  readonly rest: readonly string[]
  /** Whether a link went above the root, where the kernel stays at the root. */
  readonly escaped: boolean
}

/** As many as the kernel follows (MAXSYMLINKS). */
export const LINK_LIMIT = 40

/** Follows names from the root, and every link on the way, as the kernel would with this tree as its root. */
export function follow(
  root: DirectoryNode,
  parts: readonly string[],
  onLink?: (link: TreeNode & { kind: 'symlink' }, directory: DirectoryNode, name: string) => void,
): Followed {
  const stack = [root]
  const queue = [...parts]
  let links = 0
  let escaped = false
  for (let part = queue.shift(); part !== undefined; part = queue.shift()) {
    const directory = stack.at(-1)!
    if (part === '' || part === '.') continue
    if (part === '..') {
      if (stack.length > 1) stack.pop()
      else escaped = true
      continue
    }
    const next = directory.children.get(part)
    if (next?.kind === 'directory') stack.push(next)
    else if (next?.kind === 'symlink' && links < LINK_LIMIT) {
      links += 1
      onLink?.(next, directory, part)
      if (next.target.startsWith('/')) stack.length = 1
      queue.unshift(...next.target.split('/'))
    } else {
      const isLast = queue.every((name) => name === '' || name === '.')
      const found = next !== undefined && next.kind !== 'symlink' && isLast ? { node: next } : {}
      return { ...found, directory, rest: [part, ...queue], escaped }
    }
  }
  return { node: stack.at(-1)!, directory: stack.at(-1)!, rest: [], escaped }
}
