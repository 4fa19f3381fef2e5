import { setTimeout as sleep } from 'node:timers/promises'
import { BoxError, describeFailure, type ExecExit, type Machine, type MarkLine } from '@boxlab/native'
import { type ExecDefaults, ExecError, execCommand, plainReason } from '../exec.ts'
import { ConsoleLines, readAtNs } from './console-lines.ts'
import { History } from './history.ts'
import { systemdLeaf } from './systemd-leaf.ts'
import { describeStrategy, leavesOf, markOf, nativeMark, type WaitLeaf, type WaitStrategy } from './strategy.ts'

/** The box that is waited for, and how long. */
export interface WaitContext {
  readonly machine: Machine
  /** The folder of its record. */
  readonly record: string
  /** The mark by which the runtime itself looks for the box's readiness, from the boot's first instant on. */
  readonly watched?: string | undefined
  readonly defaults: ExecDefaults
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/** Between two questions to the guest. Each costs it some instructions, so not at full speed. */
const pauseMs = 25
/** The console is looked at no more often than this: waking up for each of its bytes would slow the guest down. */
const paceMs = 10
/** A line that is not whole and stays so for this long is looked at as it is. */
const quietMs = 40

/** What the guest must be asked for again and again. */
type Polled = Extract<WaitLeaf, { kind: 'port' | 'file' | 'command' }>

/** A leaf on its way: until when, and who ends it early. */
interface Leaf extends WaitContext {
  readonly untilMs: number
  /** Ends with the whole wait. */
  readonly over: AbortSignal
  readonly history: History
}

/**
 * Waits for a strategy; gives the mark of the part that decided: of several that all must come, the last one. Rejects
 * within 50 ms of the end of the box with its reason, with ERR_BOX_TIMEOUT after `timeoutMs` and with ERR_BOX_ABORTED at
 * an abort, both with what was seen.
 */
export async function waitFor(strategy: WaitStrategy, context: WaitContext): Promise<MarkLine> {
  const { timeoutMs, signal } = context
  const end = new AbortController()
  const histories = new Map(leavesOf(strategy).map((leaf) => [leaf, new History(describeStrategy(leaf))]))
  const common = { ...context, untilMs: performance.now() + timeoutMs, over: end.signal }
  const run = async (part: WaitStrategy): Promise<MarkLine> => {
    if (part.kind === 'all') return lastOf(await Promise.all(part.of.map(run)))
    if (part.kind === 'any') return Promise.race(part.of.map(run))
    const history = histories.get(part) ?? new History('')
    const mark = await waitForLeaf(part, { ...common, history })
    history.came()
    return mark
  }
  const failure = (code: string, sentence: string, cause?: Error): BoxError => {
    const details = { waited: [...histories.values()].map(String) }
    return new BoxError(code, describeFailure(sentence, details), details, cause && { cause })
  }
  return new Promise<MarkLine>((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(failure('ERR_BOX_TIMEOUT', `${describeStrategy(strategy)} did not come within ${timeoutMs} ms`))
    }, timeoutMs)
    const abort = (): void => {
      reject(failure('ERR_BOX_ABORTED', `the wait for ${describeStrategy(strategy)} was aborted`, plainReason(signal)))
    }
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
    run(strategy)
      .then(resolve, reject)
      .finally(() => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
      })
  }).finally(() => end.abort())
}

function lastOf(marks: readonly MarkLine[]): MarkLine {
  return marks.reduce((last, mark) => (mark.atNs > last.atNs ? mark : last))
}

async function waitForLeaf(part: WaitLeaf, context: Leaf): Promise<MarkLine> {
  const { machine } = context
  const mark = markOf(part)
  const native = nativeMark(part)
  if (part.kind === 'mark' || (native !== undefined && native === context.watched)) return markLeaf(mark, context)
  if (part.kind === 'console') return consoleLeaf(part.text, mark, context)
  if (part.kind === 'unit' || part.kind === 'systemd') {
    await untilOver(() => systemdLeaf(part, machine, context.history, context.over), context.over)
  } else await poll(part, context)
  return setMark(machine, mark)
}

function setMark(machine: Machine, mark: string, atNs: number = Number(process.hrtime.bigint())): MarkLine {
  machine.mark(mark, BigInt(atNs))
  return { mark, source: 'harness', clock: 'host', atNs }
}

async function markLeaf(mark: string, { machine, untilMs, over, history }: Leaf): Promise<MarkLine> {
  const last = machine.marks().at(-1)?.mark
  history.saw(last === undefined ? 'no mark yet' : `the last mark when the wait began was \`${last}\``)
  return untilOver(() => machine.waitMark(mark, leftMs(untilMs)), over)
}

async function consoleLeaf(text: string | RegExp, mark: string, context: Leaf): Promise<MarkLine> {
  const { machine, record, untilMs, over, history } = context
  const matches = matcher(text)
  const lines = new ConsoleLines(record)
  const found = ({ end }: { readonly end: number }): MarkLine => setMark(machine, mark, readAtNs(record, end))
  try {
    for (;;) {
      for (const line of lines.whole()) if (matches(line.text)) return found(line)
      history.saw(lines.summary())
      const partial = lines.partial()
      const grown = partial ? await grows(machine, lines.offset, quietMs) : undefined
      if (partial && grown !== true) {
        if (matches(partial.text)) return found(partial)
        if (grown !== false) throw grown
      }
      if (!grown) await untilOver(() => machine.waitConsole(lines.offset, leftMs(untilMs)), over)
      await sleep(paceMs)
      over.throwIfAborted()
    }
  } finally {
    lines.close()
  }
}

/** Whether the console grows within a time; the error, if the box ended. */
async function grows(machine: Machine, offset: number, withinMs: number): Promise<boolean | Error> {
  try {
    await machine.waitConsole(offset, withinMs)
    return true
  } catch (error) {
    return error instanceof BoxError && error.code === 'ERR_BOX_TIMEOUT' ? false : (error as Error)
  }
}

function matcher(text: string | RegExp): (line: string) => boolean {
  if (typeof text === 'string') return (line) => line.includes(text)
  // An expression that is global or sticky remembers where it was.
  const expression = new RegExp(text.source, text.flags.replace(/[gy]/g, ''))
  return (line) => expression.test(line)
}

/** Asks the guest again and again. A refusal of the guest's is an answer; anything else ends the wait. */
async function poll(part: Polled, context: Leaf): Promise<void> {
  const { over, history } = context
  for (;;) {
    over.throwIfAborted()
    try {
      const problem = await untilOver(() => ask(part, context), over)
      if (problem === undefined) return
      history.saw(problem)
    } catch (error) {
      if (!(error instanceof BoxError) || (error.code !== 'ERR_BOX_REFUSED' && !isOwnLimit(error))) throw error
      history.saw(error.summary)
    }
    await sleep(pauseMs)
  }
}

/** The question itself took too long; the wait as a whole has a bound of its own. */
function isOwnLimit({ code }: BoxError): boolean {
  return code === 'ERR_BOX_TIMEOUT' || code === 'ERR_BOX_EXEC_TIMEOUT'
}

/** Asks once; gives what is not yet as it should be. */
async function ask(part: Polled, { machine, defaults, untilMs, over }: Leaf): Promise<string | undefined> {
  const limitMs = Math.min(leftMs(untilMs), defaults.execMs)
  if (part.kind === 'file') {
    await machine.stat(part.path, limitMs)
    return undefined
  }
  if (part.kind === 'port') {
    const connection = await machine.dial(part.port, limitMs)
    connection.on('error', () => {}).destroy()
    return undefined
  }
  const options = { timeoutMs: limitMs, signal: over, maxOutputBytes: 1024 * 1024 }
  return commandProblem(await execCommand(machine, part.argv, options, defaults))
}

function commandProblem(exit: ExecExit & { readonly stdout: Buffer; readonly stderr: Buffer }): string | undefined {
  if (exit.exitCode === 0) return undefined
  const how = exit.exitCode === undefined ? `ended by ${exit.signal}` : `exit code ${exit.exitCode}`
  const said = (exit.stderr.length > 0 ? exit.stderr : exit.stdout).toString().trim().split('\n').at(-1)
  return said ? `${how}, it said '${said.slice(0, 200)}'` : how
}

/** The native bound lies beyond the wait's own, whose error tells more. */
function leftMs(untilMs: number): number {
  return Math.max(1, Math.ceil(untilMs - performance.now())) + 1000
}

/** Runs one call; when the wait is over meanwhile, its outcome is nobody's any more. */
async function untilOver<T>(call: () => Promise<T>, over: AbortSignal): Promise<T> {
  try {
    return await call()
  } catch (error) {
    over.throwIfAborted()
    throw error instanceof ExecError ? new BoxError(error.code, error.summary, error.details()) : error
  }
}
