import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { plainText } from '@boxlab/probes'

/** A longer line is looked at by its beginning: guests that print NULs for ages are no reason to run out of memory. */
const lineBytes = 64 * 1024

/** A line of the console. `end` is the offset after its last byte. */
export interface ConsoleLine {
  readonly text: string
  readonly end: number
}

/** Reads the console of a record as it grows. */
export class ConsoleLines {
  readonly #file: number
  readonly #buffer: Buffer = Buffer.alloc(64 * 1024)
  #partial: Buffer = Buffer.alloc(0)
  #offset = 0
  #lines = 0
  #last = ''

  constructor(record: string) {
    this.#file = openSync(join(record, 'console.bin'), 'r')
  }

  /** How many bytes were read. */
  get offset(): number {
    return this.#offset
  }

  /** The lines that have become whole since the last call. */
  *whole(): Generator<ConsoleLine> {
    for (;;) {
      const length = readSync(this.#file, this.#buffer, 0, this.#buffer.length, this.#offset)
      if (length === 0) return
      const begin = this.#offset - this.#partial.length
      const bytes = Buffer.concat([this.#partial, this.#buffer.subarray(0, length)])
      this.#offset += length
      let from = 0
      for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, from)) {
        yield this.#line(bytes.subarray(from, at), begin + at + 1)
        from = at + 1
      }
      // What is cut away of an endless line is not looked for again; the offset still counts it.
      this.#partial = Buffer.from(bytes.subarray(Math.max(from, bytes.length - lineBytes)))
    }
  }

  /** The line that is not whole yet; undefined where there is none. */
  partial(): ConsoleLine | undefined {
    return this.#partial.length > 0 ? { text: textOf(this.#partial), end: this.#offset } : undefined
  }

  /** What was read, in words. */
  summary(): string {
    const last = this.#last === '' ? '' : `, the last '${this.#last.slice(0, 200)}'`
    return `${this.#offset} bytes in ${this.#lines} lines${last}`
  }

  close(): void {
    closeSync(this.#file)
  }

  #line(bytes: Buffer, end: number): ConsoleLine {
    const text = textOf(bytes)
    this.#lines += 1
    if (text.trim() !== '') this.#last = text.trim()
    return { text, end }
  }
}

function textOf(bytes: Buffer): string {
  return plainText(bytes.subarray(0, lineBytes).toString()).replace(/\r+$/, '')
}

/** When the byte before `end` was read: host time in nanoseconds, from the index of the record. */
export function readAtNs(record: string, end: number): number | undefined {
  const lines = readFileSync(join(record, 'console.idx.jsonl'), 'utf8').split('\n')
  for (const line of lines.slice(0, -1)) {
    const { offset, length, atNs } = JSON.parse(line) as { offset: number; length: number; atNs: number }
    if (offset + length >= end) return atNs
  }
  return undefined
}
