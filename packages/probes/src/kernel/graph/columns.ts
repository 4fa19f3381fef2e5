/**
 * The columns before a function, in the order in which the kernel prints them (print_graph_prologue and
 * print_graph_duration in kernel/trace/trace_functions_graph.c, Linux 5.10 to 7.2).
 */
export type GraphColumn = 'abstime' | 'reltime' | 'cpu' | 'task' | 'latency' | 'duration'

/** What the columns of one line say, and the function column with its indent. */
export interface Cells {
  /** `    7.861246 |  `: us on the trace's clock. */
  readonly atUs?: number
  /** ` 0) `. */
  readonly cpu?: number
  /** `busybox-131   | `: the name as printed, cut to 7 characters before the pid. */
  readonly task?: string
  /** `+ 10.617 us   |  `. */
  readonly us?: number
  /** `   ==========> |` and its return, of kernels before 4.x and other machines: an interrupt and no function. */
  readonly interrupt?: true
  /** What stands in the function column, without its indent. */
  readonly body: string
  /** Blanks before it. */
  readonly indent: number
}

const HEADER_END = 'FUNCTION CALLS'

/**
 * The columns that a header line names (print_graph_headers_flags), such as `# CPU  TASK/PID  DURATION  FUNCTION CALLS`;
 * `undefined` for any other line.
 */
export function columnsOfHeader(line: string): readonly GraphColumn[] | undefined {
  if (!line.startsWith('#') || !line.trimEnd().endsWith(HEADER_END)) return undefined
  const has = (word: string): boolean => line.includes(word)
  return [
    ...(/(?<!REL )TIME/.test(line) ? (['abstime'] as const) : []),
    ...(has('REL TIME') ? (['reltime'] as const) : []),
    ...(has('CPU') ? (['cpu'] as const) : []),
    ...(has('TASK/PID') ? (['task'] as const) : []),
    ...(has('||||') ? (['latency'] as const) : []),
    ...(has('DURATION') ? (['duration'] as const) : []),
  ]
}

const ABSTIME = /^ {0,8}\d{1,12}\.\d{6} \|/
const RELTIME = /^ {0,12}\d{1,16} us \|/
const CPU = /^ {0,5}\d{1,5}\)/
const TASK = /^ {0,16}\S[^|]{0,24}-\d{1,10} {1,16}\| /
const LATENCY = /^ {0,2}[.\w#]{4,8} \| /
const DURATION = /^(?:[+!#*@$ ] {0,4}[\d.]{1,16} us {1,8}\||[ ]{10,20}\|| {2}[=<>]{11} \|)/

/**
 * The columns that a line without a header seems to have, as text of trace_pipe or from the middle of a trace;
 * `undefined` for a line that has none of them, since a function alone may be anybody's text.
 */
export function inferColumns(line: string): readonly GraphColumn[] | undefined {
  const columns: GraphColumn[] = []
  let rest = line
  const peel = (column: GraphColumn, pattern: RegExp, thenBlanks: number): void => {
    const found = pattern.exec(rest)?.[0]
    if (found === undefined) return
    columns.push(column)
    rest = rest.slice(found.length + thenBlanks)
  }
  peel('abstime', ABSTIME, 2)
  if (columns.length === 0) peel('reltime', RELTIME, 2)
  peel('cpu', CPU, 1)
  peel('task', TASK, 0)
  peel('latency', LATENCY, 0)
  peel('duration', DURATION, 2)
  return columns.length === 0 || !/^ *(?:\}|\/\*|[\w.$]+(?: \[[\w-]+\])?\()|^ *$/.test(rest) ? undefined : columns
}

/** Reads the columns of a line; `undefined` where one of them is not there. */
export function readCells(line: string, columns: readonly GraphColumn[]): Cells | undefined {
  let at = 0
  let atUs: number | undefined
  let cpu: number | undefined
  let task: string | undefined
  let time: DurationCell = {}
  for (const column of columns) {
    if (column === 'cpu') {
      const paren = line.indexOf(')', at)
      cpu = paren === -1 || paren - at > 10 ? undefined : wholeNumber(line.slice(at, paren).trim())
      if (cpu === undefined) return undefined
      at = paren + 2
      continue
    }
    const bar = column === 'task' ? endOfTask(line, at) : line.indexOf('|', at)
    if (bar === -1) return undefined
    const cell = line.slice(at, bar)
    // The two time columns and the duration end with `|` and two blanks, the others with one.
    at = bar + (column === 'task' || column === 'latency' ? 2 : 3)
    if (column === 'abstime') {
      atUs = stampUs(cell.trim())
      if (atUs === undefined) return undefined
    } else if (column === 'task') task = cell.trim()
    else if (column === 'duration') {
      const read = durationOf(cell.trim())
      if (read === undefined) return undefined
      time = read
    }
  }
  let from = at
  while (line.charCodeAt(from) === 32) from += 1
  return {
    ...(atUs === undefined ? {} : { atUs }),
    ...(cpu === undefined ? {} : { cpu }),
    ...(task === undefined ? {} : { task }),
    ...time,
    body: line.slice(from).trimEnd(),
    indent: Math.max(0, from - at),
  }
}

interface DurationCell {
  readonly us?: number
  readonly interrupt?: true
}

// Marks of trace_find_mark in kernel/trace/trace_output.c: none, + ! # * @ $.
const DURATION_CELL = /^(?:[+!#*@$] {0,8})?(\d{1,20}(?:\.\d{1,9})?) us$/

/** Seven digits in all: `5.032 us`, `12345.67 us`, `6755156 us`. */
export function durationOf(cell: string): DurationCell | undefined {
  if (cell === '') return {}
  if (cell === '==========>' || cell === '<==========') return { interrupt: true }
  const [, us] = DURATION_CELL.exec(cell) ?? []
  return us === undefined ? undefined : { us: Number(us) }
}

/** Seconds with six decimals, or nine of `trace-cmd report -t`, as us. */
export function stampUs(text: string): number | undefined {
  const [, seconds, micros = ''] = /^(\d{1,10})\.(\d{6,9})$/.exec(text) ?? []
  return seconds === undefined ? undefined : Number(seconds) * 1e6 + Number(micros) / 10 ** (micros.length - 6)
}

/** The bar after a task: a command may have one in its name, so that the pid before it decides. */
function endOfTask(line: string, at: number): number {
  for (let bar = line.indexOf('|', at), tries = 0; bar !== -1 && tries < 8; tries += 1) {
    if (pidOf(line.slice(at, bar).trim()) !== undefined) return bar
    bar = line.indexOf('|', bar + 1)
  }
  return -1
}

/** The pid of a task as it is printed, `rcu_pre-15`; a name may have a hyphen too. */
export function pidOf(task: string): number | undefined {
  const hyphen = task.lastIndexOf('-')
  return hyphen < 1 ? undefined : wholeNumber(task.slice(hyphen + 1))
}

export function wholeNumber(text: string): number | undefined {
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined
}
