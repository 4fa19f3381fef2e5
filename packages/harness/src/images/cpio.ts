import { ImageError } from './errors.ts'

interface EntryBase {
  /** Path in the archive, relative to the root; a leading slash is dropped. `.` alone is the root directory itself. */
  readonly path: string
  /** Permission bits. */
  readonly mode?: number
  /** Default 0. */
  readonly uid?: number
  /** Default 0. */
  readonly gid?: number
}

/** One thing in an archive. Default modes: directory 0755, file 0644, device 0600; a symbolic link is always 0777. */
export type CpioEntry =
  | (EntryBase & { readonly type: 'directory' })
  | (EntryBase & { readonly type: 'file'; readonly data: Uint8Array })
  | (Omit<EntryBase, 'mode'> & { readonly type: 'symlink'; readonly target: string })
  | (EntryBase & {
      readonly type: 'device'
      readonly kind: 'char' | 'block'
      readonly major: number
      readonly minor: number
    })

/** The name that ends an archive. */
export const CPIO_TRAILER = 'TRAILER!!!'
const HEADER_BYTES = 110
// The kernel's unpacker silently leaves out entries with a longer path or link target (PATH_MAX).
const PATH_LIMIT_BYTES = 4096
const SIZE_LIMIT_BYTES = 0xffff_ffff

/**
 * A cpio archive of the "newc" form, as the kernel unpacks it into its first root file system
 * (Documentation/driver-api/early-userspace/buffer-format.rst). The bytes depend on the entries alone: times are 0 and
 * inode numbers count up from 1. The kernel makes no missing parents, so every directory must come before what is in it.
 * Fails with ERR_IMAGE_CPIO: a missing parent, a path that comes twice, a size or path over the limits.
 */
export function encodeCpio(entries: Iterable<CpioEntry>): Buffer {
  const chunks: Uint8Array[] = []
  const seen = new Map<string, CpioEntry['type']>([['', 'directory']])
  let inode = 0
  for (const entry of entries) {
    const path = checkedPath(entry.path, seen)
    seen.set(path, entry.type)
    inode += 1
    append(chunks, path, inode, entry)
  }
  append(chunks, CPIO_TRAILER, 0, undefined)
  return Buffer.concat(chunks)
}

function append(chunks: Uint8Array[], path: string, inode: number, entry: CpioEntry | undefined): void {
  const data = content(entry)
  if (data.length > SIZE_LIMIT_BYTES) throw refusal(path, 'it is larger than 4 GiB')
  if (entry?.type === 'symlink' && data.length > PATH_LIMIT_BYTES - 1)
    throw refusal(path, 'its link target is longer than 4095 bytes')
  const device = entry?.type === 'device' ? entry : undefined
  const header = cpioHeader({
    path,
    inode,
    mode: entry ? fileMode(entry) : 0,
    uid: entry?.uid ?? 0,
    gid: entry?.gid ?? 0,
    links: entry?.type === 'directory' ? 2 : 1,
    seconds: 0,
    bytes: data.length,
    ...(device && { major: device.major, minor: device.minor }),
  })
  chunks.push(header, data, cpioPadding(data.length))
}

/** What a header says of its member. */
export interface CpioHeader {
  /** Bytes of the name, one a character where it is not given as text. */
  readonly path: string | Buffer
  readonly inode: number
  /** With the bits of the file type. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly links: number
  readonly seconds: number
  readonly bytes: number
  readonly major?: number
  readonly minor?: number
}

/** The header of a member with its name, padded to where the data begins. */
export function cpioHeader(member: CpioHeader): Buffer {
  const path = typeof member.path === 'string' ? Buffer.from(member.path) : member.path
  const name = Buffer.concat([path, Buffer.alloc(1)])
  // In order: ino, mode, uid, gid, nlink, mtime, filesize, dev major, dev minor, rdev major, rdev minor, namesize, check.
  const { inode, mode, uid, gid, links, seconds, bytes, major = 0, minor = 0 } = member
  const fields = [inode, mode, uid, gid, links, seconds, bytes, 0, 0, major, minor, name.length, 0]
  const header = `070701${fields.map((field) => field.toString(16).padStart(8, '0').toUpperCase()).join('')}`
  return Buffer.concat([Buffer.from(header, 'latin1'), name, cpioPadding(HEADER_BYTES + name.length)])
}

/** File type bits of inode(7) and the permissions. */
function fileMode(entry: CpioEntry): number {
  if (entry.type === 'directory') return 0o040000 | (entry.mode ?? 0o755)
  if (entry.type === 'file') return 0o100000 | (entry.mode ?? 0o644)
  if (entry.type === 'symlink') return 0o120777
  return (entry.kind === 'char' ? 0o020000 : 0o060000) | (entry.mode ?? 0o600)
}

function content(entry: CpioEntry | undefined): Uint8Array {
  if (entry?.type === 'file') return entry.data
  return entry?.type === 'symlink' ? Buffer.from(entry.target) : new Uint8Array()
}

/** Header with name, and data, each end on a multiple of 4. */
export function cpioPadding(length: number): Uint8Array {
  return new Uint8Array((4 - (length % 4)) % 4)
}

function checkedPath(given: string, seen: ReadonlyMap<string, CpioEntry['type']>): string {
  const path = given.replace(/^\/+/, '')
  if (path === '.' && !seen.has('.')) return path
  const parts = path.split('/')
  if (parts.some((part) => part === '' || part === '.' || part === '..') || path.includes('\0')) {
    throw refusal(given, 'its path is not a plain one below the root')
  }
  if (path === CPIO_TRAILER) throw refusal(given, 'that name ends the archive')
  if (Buffer.byteLength(path) >= PATH_LIMIT_BYTES)
    throw refusal(given.slice(0, 60), 'its path is longer than 4095 bytes')
  if (seen.has(path)) throw refusal(given, 'it comes twice')
  const parent = parts.slice(0, -1).join('/')
  if (seen.get(parent) !== 'directory') throw refusal(given, `no directory ${parent} comes before it`)
  return path
}

function refusal(path: string, reason: string): ImageError {
  return new ImageError('ERR_IMAGE_CPIO', `${path} cannot go into a cpio archive: ${reason}`)
}
