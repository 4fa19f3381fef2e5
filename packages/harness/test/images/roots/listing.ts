import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** How a listing is taken. */
export interface ListingOptions {
  /** Whole seconds only, for a format that keeps no more. Default false. */
  readonly wholeSeconds?: boolean
}

const FIELDS = ['%P', '%y', '%m', '%U', '%G', '%s', '%T@', '%n', '%i', '%l'] as const

/**
 * What find(1), stat(1) and getfattr(1) say of a tree, a line a name: kind, mode, owner, size, time, links, xattrs and a digest of
 * the content. Made by other programs than the ones under test.
 */
export function listing(root: string, { wholeSeconds = false }: ListingOptions = {}): string[] {
  const output = execFileSync('find', [root, '-printf', FIELDS.map((field) => `${field}\\0`).join('')], {
    maxBuffer: 1 << 26,
  })
  const fields = output.toString('latin1').split('\0')
  const entries: { path: string; inode: string; line: string }[] = []
  for (let at = 0; at + FIELDS.length < fields.length + 1 && fields[at + 1] !== undefined; at += FIELDS.length) {
    const [path, kind, mode, user, group, size, time, links, inode, target] = fields.slice(at, at + FIELDS.length) as [
      string,
      string,
      string,
      string,
      string,
      string,
      string,
      string,
      string,
      string,
    ]
    const place = Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path, 'latin1')])
    const detail = kind === 'f' ? content(place) : 'cb'.includes(kind) ? device(place) : target
    const seconds = wholeSeconds ? time.replace(/\..*/, '') : time.replace(/0+$/, '')
    // A directory's size and links are the file system's own affair.
    const counts = kind === 'd' ? [] : [size, links]
    entries.push({ path, inode, line: [kind, mode, user, group, seconds, ...counts, detail].join(' ') })
  }
  entries.sort((a, b) => (a.path < b.path ? -1 : 1))
  const first = new Map<string, string>()
  const lines = entries.map(({ path, inode, line }) => {
    const link = first.get(inode)
    if (link === undefined) first.set(inode, path)
    return JSON.stringify(`${path}: ${line}${link === undefined ? '' : ` = ${link}`}`)
  })
  return [...lines, ...xattrs(root)]
}

/** A listing of what the kernel sees in an image. Needs root. */
export function imageListing(path: string, type: 'ext4' | 'erofs', options?: ListingOptions): string[] {
  return mounted(path, type, (folder) => listing(folder, options))
}

/** Mounts an image for as long as `look` takes. */
export function mounted<Result>(path: string, type: 'ext4' | 'erofs', look: (folder: string) => Result): Result {
  const folder = mkdtempSync(join(tmpdir(), 'boxlab-mount-'))
  execFileSync('mount', ['-t', type, '-o', 'loop,ro', path, folder])
  try {
    return look(folder)
  } finally {
    execFileSync('umount', [folder])
    rmdirSync(folder)
  }
}

function xattrs(root: string): string[] {
  const output = execFileSync('getfattr', ['-R', '-P', '-h', '-d', '-m', '-', '-e', 'hex', '--', '.'], { cwd: root })
  const blocks = output
    .toString('latin1')
    .trim()
    .split('\n\n')
    .filter((block) => block !== '')
  return blocks.map((block) => block.split('\n').toSorted().join(' ')).toSorted()
}

function content(path: Buffer): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 16)
}

function device(path: Buffer): string {
  return execFileSync('stat', ['-c', '%t:%T', path.toString()], { encoding: 'utf8' }).trim()
}
