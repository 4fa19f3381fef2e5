import type { ByteReader } from './byte-reader.ts'
import { BLOCK_BYTES, number, type TarHeader } from './header.ts'
import type { PaxRecords } from './pax.ts'

/** A stretch of data in a file that is otherwise zeros, in bytes. */
export interface Segment {
  readonly offset: number
  readonly length: number
}

/** What a sparse member really is. */
export interface SparseFile {
  readonly path?: string
  readonly size: number
  readonly segments: readonly Segment[]
  /** Bytes of the member that the map took. */
  readonly mapBytes: number
}

/**
 * The map of a sparse member in one of GNU tar's four forms (GNU tar manual, "Storing Sparse Files"): the old one in
 * headers, and pax 0.0, 0.1 and 1.0. Undefined for a member that is not sparse; null for a map that is damaged.
 */
export async function sparseFile(
  header: TarHeader,
  pax: PaxRecords,
  reader: ByteReader,
): Promise<SparseFile | undefined | null> {
  const value = (name: string): string | undefined => pax.get(`GNU.sparse.${name}`)?.toString('latin1')
  if (header.type === 'S') return oldForm(header, reader)
  const path = value('name')
  if (value('major') === '1') {
    const map = await mapOfForm1(reader)
    return map && checked({ ...(path !== undefined && { path }), size: Number(value('realsize')), ...map })
  }
  const list = value('map')
  if (list === undefined) return undefined
  const numbers = list.split(',').map(Number)
  const size = Number(value('size'))
  return checked({ ...(path !== undefined && { path }), size, segments: pairs(numbers), mapBytes: 0 })
}

/** Four segments in the header, then 21 in each extension block. */
async function oldForm({ raw }: TarHeader, reader: ByteReader): Promise<SparseFile | null> {
  const segments: Segment[] = []
  const take = (block: Buffer, at: number, count: number): void => {
    for (let index = 0; index < count; index++) {
      const offset = number(block, at + index * 24, 12)
      const length = number(block, at + index * 24 + 12, 12)
      if (length > 0) segments.push({ offset, length })
    }
  }
  take(raw, 386, 4)
  let extended = raw[482] === 1
  while (extended) {
    const block = await reader.read(BLOCK_BYTES)
    if (block.length < BLOCK_BYTES) return null
    take(block, 0, 21)
    extended = block[504] === 1
  }
  return checked({ size: number(raw, 483, 12), segments, mapBytes: 0 })
}

/** Decimal lines at the start of the data: how many, then offset and length of each; padded to a block. */
async function mapOfForm1(reader: ByteReader): Promise<{ segments: Segment[]; mapBytes: number } | null> {
  let text = ''
  let mapBytes = 0
  for (;;) {
    const lines = text.split('\n')
    const count = Number(lines[0])
    if (lines.length > 1 && (!Number.isInteger(count) || count < 0)) return null
    if (lines.length > 1 && lines.length > 1 + count * 2) {
      return { segments: pairs(lines.slice(1, 1 + count * 2).map(Number)), mapBytes }
    }
    const block = await reader.read(BLOCK_BYTES)
    if (block.length < BLOCK_BYTES) return null
    mapBytes += BLOCK_BYTES
    text += block.toString('latin1')
  }
}

function pairs(numbers: readonly number[]): Segment[] {
  const segments = Array.from({ length: Math.ceil(numbers.length / 2) }, (_, index) => ({
    offset: numbers[index * 2]!,
    length: numbers[index * 2 + 1] ?? Number.NaN,
  }))
  return segments.filter(({ length }) => length !== 0)
}

/** Segments must ascend and lie inside the file. */
function checked(file: SparseFile): SparseFile | null {
  let end = 0
  for (const { offset, length } of file.segments) {
    if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length) || offset < end || length < 0) return null
    end = offset + length
  }
  return Number.isSafeInteger(file.size) && end <= file.size ? file : null
}
