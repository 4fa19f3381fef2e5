import { LINE_CAP_BYTES } from '../../input/line-splitter.ts'
import { textOf } from '../../systemd/read/text-lines.ts'
import type { NamedInput } from '../../input/byte-input.ts'
import { parsePrintk } from '../printk.ts'
import { plainText } from '../terminal.ts'
import { columnsOfHeader, type GraphColumn, inferColumns } from './columns.ts'
import { collectFacts, type FactCollector, type TracefsFacts } from './facts.ts'
import { countGraphProblems, type GraphProblems } from './graph-diagnostics.ts'
import { type GraphLine, readFixedLine, readGraphLine, readTraceCmdLine } from './line.ts'

/** A line that tells something, with its number in the input. */
export interface TraceLine {
  readonly number: number
  /** `damage`: a line was here that could not be read. */
  readonly line: Exclude<GraphLine, { readonly kind: 'nothing' }> | { readonly kind: 'damage' }
}

/** One trace: what stands between two headers, or what has none. */
export interface Trace {
  readonly file: string
  readonly format: 'tracefs' | 'trace-cmd'
  readonly columns: readonly GraphColumn[]
  readonly headed: boolean
  readonly lines: readonly TraceLine[]
  /** Of the latency format's `#2148/3000`: events that were written and are not in the buffer. */
  readonly overwritten?: number
}

/** The traces of some inputs, what else they say of the tracer, and what could not be used. */
export interface TraceReading {
  readonly traces: readonly Trace[]
  /** Other tracers whose header was read, such as `function`. */
  readonly otherTracers: readonly string[]
  readonly facts: TracefsFacts
  readonly lines: number
  readonly problems: readonly GraphProblems[]
}

/** A trace that is being read. */
interface OpenTrace {
  readonly file: string
  readonly format: 'tracefs' | 'trace-cmd'
  readonly columns: readonly GraphColumn[]
  readonly headed: boolean
  readonly lines: TraceLine[]
  overwritten?: number
}

// oxlint-disable-next-line no-control-regex
const NEEDS_CLEANING = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/
const TRACER = /^# tracer: (\S{1,64})/
const ENTRIES = /^# latency: .*#(\d{1,18})\/(\d{1,18}), CPU#/

/** Reads traces, and what may stand beside them: a console's log, files of tracefs as `grep .` prints them. Never throws. */
export function readTraces(inputs: readonly NamedInput[]): TraceReading {
  const facts = collectFacts()
  const traces: Trace[] = []
  const otherTracers = new Set<string>()
  const problems: GraphProblems[] = []
  let lines = 0
  for (const { name, input } of inputs) {
    const counted = countGraphProblems(name)
    problems.push(counted)
    lines += readText(name, textOf(input), traces, otherTracers, counted, facts)
  }
  return { traces, otherTracers: [...otherTracers], facts: facts.facts(), lines, problems }
}

function readText(
  file: string,
  text: string,
  traces: Trace[],
  otherTracers: Set<string>,
  problems: GraphProblems,
  facts: FactCollector,
): number {
  const dirty = NEEDS_CLEANING.test(text)
  let open: OpenTrace | undefined
  let tracer: string | undefined
  let overwritten: number | undefined
  let number = 0

  function begin(format: OpenTrace['format'], columns: readonly GraphColumn[], headed: boolean): OpenTrace {
    open = { file, format, columns, headed, lines: [], ...(overwritten === undefined ? {} : { overwritten }) }
    overwritten = undefined
    traces.push(open)
    if (!headed) problems.add('no-header', number)
    return open
  }

  function takeHeader(line: string): void {
    const [, name] = TRACER.exec(line) ?? []
    if (name !== undefined) {
      tracer = name
      open = undefined
    }
    const [, kept, written] = ENTRIES.exec(line) ?? []
    if (kept !== undefined) overwritten = Math.max(0, Number(written) - Number(kept))
    const columns = columnsOfHeader(line)
    if (columns !== undefined) {
      begin('tracefs', columns, true)
      tracer = undefined
    } else if (tracer !== undefined && / FUNCTION\s*$/.test(line)) otherTracers.add(tracer)
  }

  function add(line: GraphLine, to: OpenTrace): void {
    if (line.kind !== 'nothing') to.lines.push({ number, line })
  }

  function takeTrace(line: string): boolean {
    if (open?.format === 'tracefs') {
      const read = readFixedLine(line) ?? readGraphLine(line, open.columns)
      if (read !== undefined) {
        add(read, open)
        return true
      }
    }
    const foreign = readTraceCmdLine(line)
    if (foreign !== undefined) {
      add(foreign, open?.format === 'trace-cmd' ? open : begin('trace-cmd', TRACE_CMD_COLUMNS, false))
      return true
    }
    // Under a header of another tracer nothing is of ours; under one of ours, the header knows better than a look.
    if (open?.headed || otherHeader()) return false
    const fixed = readFixedLine(line)
    if (fixed?.kind === 'lost' || fixed?.kind === 'switch') {
      // What the columns are, the next line of a function says.
      waiting.push({ number, line: fixed })
      return true
    }
    const columns = inferColumns(line)
    const read = columns && readGraphLine(line, columns)
    if (columns === undefined || read === undefined) return fixed !== undefined
    const trace = begin('tracefs', columns, false)
    trace.lines.push(...waiting.splice(0))
    add(read, trace)
    return true
  }

  function lose(how: 'torn-tail' | 'unparsed'): void {
    problems.add(how, number)
    open?.lines.push({ number, line: { kind: 'damage' } })
  }

  function otherHeader(): boolean {
    return tracer !== undefined
  }

  const waiting: TraceLine[] = []
  for (let from = 0; from < text.length;) {
    const newline = text.indexOf('\n', from)
    const raw = text.slice(from, newline === -1 ? text.length : newline)
    from = newline === -1 ? text.length : newline + 1
    number += 1
    if (raw.length > LINE_CAP_BYTES) {
      problems.add('line-too-long', number)
      continue
    }
    const line = dirty && NEEDS_CLEANING.test(raw) ? plainText(raw).replace(/^\r+|\r+$/g, '') : raw
    if (line.startsWith('#')) takeHeader(line)
    else if (takeTrace(line)) continue
    else if (facts.take(line)) continue
    else if (line.startsWith('[') || line.startsWith('<')) takeMessage(line)
    else if (otherHeader()) problems.add('other-tracer', number)
    else lose(newline === -1 ? 'torn-tail' : 'unparsed')
  }
  return number

  /** A line with a stamp of printk: of the kernel's log, or of the trace that ftrace_dump_on_oops printed there. */
  function takeMessage(line: string): void {
    const { text: message, atNs, level } = parsePrintk(line)
    if (atNs === undefined && level === undefined) lose('unparsed')
    else if (!takeTrace(message)) {
      problems.add('console-line', number)
      facts.take(message)
    }
  }
}

const TRACE_CMD_COLUMNS: readonly GraphColumn[] = ['task', 'cpu', 'abstime', 'duration']
