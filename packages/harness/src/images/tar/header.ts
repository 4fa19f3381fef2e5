/** A header block of 512 bytes, as POSIX ustar and GNU tar write it (POSIX.1-2017 pax, "ustar Interchange Format"). */
export interface TarHeader {
  /** Bytes of the name, one a character. */
  readonly path: string
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly size: number
  readonly mtimeNs: bigint
  /** The type byte as a character. */
  readonly type: string
  readonly link: string
  readonly major: number
  readonly minor: number
  /** The old GNU form keeps the first segments of a sparse file in the header. */
  readonly raw: Buffer
}

export const BLOCK_BYTES = 512

/** Reads a header; undefined when the checksum says that it is none. */
export function parseHeader(block: Buffer): TarHeader | undefined {
  if (!checksumFits(block)) return undefined
  const isUstar = block.toString('latin1', 257, 263) === 'ustar\0'
  const prefix = isUstar ? text(block, 345, 155) : ''
  const name = text(block, 0, 100)
  return {
    path: prefix === '' ? name : `${prefix}/${name}`,
    mode: number(block, 100, 8) & 0o7777,
    uid: number(block, 108, 8),
    gid: number(block, 116, 8),
    size: number(block, 124, 12),
    mtimeNs: BigInt(number(block, 136, 12) || 0) * 1_000_000_000n,
    type: String.fromCharCode(block[156]!),
    link: text(block, 157, 100),
    major: number(block, 329, 8),
    minor: number(block, 337, 8),
    raw: block,
  }
}

/** A number in octal digits, or in GNU's base 256 when the first bit is set. NaN when it is neither. */
export function number(block: Buffer, at: number, length: number): number {
  const field = block.subarray(at, at + length)
  const first = field[0]!
  if (first >= 0x80) {
    // Two's complement; the first byte has one bit less.
    let value = BigInt(first & 0x40 ? (first | 0x80) - 256 : first & 0x3f)
    for (const byte of field.subarray(1)) value = value * 256n + BigInt(byte)
    return Number(value)
  }
  const digits = /^[ \0]*([0-7]*)[ \0]*$/.exec(field.toString('latin1'))?.[1]
  return digits === undefined ? Number.NaN : digits === '' ? 0 : Number.parseInt(digits, 8)
}

function text(block: Buffer, at: number, length: number): string {
  const value = block.toString('latin1', at, at + length)
  const end = value.indexOf('\0')
  return end < 0 ? value : value.slice(0, end)
}

/** Old writers summed signed bytes. */
function checksumFits(block: Buffer): boolean {
  let unsigned = 0
  let signed = 0
  for (let index = 0; index < BLOCK_BYTES; index++) {
    const byte = index >= 148 && index < 156 ? 0x20 : block[index]!
    unsigned += byte
    signed += byte < 128 ? byte : byte - 256
  }
  const stored = number(block, 148, 8)
  return stored === unsigned || stored === signed
}
