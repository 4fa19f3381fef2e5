import { type AsyncByteInput, type ByteInput, type ChunkEncoder, chunksOf, encodeChunks } from './byte-input.ts'
import { countDiagnostics, type Diagnostic, type DiagnosticCounter } from './diagnostics.ts'
import { type InputLine, LINE_CAP_BYTES, type LineSplitter, splitLines } from './line-splitter.ts'

/** What a JSON-lines file of a record held. */
export interface JsonLines<T> {
  /** The items that could be read, in the order of the file. */
  readonly items: readonly T[]
  /** How many lines there were, read or not. */
  readonly lines: number
  readonly diagnostics: readonly Diagnostic[]
}

/** Turns the value of one line into an item, or into `undefined` after it said why to `problems`. */
export type ItemReader<T> = (value: unknown, line: number, problems: DiagnosticCounter) => T | undefined

/** How to read a file of JSON lines. */
export interface JsonLinesOptions {
  /** The name in diagnostics, such as `qmp.jsonl`. */
  readonly file: string
  /** The longest line, in bytes; default {@link LINE_CAP_BYTES}. */
  readonly lineCapBytes?: number
}

/** Reads JSON lines that are already there. Never throws on what they hold. */
export function readJsonLines<T>(input: ByteInput, options: JsonLinesOptions, read: ItemReader<T>): JsonLines<T> {
  const session = open(options, read)
  for (const chunk of chunksOf(input)) session.push(chunk)
  return session.end()
}

/** Reads JSON lines as they arrive; rejects only if the stream itself fails. */
export async function readJsonLinesFrom<T>(
  input: AsyncByteInput,
  options: JsonLinesOptions,
  read: ItemReader<T>,
): Promise<JsonLines<T>> {
  const session = open(options, read)
  for await (const chunk of input) session.push(chunk)
  return session.end()
}

interface Session<T> {
  push(chunk: Uint8Array | string): void
  end(): JsonLines<T>
}

function open<T>({ file, lineCapBytes = LINE_CAP_BYTES }: JsonLinesOptions, read: ItemReader<T>): Session<T> {
  const problems = countDiagnostics(file)
  const encoder: ChunkEncoder = encodeChunks()
  const splitter: LineSplitter = splitLines(lineCapBytes)
  const items: T[] = []
  let lines = 0

  function take(line: InputLine): void {
    lines += 1
    const parsed = parseLine(line)
    if (typeof parsed === 'string') return problems.add(parsed, line.number)
    const item = read(parsed.value, line.number, problems)
    if (item !== undefined) items.push(item)
  }

  return {
    push(chunk) {
      splitter.push(encoder.push(chunk)).forEach(take)
    },
    end() {
      splitter.push(encoder.end()).forEach(take)
      splitter.end().forEach(take)
      return { items, lines, diagnostics: problems.list() }
    },
  }
}

function parseLine(line: InputLine): { readonly value: unknown } | 'line-too-long' | 'torn-tail' | 'bad-json' {
  if (line.tooLong) return 'line-too-long'
  const parsed = parseJson(line.bytes)
  if (parsed !== undefined) return parsed
  // A whole JSON object cannot be the beginning of a longer one, so only a last line that does not parse is torn.
  return line.terminated ? 'bad-json' : 'torn-tail'
}

/** Parses JSON in UTF-8; `undefined` when it is not that. */
export function parseJson(bytes: Uint8Array | string): { readonly value: unknown } | undefined {
  try {
    const text = typeof bytes === 'string' ? bytes : new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}
