import { type Cells, type GraphColumn, pidOf, readCells, stampUs, wholeNumber, durationOf } from './columns.ts'

/** A line of a trace that tells of a function, or of who ran. */
export type GraphLine = FunctionLine | CommentLine | SwitchLine | LostLine | OverrunsLine | { readonly kind: 'nothing' }

interface OfCpu {
  /** Absent where the trace has no column for it. */
  readonly cpu?: number
  /** As the task column has it. */
  readonly task?: string
  readonly atUs?: number
}

/** A function was called, returned, or both (`f();`, a leaf). */
export interface FunctionLine extends OfCpu {
  readonly kind: 'open' | 'close' | 'leaf'
  readonly depth: number
  /** Absent of a close that the kernel printed without one. With its module: `vp_notify [virtio_pci]`. */
  readonly name?: string
  readonly us?: number
  /** funcgraph-retval: `0x0`, `-22`. */
  readonly returned?: string
  /** funcgraph-retaddr: where it was called from, `common_nsleep+0x34/0x70`. */
  readonly caller?: string
  /** funcgraph-args: what stood in the parentheses. */
  readonly args?: string
}

/** An event between the functions. */
export interface CommentLine extends OfCpu {
  readonly kind: 'comment'
  readonly text: string
}

/** ` 0)  busybox-110   =>  busybox-112  `: what was printed on the CPU before, and what comes (verif_pid). */
export interface SwitchLine {
  readonly kind: 'switch'
  readonly cpu: number
  readonly left: string
  readonly right: string
}

/** `CPU:0 [LOST 2663642 EVENTS]`; without a count where the kernel did not know it (print_lost_events). */
export interface LostLine {
  readonly kind: 'lost'
  readonly cpu: number
  readonly events?: number
}

/** ` (Overruns: 0)`, with funcgraph-overrun. */
export interface OverrunsLine {
  readonly kind: 'overruns'
  readonly overruns: number
}

/** Two blanks a level (TRACE_GRAPH_INDENT). */
const INDENT = 2
/** A level deeper than any stack: FTRACE_RETFUNC_DEPTH is 50, the shadow stack of 6.13 and later holds a few hundred. */
export const MAX_DEPTH = 1024

const NOTHING = { kind: 'nothing' } as const
const DASHES = /^ ?-{20,60}$/
const SWITCH = ' => '
const LOST = /^CPU:(\d{1,5}) \[LOST (?:(\d{1,18}) )?EVENTS\]$/
const OVERRUNS = /^ ?\(Overruns: (\d{1,10})\)$/

/** Lines of a trace that are the same in every layout; `undefined` for others. */
export function readFixedLine(line: string): GraphLine | undefined {
  if (line === '' || line.startsWith(' ---') || line.startsWith('---'))
    return line === '' || DASHES.test(line) ? NOTHING : undefined
  if (line.startsWith('CPU:')) {
    const [, cpu, events] = LOST.exec(line) ?? []
    if (cpu !== undefined) {
      return { kind: 'lost', cpu: Number(cpu), ...(events === undefined ? {} : { events: Number(events) }) }
    }
  }
  const arrow = line.indexOf(SWITCH)
  if (arrow !== -1 && arrow < 40) return readSwitch(line, arrow)
  const overruns = line.length < 30 ? OVERRUNS.exec(line)?.[1] : undefined
  return overruns === undefined ? undefined : { kind: 'overruns', overruns: Number(overruns) }
}

function readSwitch(line: string, arrow: number): SwitchLine | undefined {
  const paren = line.indexOf(')')
  if (paren > arrow) return undefined
  const cpu = wholeNumber(line.slice(0, paren).trim())
  const left = line.slice(paren + 1, arrow).trim()
  const right = line.slice(arrow + SWITCH.length).trim()
  if (cpu === undefined || pidOf(left) === undefined || pidOf(right) === undefined) return undefined
  return { kind: 'switch', cpu, left, right }
}

/** A line with the columns of the trace; `undefined` where it does not have them, or its end is torn off. */
export function readGraphLine(line: string, columns: readonly GraphColumn[]): GraphLine | undefined {
  const cells = readCells(line, columns)
  return cells && readBody(cells)
}

function readBody(cells: Cells): GraphLine | undefined {
  const { body, indent, us, interrupt, cpu, task, atUs } = cells
  // The arrow of an interrupt: its functions come as lines of their own.
  if (interrupt) return NOTHING
  const of = {
    ...(cpu === undefined ? {} : { cpu }),
    ...(task === undefined ? {} : { task }),
    ...(atUs === undefined ? {} : { atUs }),
  }
  if (body.startsWith('/*'))
    return body.endsWith('*/') ? { kind: 'comment', ...of, text: body.slice(2, -2).trim() } : undefined
  if (indent % INDENT !== 0 || indent / INDENT > MAX_DEPTH) return undefined
  const depth = indent / INDENT
  if (body.startsWith('}')) {
    const note = readNote(body.slice(1).trim(), true)
    return note && { kind: 'close', ...of, depth, ...note, ...(us === undefined ? {} : { us }) }
  }
  const called = readCall(body)
  return called && { ...called, ...of, depth, ...(us === undefined ? {} : { us }) }
}

type Called = Pick<FunctionLine, 'kind' | 'name' | 'args' | 'returned' | 'caller'>

/** `f();`, `f() {`, with what may stand in the parentheses and in a note behind. */
function readCall(body: string): Called | undefined {
  const paren = body.indexOf('(')
  const name = body.slice(0, Math.max(0, paren))
  if (!isFunctionName(name)) return undefined
  // Arguments have braces, commas and brackets too: the end of the line decides.
  const noteAt = body.endsWith('*/') ? body.lastIndexOf(' /*') : -1
  const call = noteAt === -1 ? body : body.slice(0, noteAt).trimEnd()
  const kind = call.endsWith(');') ? 'leaf' : call.endsWith(') {') ? 'open' : undefined
  if (kind === undefined) return undefined
  const args = call.slice(paren + 1, kind === 'leaf' ? -2 : -3)
  const note = readNote(noteAt === -1 ? '' : body.slice(noteAt).trim(), false)
  return note && { kind, name, ...(args === '' ? {} : { args }), ...note }
}

/** A symbol, with its module behind a blank. */
function isFunctionName(name: string): boolean {
  const blank = name.indexOf(' ')
  if (name === '' || name.length > 512) return false
  return blank === -1 || (name[blank + 1] === '[' && name.endsWith(']') && name.indexOf(' ', blank + 1) === -1)
}

// The note behind a call or a close: the name (with a close), 6.8's ` = 0x0`, 6.17's ` ret=0x0`, and `<-caller+0x34/0x70`.
// `undefined` for a torn one.
function readNote(note: string, named: boolean): Pick<FunctionLine, 'name' | 'returned' | 'caller'> | undefined {
  if (note === '') return {}
  if (!note.startsWith('/*') || !note.endsWith('*/') || note.length < 4) return undefined
  const words = note.slice(2, -2).trim().split(/ +/)
  const nameWords = named ? words.slice(0, words[1]?.startsWith('[') ? 2 : 1) : []
  const name = nameWords.join(' ')
  // `} /* = 0x0 */` and the like name no function.
  const hasName = name !== '' && !/^(?:=|ret=|<-)/.test(name)
  const rest = hasName ? words.slice(nameWords.length) : words
  const caller = rest.find((word) => word.startsWith('<-'))?.slice(2)
  const equals = rest.indexOf('=')
  const returned =
    rest.find((word) => word.startsWith('ret='))?.slice(4) ?? (equals === -1 ? undefined : rest[equals + 1])
  return {
    ...(hasName ? { name } : {}),
    ...(returned === undefined ? {} : { returned }),
    ...(caller === undefined || caller === '' ? {} : { caller }),
  }
}

const TRACE_CMD =
  /^ {0,200}(\S[^[]{0,24}-\d{1,10}) +\[(\d{1,5})\] +(?:[.\w#]{4,8} +)?(\d{1,10}\.\d{6,9}): +funcgraph_(entry|exit): /

/**
 * The third format: `trace-cmd report` of the function_graph plug-in, such as
 * `  sh-12  [001]  5.123456: funcgraph_entry:  1.040 us  |  f();`. `undefined` for any other line.
 */
export function readTraceCmdLine(line: string): GraphLine | undefined {
  const [prefix, task, cpu, stamp] = TRACE_CMD.exec(line) ?? []
  if (prefix === undefined || task === undefined || stamp === undefined) return undefined
  const bar = line.indexOf('|', prefix.length)
  const time = bar === -1 ? undefined : durationOf(line.slice(prefix.length, bar).trim())
  if (time === undefined) return undefined
  const body = line.slice(bar + 1).trimEnd()
  const trimmed = body.trimStart()
  const atUs = stampUs(stamp)
  return readBody({
    body: trimmed,
    // The bar and two blanks, as in the kernel's own format.
    indent: Math.max(0, body.length - trimmed.length - 2),
    cpu: Number(cpu),
    task: task.trim(),
    ...time,
    ...(atUs === undefined ? {} : { atUs }),
  })
}
