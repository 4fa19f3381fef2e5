import { type Content, type DirectoryNode, type TreeNode, walkTree } from '../tree/node.ts'
import { type Spool, SPOOL_BLOCK_BYTES } from '../tree/spool.ts'
import { BLOCK_BYTES } from './header.ts'
import { paxRecord } from './pax.ts'

const TYPES: Readonly<Record<TreeNode['kind'], string>> = {
  file: '0',
  symlink: '2',
  char: '3',
  block: '4',
  directory: '5',
  fifo: '6',
}

/**
 * A tree as a pax archive for GNU tar: directories before what is in them, no path through a link, files with holes in
 * its sparse form 1.0. Chunks are valid until the next is asked for.
 */
export async function* writeTar(root: DirectoryNode, spool: Spool): AsyncGenerator<Buffer> {
  const firstNames = new Map<TreeNode, string>()
  for (const { path, node } of walkTree(root)) {
    const name = path === '' ? './' : node.kind === 'directory' ? `${path}/` : path
    const first = firstNames.get(node)
    if (first !== undefined) {
      yield* header(name, '1', node, 0, [['linkpath', first]])
      continue
    }
    firstNames.set(node, name)
    if (node.kind === 'file') yield* file(name, node, node.content, spool)
    else yield* header(name, TYPES[node.kind], node, 0, node.kind === 'symlink' ? [['linkpath', node.target]] : [])
  }
  yield Buffer.alloc(2 * BLOCK_BYTES)
}

async function* file(name: string, node: TreeNode, content: Content, spool: Spool): AsyncGenerator<Buffer> {
  const runs = content.runs.map((run) => {
    const offset = run.fileBlock * SPOOL_BLOCK_BYTES
    return { run, offset, length: Math.min(run.count * SPOOL_BLOCK_BYTES, content.size - offset) }
  })
  const dataBytes = runs.reduce((sum, { length }) => sum + length, 0)
  const isSparse = dataBytes < content.size
  // A last segment without length says where the file ends.
  const segments = [...runs.map(({ offset, length }) => `${offset}\n${length}\n`), `${content.size}\n0\n`]
  const map = isSparse ? blocks(Buffer.from(`${segments.length}\n${segments.join('')}`)) : Buffer.alloc(0)
  const sparse = [
    ['GNU.sparse.major', '1'],
    ['GNU.sparse.minor', '0'],
    ['GNU.sparse.name', name],
    ['GNU.sparse.realsize', String(content.size)],
  ] as const
  yield* header(name, '0', node, map.length + dataBytes, isSparse ? sparse : [])
  if (isSparse) yield map
  for (const { run, length } of runs) {
    let left = length
    for await (const chunk of spool.read(run)) {
      yield chunk.subarray(0, left)
      left -= Math.min(left, chunk.length)
    }
  }
  yield blocks(Buffer.alloc(dataBytes % BLOCK_BYTES)).subarray(dataBytes % BLOCK_BYTES)
}

/** All that may not fit is said in pax records; the header of old has what is left. */
function* header(
  name: string,
  type: string,
  node: TreeNode,
  bytes: number,
  more: readonly (readonly [string, string])[],
): Generator<Buffer> {
  const records = [
    ['path', name],
    ['uid', String(node.uid)],
    ['gid', String(node.gid)],
    ['size', String(bytes)],
    ['mtime', paxTime(node.mtimeNs)],
    ...more,
  ] as const
  const attributes = type === '1' ? [] : [...node.xattrs].map(([key, value]) => paxRecord(`SCHILY.xattr.${key}`, value))
  const body = Buffer.concat([...records.map(([key, value]) => paxRecord(key, value)), ...attributes])
  yield block('pax', 'x', body.length, node)
  yield blocks(body)
  yield block('entry', type, Math.min(bytes, 0o77777777777), node)
}

function block(name: string, type: string, bytes: number, node: TreeNode): Buffer {
  const written = Buffer.alloc(BLOCK_BYTES)
  const octal = (value: number, at: number, length: number): void => {
    written.write(value.toString(8).padStart(length - 1, '0'), at, 'latin1')
  }
  written.write(name, 0, 'latin1')
  octal(node.mode, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(bytes, 124, 12)
  octal(0, 136, 12)
  written.write('        ', 148, 'latin1')
  written.write(type, 156, 'latin1')
  written.write('ustar\u{0}00', 257, 'latin1')
  if (node.kind === 'char' || node.kind === 'block') {
    octal(node.major, 329, 8)
    octal(node.minor, 337, 8)
  }
  const sum = written.reduce((total, byte) => total + byte, 0)
  written.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return written
}

/** Padded to whole blocks. */
function blocks(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((BLOCK_BYTES - (bytes.length % BLOCK_BYTES)) % BLOCK_BYTES)])
}

function paxTime(timeNs: bigint): string {
  const size = timeNs < 0n ? -timeNs : timeNs
  const fraction = String(size % 1_000_000_000n).padStart(9, '0')
  return `${timeNs < 0n ? '-' : ''}${size / 1_000_000_000n}.${fraction}`
}
