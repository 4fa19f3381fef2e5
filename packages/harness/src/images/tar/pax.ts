/** Records of a pax extended header: names to raw values. Values are bytes: an xattr is no text. */
export type PaxRecords = Map<string, Buffer>

/**
 * Reads `LENGTH NAME=VALUE\n` records (POSIX.1-2017 pax, "pax Extended Header"); undefined when they are damaged. Kept
 * apart, because GNU's sparse form 0.0 repeats a name: its segments are collected into one list.
 */
export function parsePax(bytes: Buffer): PaxRecords | undefined {
  const records: PaxRecords = new Map()
  const segments: string[] = []
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(0x20, at)
    const length = Number(bytes.toString('latin1', at, space))
    if (space < 0 || !Number.isInteger(length) || length < 5 || at + length > bytes.length) return undefined
    const equals = bytes.indexOf(0x3d, space)
    if (equals < 0 || equals >= at + length || bytes[at + length - 1] !== 0x0a) return undefined
    const name = bytes.toString('latin1', space + 1, equals)
    const value = bytes.subarray(equals + 1, at + length - 1)
    if (name === 'GNU.sparse.offset' || name === 'GNU.sparse.numbytes') segments.push(value.toString('latin1'))
    else records.set(name, Buffer.from(value))
    at += length
  }
  if (segments.length > 0) records.set('GNU.sparse.map', Buffer.from(segments.join(',')))
  return records
}

/** One record; its length counts its own digits. */
export function paxRecord(name: string, value: Uint8Array | string): Buffer {
  const body = Buffer.concat([
    Buffer.from(` ${name}=`, 'latin1'),
    typeof value === 'string' ? Buffer.from(value, 'latin1') : value,
    Buffer.from('\n'),
  ])
  let length = body.length + 1
  while (body.length + String(length).length !== length) length = body.length + String(length).length
  return Buffer.concat([Buffer.from(String(length)), body])
}

/** Decimal seconds with a fraction, as pax has them, in nanoseconds. */
export function paxTimeNs(value: string): bigint | undefined {
  const match = /^(-?)(\d+)(?:\.(\d*))?$/.exec(value)
  if (!match) return undefined
  const [, sign, seconds, fraction = ''] = match as unknown as [string, string, string, string?]
  const ns = BigInt(seconds) * 1_000_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, '0'))
  return sign === '-' ? -ns : ns
}
