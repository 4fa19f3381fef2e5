/** How an engine's process ended. */
export interface EngineExit {
  /** Exit code; absent when a signal ended it. */
  readonly code?: number
  /** Signal number. */
  readonly signal?: number
}

/** A mark that the boot reached, and when. */
export interface ReachedMark {
  readonly mark: string
  /** After `start`, in milliseconds. */
  readonly atMs: number
}

/** What an error of a box knows about its circumstances. Every field is absent where it is not known. */
export interface BoxErrorDetails {
  /** errno in the guest, where a system call of the agent's failed. */
  readonly errno?: number
  /** The stage that the boot was in: it had begun and not ended. Absent between two stages and once the box is ready. */
  readonly stage?: string
  /** For how long it had been in that stage, in milliseconds. */
  readonly stageMs?: number
  /** The last mark that the boot reached. */
  readonly lastMark?: string
  /** Time since that mark, in milliseconds. */
  readonly sinceMs?: number
  /** The last few marks, in the order of their times. */
  readonly lastMarks?: readonly ReachedMark[]
  /** When it failed, after `start`, in milliseconds. */
  readonly failedMs?: number
  /** Of a wait: what each part of it saw, one line each. */
  readonly waited?: readonly string[]
  /** How the engine ended. */
  readonly exit?: EngineExit
  /** The last lines of the console, or those around the line that the likely cause rests on. */
  readonly consoleTail?: string
  /** The folder of the record. */
  readonly record?: string
  /** What most likely happened and what to do about it. */
  readonly likelyCause?: string
  /** The name of that cause, such as `no-root`: docs/failures.md shows one of each. */
  readonly causeId?: string
  /** The line or the fact that the likely cause rests on. */
  readonly evidence?: string
  /** A shell line that boots the same machine by hand. */
  readonly reproduce?: string
}

const detailNames = [
  'errno',
  'stage',
  'stageMs',
  'lastMark',
  'sinceMs',
  'lastMarks',
  'failedMs',
  'waited',
  'exit',
  'consoleTail',
  'record',
  'likelyCause',
  'causeId',
  'evidence',
  'reproduce',
] as const satisfies readonly (keyof BoxErrorDetails)[]

// The first of the lines that `describeFailure` puts below a sentence, which may have several lines of its own.
const evidenceBegins = /\n {2}(?:(?:likely cause|seen|waited|reached|marks|engine|record|reproduce): |console:\n)/

/**
 * Something went wrong with a box. `code` says what, the message is a sentence that names the thing, and the details
 * hold the evidence.
 */
export class BoxError extends Error implements BoxErrorDetails {
  override readonly name: string = 'BoxError'
  /** `ERR_BOX_…`: the catalogue is in `crates/runtime/src/fault.rs`, and `ERR_BOX_OPTIONS`, `ERR_BOX_ABORTED`. */
  readonly code: string
  declare readonly errno?: number
  declare readonly stage?: string
  declare readonly stageMs?: number
  declare readonly lastMark?: string
  declare readonly sinceMs?: number
  declare readonly lastMarks?: readonly ReachedMark[]
  declare readonly failedMs?: number
  declare readonly waited?: readonly string[]
  declare readonly exit?: EngineExit
  declare readonly consoleTail?: string
  declare readonly record?: string
  declare readonly likelyCause?: string
  declare readonly causeId?: string
  declare readonly evidence?: string
  declare readonly reproduce?: string

  constructor(code: string, message: string, details: BoxErrorDetails = {}, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    setDetails(this, details)
  }

  /** The sentence of the message, without the evidence below it. */
  get summary(): string {
    return this.message.split(evidenceBegins, 1)[0] ?? ''
  }

  /** The details, as the constructor takes them. */
  details(): BoxErrorDetails {
    return Object.fromEntries(detailNames.map((name) => [name, this[name]]).filter(([, value]) => value !== undefined))
  }

  /**
   * Adds what was found out after it was made, and shows it below the sentence. It stays the same error, with its class,
   * its fields, its `cause` and the frames of its stack.
   */
  explain(details: DetailChanges, about: FailureSubject = subjectOf(this.code)): this {
    const { summary } = this
    const before = `${this.name}: ${this.message}`
    setDetails(this, details)
    this.message = describeFailure(summary, this.details(), { code: this.code, about })
    // The head of the stack is a copy of the message from when it was made; Node prints that one.
    const { stack } = this
    if (stack?.startsWith(before)) this.stack = `${this.name}: ${this.message}${stack.slice(before.length)}`
    return this
  }
}

/** Details to set, and with an undefined value those to take away. */
export type DetailChanges = { readonly [name in keyof BoxErrorDetails]: BoxErrorDetails[name] | undefined }

function setDetails(error: BoxError, details: DetailChanges): void {
  for (const name of detailNames) {
    if (!(name in details)) continue
    const value = details[name]
    // The message shows these where they matter; a log that prints fields too should not show them twice.
    const enumerable =
      name !== 'consoleTail' && name !== 'reproduce' && name !== 'lastMarks' && name !== 'evidence' && name !== 'waited'
    if (value === undefined) Reflect.deleteProperty(error, name)
    else Object.defineProperty(error, name, { value, enumerable, configurable: true, writable: true })
  }
}

/** The addon cannot be used: it is missing, broken, or of another version. `cause` is the loader's error. */
export class NativeError extends Error {
  override readonly name: string = 'NativeError'
  /** Always this. */
  readonly code: 'ERR_BOX_NATIVE' = 'ERR_BOX_NATIVE' as const
  /** The files that were tried, in order. */
  readonly tried: readonly string[]

  constructor(message: string, tried: readonly string[], cause?: Error) {
    super(message, cause === undefined ? undefined : { cause })
    this.tried = tried
  }
}

/** A failure as it crosses the seam (`Failure` in `crates/runtime/src/fault.rs`). */
interface Failure extends BoxErrorDetails {
  readonly code: string
  readonly message: string
}

const prefix = 'boxlab:'

/** Makes the typed error of what the addon threw. The lines under the message are what a test log must show. */
export function toBoxError(thrown: unknown): Error {
  if (!(thrown instanceof Error)) return new BoxError('ERR_BOX_UNKNOWN', String(thrown))
  if (!thrown.message.startsWith(prefix)) return thrown
  const { code, message, ...details } = JSON.parse(thrown.message.slice(prefix.length)) as Failure
  return new BoxError(code, describeFailure(message, details, { code }), details)
}

/** What a failure is one of: of a box, or of one command, file or connection of a box that went on. */
export type FailureSubject = 'box' | 'command'

/** A refusal of the agent's, or a command that was cut short, says nothing of the boot. */
function subjectOf(code: string): FailureSubject {
  return code === 'ERR_BOX_REFUSED' || code.startsWith('ERR_BOX_EXEC_') ? 'command' : 'box'
}

/**
 * The message with the evidence below it, as vitest's default reporter prints it: first what most likely happened, then
 * where, then where to look further; the console comes last, next to the stack, as it is the longest.
 */
export function describeFailure(
  message: string,
  details: BoxErrorDetails,
  { code = '', about = subjectOf(code) }: { readonly code?: string; readonly about?: FailureSubject } = {},
): string {
  const { likelyCause, evidence, record, reproduce, consoleTail } = details
  // A command of which nothing more is known has its own sentence, and its output, to tell; how the box once booted
  // is never the point.
  if (about === 'command' && likelyCause === undefined) return message
  const lines = [message]
  const add = (name: string, text: string | undefined): void => {
    if (text !== undefined) lines.push(`  ${name}: ${text}`)
  }
  add('likely cause', likelyCause)
  // What stands in the sentence or on the console below is not shown a second time.
  if (evidence !== undefined && !message.includes(evidence) && !consoleTail?.includes(evidence)) add('seen', evidence)
  for (const line of details.waited ?? []) add('waited', line)
  if (about === 'box') {
    add('reached', placeOf(details))
    add('marks', marksOf(details))
    add('engine', endOf(details, code))
  }
  add('record', record)
  if (about === 'box') add('reproduce', reproduce)
  if (consoleTail) lines.push('  console:', ...consoleTail.split('\n').map((line) => `    ${asPlainLine(line)}`))
  return lines.join('\n')
}

function placeOf({ stage, stageMs, lastMark, sinceMs }: BoxErrorDetails): string | undefined {
  const after = lastMark !== undefined && sinceMs !== undefined ? `${lastMark}, ${whole(sinceMs)} ms before` : undefined
  if (stage === undefined || stageMs === undefined) return after
  // A stage that the last mark began is as old as that.
  const began = sinceMs === undefined || whole(stageMs) === whole(sinceMs)
  const inStage = `stage ${stage} for ${whole(stageMs)} ms`
  return began ? `${inStage}${lastMark === undefined ? '' : ` (since ${lastMark})`}` : `${inStage}; ${after}`
}

function marksOf({ lastMarks, failedMs }: BoxErrorDetails): string | undefined {
  if (lastMarks === undefined || lastMarks.length === 0) return undefined
  const marks = lastMarks.map(({ mark, atMs }) => `${mark} ${whole(atMs)}`)
  return `${marks.join(', ')}${failedMs === undefined ? '' : `, failed ${whole(failedMs)}`} (ms after start)`
}

const SIGKILL = 9
// Of these the sentence tells how the engine ended.
const tellsOfEngine = ['ERR_BOX_ENGINE_EXITED', 'ERR_BOX_SPAWN']

function endOf({ exit }: BoxErrorDetails, code: string): string | undefined {
  if (exit === undefined || tellsOfEngine.includes(code)) return undefined
  // After a failure the runtime kills what still runs: that says nothing of the engine.
  if (exit.signal === SIGKILL) return undefined
  if (exit.signal !== undefined) return `ended by signal ${exit.signal}`
  // A guest that resets or powers off ends its engine with 0.
  return exit.code === undefined || exit.code === 0 ? undefined : `ended with exit code ${exit.code}`
}

/** Without the escape codes and control characters that firmware and programs write, which would redraw the log. */
function asPlainLine(line: string): string {
  // oxlint-disable-next-line no-control-regex
  return line.replace(/\x1b(?:\[[0-?]*[ -/]*[@-~]|[ -/]*[0-Z\\^-~])/g, '').replace(/[\x00-\x08\x0a-\x1f\x7f-\x9f]/g, '')
}

function whole(ms: number): number {
  return Math.round(ms)
}

/** Awaits a call into the addon and makes its error typed, with this call's stack. */
export async function typed<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (thrown) {
    throw toBoxError(thrown)
  }
}
