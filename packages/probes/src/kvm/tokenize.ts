import { type ByteInput, chunksOf, encodeChunks, type NamedInput } from '../input/byte-input.ts'
import { isObject, type JsonObject } from '../input/fields.ts'
import { splitLines } from '../input/line-splitter.ts'
import { assembleStats } from './assemble.ts'
import { countExitsProblems, type ExitsDiagnostic, type ExitsProblems } from './diagnostics.ts'
import { takeCountersLine } from './read-counters.ts'
import { type Place, type Said, takeReply, takeReturn } from './read-qmp.ts'
import { isStatsFd, takeStatsFd } from './read-stats-fd.ts'
import { readReasons, type ReasonReader, type ReasonTable } from './read-reasons.ts'
import { readStatsText, type TextReader } from './read-text.ts'
import type { StatSchema, StatsSample } from './stats.ts'

/** What inputs held of KVM's statistics. */
export interface StatsReading {
  /** In the order of the input. */
  readonly samples: readonly StatsSample[]
  /** Tables of exits by reason, which other tools print. */
  readonly tables: readonly ReasonTable[]
  readonly schemas: ReadonlyMap<string, StatSchema>
  readonly said: Readonly<Said>
  readonly diagnostics: readonly ExitsDiagnostic[]
}

/**
 * Reads statistics from any mixture of inputs, told apart by content: QMP replies (one, a list, a transcript, JSON lines
 * with or without a record's envelope), a record's counters.jsonl, what KVM_GET_STATS_FD gives, `virsh domstats`, decoded
 * text, tables of perf, kvmexit and vmtop. Never throws on what they hold.
 */
export function readStats(inputs: readonly NamedInput[]): StatsReading {
  const into = assembleStats()
  const said: Said = { none: [] }
  const diagnostics: ExitsDiagnostic[] = []
  const tables: ReasonTable[] = []
  for (const { name, input } of inputs) {
    const problems = countExitsProblems(name)
    const bytes = wholeOf(input)
    const label = labelOf(name)
    if (isStatsFd(bytes)) takeStatsFd(bytes, label, into, problems)
    else takeText(bytes, { label, line: 1, into, said, problems }, (table) => tables.push(table))
    diagnostics.push(...problems.list())
  }
  return { samples: into.samples(), tables, schemas: into.schemas, said, diagnostics }
}

/** The last part of a path: names of phases are read by people. */
function labelOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1) || name
}

function wholeOf(input: ByteInput): Uint8Array {
  if (input instanceof Uint8Array) return input
  const encoder = encodeChunks()
  const pieces = [...chunksOf(input)].map((chunk) => encoder.push(chunk))
  pieces.push(encoder.end())
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

function takeText(bytes: Uint8Array, place: Place, addTable: (table: ReasonTable) => void): void {
  const splitter = splitLines()
  const decoder = new TextDecoder('utf-8')
  const lines = [...splitter.push(bytes), ...splitter.end()].map((line) => ({
    number: line.number,
    text: decoder.decode(line.bytes).replace(/\r$/, ''),
    terminated: line.terminated,
  }))
  const text: TextReader = readStatsText(place.label, place.into, place.problems)
  const reasons: ReasonReader = readReasons(place.label, addTable, place.problems)
  let pretty = true
  for (let at = 0; at < lines.length; at += 1) {
    const { number, text: line, terminated } = lines[at]!
    // `QEMU> {…}`: a shell's prompt may stand before the JSON.
    const start = line.trimStart().replace(/^[\w()-]{0,20}> ?(?=[[{])/, '')
    if (!start.startsWith('{') && !start.startsWith('[')) {
      if (!text.line(line, number) && !reasons.line(line, number)) place.problems.add('unparsed', number)
      continue
    }
    const one = parse(start)
    if (one !== undefined) {
      takeValue(one, { ...place, line: number }, 0)
      continue
    }
    // A value over several lines. Only the first one without an end may look through to the end of the text.
    const end = pretty ? endOfValue(lines, at, start) : undefined
    if (end === undefined) {
      if (pretty && at > 0 && !terminated && at === lines.length - 1) place.problems.add('torn-tail', number)
      else place.problems.add(pretty && /^[[{]\s*$/.test(start) ? 'torn-tail' : 'bad-json', number)
      if (pretty && /^[[{]\s*$/.test(start)) break
      pretty = false
      continue
    }
    const many = parse([start, ...lines.slice(at + 1, end + 1).map((next) => next.text)].join('\n'))
    if (many === undefined) place.problems.add('bad-json', number)
    else takeValue(many, { ...place, line: number }, 0)
    at = end
  }
  text.end()
  reasons.end()
}

/** The line in which a value that begins in line `at` is closed. */
function endOfValue(lines: readonly { readonly text: string }[], at: number, start: string): number | undefined {
  let depth = 0
  let inText = false
  for (let index = at; index < lines.length; index += 1) {
    const line = index === at ? start : lines[index]!.text
    for (let char = 0; char < line.length; char += 1) {
      const code = line[char]
      if (inText) {
        if (code === '\\') char += 1
        else if (code === '"') inText = false
      } else if (code === '"') inText = true
      else if (code === '{' || code === '[') depth += 1
      else if (code === '}' || code === ']') depth -= 1
    }
    // A JSON text has no line end in it.
    inText = false
    if (depth <= 0) return index
  }
  return undefined
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

// A transcript has its replies one or two levels down.
const MAX_DEPTH = 4

function takeValue(value: unknown, place: Place, depth: number): void {
  if (Array.isArray(value)) {
    const plain = value.length > 0 && value.every((one) => isObject(one) && ('provider' in one || 'qom-path' in one))
    if (plain) takeReturn(value, place)
    else if (depth < MAX_DEPTH) for (const one of value) takeValue(one, place, depth + 1)
    return
  }
  if (!isObject(value)) return
  if (isObject(value['message']) && (value['dir'] === 'in' || value['dir'] === 'out')) {
    if (value['dir'] === 'in') takeReply(value['message'], place)
    return
  }
  if (takeCountersLine(value, place) || takeReply(value, place) || isCommandOrEvent(value)) return
  if (depth >= MAX_DEPTH) return
  const entries = Object.entries(value)
  let known = false
  for (const [key, one] of entries) {
    if (typeof one !== 'object' || one === null) continue
    known = true
    takeValue(one, { ...place, label: key.slice(0, 80) }, depth + 1)
  }
  if (!known) unparsed(place.problems, place.line)
}

function isCommandOrEvent(value: JsonObject): boolean {
  return 'execute' in value || 'exec-oob' in value || ('event' in value && 'timestamp' in value)
}

function unparsed(problems: ExitsProblems, line: number): void {
  problems.add('unparsed', line)
}
