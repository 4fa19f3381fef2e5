import { ImageError } from '../errors.ts'
import { parseAclText } from './acl-text.ts'
import { ByteReader } from './byte-reader.ts'
import { BLOCK_BYTES, parseHeader, type TarHeader } from './header.ts'
import { parsePax, type PaxRecords, paxTimeNs } from './pax.ts'
import { type Segment, sparseFile } from './sparse.ts'

export type TarEntryType = 'file' | 'hardlink' | 'symlink' | 'char' | 'block' | 'directory' | 'fifo'

/** Bytes of a file and where they belong; what no piece covers is zeros. */
export interface Piece {
  readonly offset: number
  readonly bytes: Buffer
}

/** A member of an archive. Strings hold bytes, one a character: a name need not be UTF-8. */
export interface TarEntry {
  readonly type: TarEntryType
  readonly path: string
  /** Target of a link. */
  readonly link: string
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly mtimeNs: bigint
  /** Bytes of a file, holes counted. */
  readonly size: number
  readonly major: number
  readonly minor: number
  readonly xattrs: ReadonlyMap<string, Buffer>
  /** The content, in ascending order; what was not read when the next member is asked for is skipped. */
  readonly pieces: AsyncIterable<Piece>
}

/** How an archive is read. */
export interface ReadTarOptions {
  /** What the errors call it. */
  readonly name: string
  /** Whether it may end without its end mark, because something else proves that it is whole. Default false. */
  readonly wholeWithoutEnd?: boolean
}

const TYPES: Readonly<Record<string, TarEntryType>> = {
  '0': 'file',
  '\0': 'file',
  '7': 'file',
  S: 'file',
  '1': 'hardlink',
  '2': 'symlink',
  '3': 'char',
  '4': 'block',
  '5': 'directory',
  '6': 'fifo',
}
/** A list of access with three entries. */
const MODE_ACL_BYTES = 28
/** A header that describes the next one is held in memory; no path and no set of xattrs is larger. */
const EXTENSION_LIMIT_BYTES = 16 << 20

/**
 * Reads a tar archive: ustar, pax and GNU, with long names, xattrs and all forms of sparse files. Own code, since the
 * kept readers for Node decode names and pax values as UTF-8, which damages file capabilities and such names, and know no
 * sparse files. Reads to the very end. Fails with ERR_IMAGE_ARCHIVE.
 */
export async function* readTar(
  chunks: AsyncIterable<Uint8Array>,
  options: ReadTarOptions,
): AsyncGenerator<TarEntry, void> {
  const reader = new ByteReader(chunks)
  const { name } = options
  const global: PaxRecords = new Map()
  let pax: PaxRecords = new Map()
  let members = 0
  try {
    for (;;) {
      const at = reader.position
      const block = await reader.read(BLOCK_BYTES)
      if (block.length === 0) {
        if (options.wholeWithoutEnd) return
        throw damaged(
          name,
          members === 0 ? 'it is empty' : `it ends after ${at} bytes without its end mark, so it was cut`,
        )
      }
      if (block.length < BLOCK_BYTES) throw cut(name, 'a header')
      if (isZero(block)) {
        await reader.drain()
        return
      }
      const header = parseHeader(block)
      if (header === undefined) {
        throw damaged(
          name,
          members === 0 ? 'it does not begin with a tar header' : `the header at byte ${at} is damaged`,
        )
      }
      if (!Number.isSafeInteger(header.size) || header.size < 0)
        throw damaged(name, `the size at byte ${at} is damaged`)
      members += 1
      // A volume's label names the archive, not a file.
      if (header.type === 'V') continue
      if ('xgLK'.includes(header.type)) {
        const records = await extension(header, reader, name)
        if (header.type === 'g') for (const [key, value] of records) global.set(key, value)
        else pax = new Map([...pax, ...records])
        continue
      }
      yield* member(header, new Map([...global, ...pax]), reader, name)
      pax = new Map()
    }
  } finally {
    await reader.close()
  }
}

/** A pax header, or GNU's long name or link target, which is given as the pax record of the same meaning. */
async function extension(header: TarHeader, reader: ByteReader, name: string): Promise<PaxRecords> {
  if (header.size > EXTENSION_LIMIT_BYTES)
    throw damaged(name, `an extended header of ${header.size} bytes is too large`)
  const body = await reader.read(padded(header.size))
  if (body.length < padded(header.size)) throw cut(name, 'an extended header')
  const bytes = body.subarray(0, header.size)
  if (header.type === 'x' || header.type === 'g') {
    const records = parsePax(bytes)
    if (records === undefined) throw damaged(name, 'an extended header is damaged')
    return records
  }
  const end = bytes.indexOf(0)
  return new Map([[header.type === 'L' ? 'path' : 'linkpath', end < 0 ? bytes : bytes.subarray(0, end)]])
}

async function* member(
  header: TarHeader,
  pax: PaxRecords,
  reader: ByteReader,
  name: string,
): AsyncGenerator<TarEntry, void> {
  // An empty value takes back what a global header said.
  const text = (key: string): string | undefined => pax.get(key)?.toString('latin1') || undefined
  const path = text('path') ?? header.path
  // In pax the size of a member may be larger than its field can say.
  const stored = Number(text('size') ?? header.size)
  const sparse = await sparseFile(header, pax, reader)
  if (sparse === null) throw damaged(name, `the map of the sparse file ${printable(path)} is damaged`)
  // Before POSIX a directory was an ordinary file whose name ends with a slash.
  const isOldDirectory = TYPES[header.type] === 'file' && path.endsWith('/')
  const type = isOldDirectory ? 'directory' : TYPES[header.type]
  if (type === undefined) {
    throw damaged(name, `${printable(path)} is of the unknown type ${JSON.stringify(header.type)}`)
  }
  // Some writers give a link the size of its file: no data follows, as GNU tar takes it.
  const dataBytes = type === 'file' || isOldDirectory ? stored - (sparse?.mapBytes ?? 0) : 0
  if (!Number.isSafeInteger(dataBytes) || dataBytes < 0)
    throw damaged(name, `the size of ${printable(path)} is damaged`)
  const size = sparse?.size ?? dataBytes
  const segments = sparse?.segments ?? [{ offset: 0, length: dataBytes }]
  const end = reader.position + dataBytes
  const [uid, gid] = [Number(text('uid') ?? header.uid), Number(text('gid') ?? header.gid)]
  const { mode, major, minor } = header
  const mtimeNs = text('mtime') === undefined ? header.mtimeNs : paxTimeNs(text('mtime')!)
  // Linux has 32 bits for owners, 12 and 20 for the numbers of a device.
  const isSane = isWithin(uid, 32) && isWithin(gid, 32) && isWithin(major, 12) && isWithin(minor, 20)
  if (!isSane || mtimeNs === undefined) throw damaged(name, `the header of ${printable(path)} is damaged`)
  yield {
    type,
    path: sparse?.path ?? path,
    link: text('linkpath') ?? header.link,
    mode,
    uid,
    gid,
    mtimeNs,
    size,
    major,
    minor,
    xattrs: xattrsOf(pax, name, path),
    pieces: pieces(reader, segments, name, path),
  }
  for await (const _ of reader.pieces(padded(end) - reader.position));
  if (reader.position < end) throw cut(name, printable(path))
}

async function* pieces(
  reader: ByteReader,
  segments: readonly Segment[],
  name: string,
  path: string,
): AsyncGenerator<Piece> {
  for (const segment of segments) {
    let offset = segment.offset
    for await (const bytes of reader.pieces(segment.length)) {
      yield { offset, bytes }
      offset += bytes.length
    }
    if (offset < segment.offset + segment.length) throw cut(name, printable(path))
  }
}

/**
 * Star's records, which GNU tar and the OCI image specification (layer.md) use too. Access control lists come as text where tar
 * was asked for those alone.
 */
function xattrsOf(pax: PaxRecords, name: string, path: string): Map<string, Buffer> {
  const xattrs = new Map<string, Buffer>()
  for (const [key, value] of pax) {
    if (key.startsWith('SCHILY.xattr.')) xattrs.set(key.slice('SCHILY.xattr.'.length), value)
  }
  for (const kind of ['access', 'default']) {
    const text = pax.get(`SCHILY.acl.${kind}`)?.toString('latin1')
    const xattr = `system.posix_acl_${kind}`
    if (text === undefined || text === '' || xattrs.has(xattr)) continue
    const list = parseAclText(text)
    if (list === undefined) {
      const what = `its access control list of ${printable(path)} names somebody whom only the host it is from knows`
      throw new ImageError(
        'ERR_IMAGE_ARCHIVE',
        `${name} cannot be read: ${what}. Make it with --xattrs instead of --acls`,
      )
    }
    // Owner, group and others alone say what the mode says: no file system keeps that twice.
    if (kind === 'default' || list.length > MODE_ACL_BYTES) xattrs.set(xattr, list)
  }
  return xattrs
}

/** A name's bytes as text for a message, without control characters. */
export function printable(path: string): string {
  const text = Buffer.from(path.length > 200 ? `${path.slice(0, 200)}…` : path, 'latin1').toString('utf8')
  return JSON.stringify(text).slice(1, -1)
}

function isWithin(value: number, bits: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < 2 ** bits
}

function padded(bytes: number): number {
  return Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES
}

function isZero(block: Buffer): boolean {
  return block.every((byte) => byte === 0)
}

function damaged(name: string, what: string): ImageError {
  return new ImageError('ERR_IMAGE_ARCHIVE', `${name} is not a whole tar archive: ${what}. Make or fetch it again`)
}

function cut(name: string, where: string): ImageError {
  return damaged(name, `it ends in the middle of ${where}`)
}
