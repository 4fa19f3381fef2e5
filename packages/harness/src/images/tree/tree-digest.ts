import { createHash } from 'node:crypto'
import { type DirectoryNode, type TreeNode, walkTree } from './node.ts'

/**
 * `sha256:…` over all that a guest sees of a tree: names, kinds, modes, owners, times, links, devices, xattrs and
 * contents. Equal trees have equal digests wherever they came from.
 */
export function treeDigest(root: DirectoryNode): string {
  const hash = createHash('sha256').update('boxlab tree 1\n')
  const numbers = new Map<TreeNode, number>()
  for (const { path, node } of walkTree(root)) {
    const known = numbers.get(node)
    hash.update(`${path}\0`, 'latin1')
    // Another name of something that was described already.
    if (known !== undefined) hash.update(`link ${known}\n`)
    else {
      numbers.set(node, numbers.size)
      hash.update(`${describe(node)}\n`, 'latin1')
    }
  }
  return `sha256:${hash.digest('hex')}`
}

function describe(node: TreeNode): string {
  const { kind, mode, uid, gid, mtimeNs, xattrs } = node
  const attributes = [...xattrs].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const hex = attributes.map(([name, value]) => `${name}=${value.toString('hex')}`)
  return JSON.stringify([kind, mode, uid, gid, String(mtimeNs), detail(node), ...hex])
}

function detail(node: TreeNode): string {
  if (node.kind === 'file') return node.content.sha256
  if (node.kind === 'symlink') return node.target
  return node.kind === 'char' || node.kind === 'block' ? `${node.major}:${node.minor}` : ''
}
