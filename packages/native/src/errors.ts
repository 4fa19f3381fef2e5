/** How an engine's process ended. */
export interface EngineExit {
  /** Exit code; absent when a signal ended it. */
  readonly code?: number
  /** Signal number. */
  readonly signal?: number
}

/** What an error of a box knows about its circumstances. Every field is absent where it is not known. */
export interface BoxErrorDetails {
  /** errno in the guest, where a system call of the agent's failed. */
  readonly errno?: number
  /** The last mark that the boot reached. */
  readonly lastMark?: string
  /** Time since that mark, in milliseconds. */
  readonly sinceMs?: number
  /** How the engine ended. */
  readonly exit?: EngineExit
  /** The last lines of the console. */
  readonly consoleTail?: string
  /** The folder of the record. */
  readonly record?: string
  /** What most likely happened and what to do about it. */
  readonly likelyCause?: string
}

/**
 * Something went wrong with a box. `code` says what, the message is a sentence that names the thing, and the details
 * hold the evidence.
 */
export class BoxError extends Error implements BoxErrorDetails {
  override readonly name: string = 'BoxError'
  /** `ERR_BOX_…`: the catalogue is in `crates/runtime/src/fault.rs`, and `ERR_BOX_OPTIONS`, `ERR_BOX_ABORTED`. */
  readonly code: string
  declare readonly errno?: number
  declare readonly lastMark?: string
  declare readonly sinceMs?: number
  declare readonly exit?: EngineExit
  declare readonly consoleTail?: string
  declare readonly record?: string
  declare readonly likelyCause?: string

  constructor(code: string, message: string, details: BoxErrorDetails = {}, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    Object.assign(this, details)
    // The message shows it already where it matters; a test log should not show it twice.
    if (this.consoleTail !== undefined) Object.defineProperty(this, 'consoleTail', { enumerable: false })
  }

  /** The sentence of the message, without the evidence below it. */
  get summary(): string {
    return this.message.split('\n', 1)[0] ?? ''
  }

  /** The details, as the constructor takes them. */
  details(): BoxErrorDetails {
    const { errno, lastMark, sinceMs, exit, consoleTail, record, likelyCause } = this
    const details = { errno, lastMark, sinceMs, exit, consoleTail, record, likelyCause }
    return Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined))
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
  // A refusal of the agent's, or a command that was cut short, says nothing of the boot.
  const ofCommand = code === 'ERR_BOX_REFUSED' || code.startsWith('ERR_BOX_EXEC_')
  return new BoxError(code, ofCommand ? message : describeFailure(message, details), details)
}

/** The message with the evidence below it, as vitest's default reporter prints it. */
export function describeFailure(message: string, details: BoxErrorDetails): string {
  const lines = [message]
  if (details.lastMark !== undefined && details.sinceMs !== undefined) {
    lines.push(`  reached: ${details.lastMark}, ${Math.round(details.sinceMs)} ms before`)
  }
  if (details.likelyCause !== undefined) lines.push(`  likely cause: ${details.likelyCause}`)
  if (details.record !== undefined) lines.push(`  record: ${details.record}`)
  if (details.consoleTail) {
    lines.push('  console:', ...details.consoleTail.split('\n').map((line) => `    ${line}`))
  }
  return lines.join('\n')
}

/** Awaits a call into the addon and makes its error typed, with this call's stack. */
export async function typed<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (thrown) {
    throw toBoxError(thrown)
  }
}
