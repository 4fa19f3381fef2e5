import { type ByteInput, chunksOf, encodeChunks } from '../input/byte-input.ts'
import { splitLines } from '../input/line-splitter.ts'
import { parsePrintk } from '../kernel/printk.ts'
import { plainText } from '../kernel/terminal.ts'

/** What a timeline takes from the console. */
export interface ConsoleFacts {
  /** The release that the kernel printed, such as `6.1.0-57-cloud-amd64`. */
  readonly guestKernel?: string
  /** The last line that shows anything, without escape codes; at most {@link MAX_LINE_CHARS} characters. */
  readonly lastConsoleLine?: string
}

/** A last line longer than this is cut. */
export const MAX_LINE_CHARS = 400

/** Reads the console's bytes for the kernel's release and the last line that shows anything. */
export function consoleFacts(input: ByteInput): ConsoleFacts {
  const splitter = splitLines()
  const encoder = encodeChunks()
  const decoder = new TextDecoder()
  let guestKernel: string | undefined
  let lastConsoleLine: string | undefined

  function take({ bytes }: { readonly bytes: Uint8Array }): void {
    const text = plainText(decoder.decode(bytes)).replaceAll('\r', ' ').trim()
    if (text === '') return
    lastConsoleLine = text.slice(0, MAX_LINE_CHARS)
    guestKernel ??= kernelRelease(text)
  }

  for (const chunk of chunksOf(input)) splitter.push(encoder.push(chunk)).forEach(take)
  splitter.push(encoder.end()).forEach(take)
  splitter.end().forEach(take)
  return {
    ...(guestKernel === undefined ? {} : { guestKernel }),
    ...(lastConsoleLine === undefined ? {} : { lastConsoleLine }),
  }
}

/** `[    0.000000] Linux version 6.1.0-57-cloud-amd64 (debian-kernel@…) …`, the first line of every Linux kernel. */
export function kernelRelease(line: string): string | undefined {
  return /^Linux version (\S+)/.exec(parsePrintk(line).text)?.[1]
}
