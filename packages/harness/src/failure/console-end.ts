import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'

/**
 * As much of a console as causes are looked for in. A guest may print gigabytes, and an error has to come soon after the
 * end that it tells of: rules take some 45 ms for a MiB.
 */
const mostBytes = 512 * 1024
/** As much of the index of its reads; a line is some 60 bytes. */
const mostIndexBytes = 256 * 1024

/** The end of a console. */
export interface ConsoleEnd {
  readonly bytes: Buffer
  /** When its last byte was read, in ns of the host's clock; absent where nothing was. */
  readonly lastNs?: number
}

/**
 * The end of a record's console: at most 512 KiB, and with `sinceNs` (host's clock) only what was read from then on.
 * Undefined where there is no console.
 */
export function consoleEnd(record: string, sinceNs?: number): ConsoleEnd | undefined {
  const reads = readsOf(join(record, 'console.idx.jsonl'))
  const lastNs = reads.at(-1)?.atNs
  const last = lastNs === undefined ? {} : { lastNs }
  const bytes = endOf(join(record, 'console.bin'), mostBytes, sinceNs === undefined ? 0 : offsetAt(reads, sinceNs))
  return bytes && { bytes, ...last }
}

/** The end of a text file, for what the engine wrote. Undefined where there is none. */
export function textEnd(path: string): string | undefined {
  return endOf(path, mostBytes)?.toString()
}

interface ConsoleRead {
  readonly offset: number
  readonly length: number
  readonly atNs: number
}

/** Where the first read at or after an instant begins; behind the last one where there was none since. */
function offsetAt(reads: readonly ConsoleRead[], sinceNs: number): number {
  const first = reads.find(({ atNs }) => atNs >= sinceNs)
  const last = reads.at(-1)
  return first?.offset ?? (last === undefined ? 0 : last.offset + last.length)
}

/** The last reads. The first line of the part may be cut, and the writer may be in the middle of the last. */
function readsOf(path: string): ConsoleRead[] {
  const lines = endOf(path, mostIndexBytes)?.toString('latin1').split('\n') ?? []
  return lines.flatMap((line) => {
    try {
      const read = JSON.parse(line) as ConsoleRead
      return Number.isFinite(read.atNs) && Number.isFinite(read.offset) ? [read] : []
    } catch {
      return []
    }
  })
}

function endOf(path: string, mostOfIt: number, from = 0): Buffer | undefined {
  try {
    const file = openSync(path, 'r')
    try {
      const { size } = fstatSync(file)
      const begin = Math.min(size, Math.max(from, size - mostOfIt))
      const bytes = Buffer.alloc(size - begin)
      const read = readSync(file, bytes, 0, bytes.length, begin)
      return bytes.subarray(0, read)
    } finally {
      closeSync(file)
    }
  } catch {
    return undefined
  }
}
