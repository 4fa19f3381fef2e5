import type { Readable } from 'node:stream'
import { BoxError, type BoxErrorDetails, type ExecRequest, type Machine, type RunningCommand } from '@boxlab/native'
import { refuse } from './check-options.ts'
import type { BoxOptions } from './options.ts'

/** How to run a command. */
export interface ExecOptions {
  /** Kills the command's process group. */
  readonly signal?: AbortSignal | undefined
  /** Kills the command's process group after this time, in milliseconds. Default: the box's `timeouts.execMs`. */
  readonly timeoutMs?: number
  /** Its standard input. Default: none (an end of file at once). */
  readonly stdin?: string | Uint8Array | Readable
  /** Variables on top of the box's `env`. */
  readonly env?: Readonly<Record<string, string>>
  /** Working directory. Default: the box's `workdir`. */
  readonly cwd?: string
  /** A name or `uid[:gid]`. Default: the box's `user`. */
  readonly user?: string
  /** A terminal: true for 24 by 80. All output is then in stdout. */
  readonly pty?: boolean | { readonly rows: number; readonly cols: number }
  /** The most that is kept of stdout and stderr together, in bytes. More is an error. Default 256 MiB. */
  readonly maxOutputBytes?: number
}

/** How a command went, with exact bytes. */
export interface ExecResult {
  readonly stdout: Buffer
  readonly stderr: Buffer
  /** Absent when a signal ended it. */
  readonly exitCode?: number
  /** The signal that ended it, for example `SIGKILL`. */
  readonly signal?: string
  /** From spawn to exit on the guest's clock, in milliseconds. */
  readonly durationMs: number
  /** A process that it left behind still held an output stream, which was closed all the same. */
  readonly outputHeld: boolean
}

/** A command was cut short; what it had printed by then is here. */
export class ExecError extends BoxError {
  override readonly name: string = 'ExecError'
  readonly stdout: Buffer
  readonly stderr: Buffer

  constructor(error: { code: string; message: string; cause?: unknown }, output: Output, details: BoxErrorDetails) {
    super(error.code, error.message, details, error.cause === undefined ? undefined : { cause: error.cause })
    this.stdout = output.stdout()
    this.stderr = output.stderr()
  }
}

/** What a box adds to each of its commands. */
export interface ExecDefaults {
  readonly env: Readonly<Record<string, string>>
  readonly user?: string
  readonly workdir?: string
  readonly execMs: number
}

/** What a box's commands begin with: the box's options, over what its image says of itself. */
export function execDefaults(
  { env, user, workdir, timeouts }: BoxOptions,
  config: { readonly env: Readonly<Record<string, string>>; readonly user?: string; readonly workdir?: string } = {
    env: {},
  },
): ExecDefaults {
  const who = user ?? config.user
  const where = workdir ?? config.workdir
  return {
    env: { ...config.env, ...env },
    execMs: timeouts?.execMs ?? 60_000,
    ...(who !== undefined && { user: who }),
    ...(where !== undefined && { workdir: where }),
  }
}

interface Output {
  stdout(): Buffer
  stderr(): Buffer
}

const defaultMaxOutputBytes = 256 * 1024 * 1024

/** Starts a command and gives its handle; the caller reads its streams. */
export async function spawnCommand(
  machine: Machine,
  argv: readonly string[],
  options: ExecOptions,
  defaults: ExecDefaults,
): Promise<RunningCommand> {
  const request = execRequest(argv, options, defaults)
  throwIfAborted(options.signal, argv)
  const command = await machine.exec(request)
  const abort = (): void => command.kill()
  options.signal?.addEventListener('abort', abort, { once: true })
  if (options.signal?.aborted) abort()
  return {
    ...command,
    async wait() {
      try {
        return await command.wait()
      } finally {
        options.signal?.removeEventListener('abort', abort)
      }
    },
  }
}

/** Runs a command to its end. A non-zero exit is a result; an error means that there is no exit to tell of. */
export async function execCommand(
  machine: Machine,
  argv: readonly string[],
  options: ExecOptions,
  defaults: ExecDefaults,
): Promise<ExecResult> {
  const command = await spawnCommand(machine, argv, options, defaults)
  const output = collect(command, options.maxOutputBytes ?? defaultMaxOutputBytes)
  feed(command, options.stdin)
  try {
    const exit = await command.wait()
    await output.done
    if (output.overflow) throw overflowError(argv, options)
    return { stdout: output.stdout(), stderr: output.stderr(), ...exit }
  } catch (thrown) {
    throw withOutput(thrown, output, argv, options)
  }
}

function execRequest(argv: readonly string[], options: ExecOptions, defaults: ExecDefaults): ExecRequest {
  if (argv.length === 0 || argv.some((word) => typeof word !== 'string')) {
    refuse('`exec` takes an array with a command and its arguments; for a shell line use `shell`')
  }
  const nul = argv.findIndex((word) => word.includes('\0'))
  if (nul >= 0) refuse(`\`exec\`: argument ${nul} holds a NUL byte, which no command line can`)
  const timeoutMs = options.timeoutMs ?? defaults.execMs
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1) {
    refuse(`\`timeoutMs\` must be a whole number of milliseconds of 1 or more, not ${timeoutMs}`)
  }
  const cwd = options.cwd ?? defaults.workdir
  const user = options.user ?? defaults.user
  const pty = options.pty === true ? { rows: 24, cols: 80 } : options.pty || undefined
  return {
    argv,
    env: Object.entries({ ...defaults.env, ...options.env }),
    ...(cwd !== undefined && { cwd }),
    ...(user !== undefined && { user }),
    ...(pty && { pty: { rows: pty.rows, cols: pty.cols } }),
    timeoutMs,
  }
}

function feed(command: RunningCommand, stdin: ExecOptions['stdin']): void {
  // A command that ends without reading its input is no error; its exit tells how it went.
  command.stdin.on('error', () => {})
  if (stdin === undefined || typeof stdin === 'string' || stdin instanceof Uint8Array) command.stdin.end(stdin)
  else stdin.on('error', (error) => command.stdin.destroy(error)).pipe(command.stdin)
}

function collect(
  command: RunningCommand,
  maxBytes: number,
): Output & { readonly overflow: boolean; readonly done: Promise<unknown> } {
  let left = maxBytes
  let overflow = false
  const gather = (stream: Readable | undefined): { chunks: Buffer[]; ended: Promise<void> } => {
    const chunks: Buffer[] = []
    if (!stream) return { chunks, ended: Promise.resolve() }
    const ended = new Promise<void>((resolve) => {
      // An error of a stream is also the error of wait(), which tells more.
      stream.on('close', resolve).on('error', () => resolve())
    })
    stream.on('data', (chunk: Buffer) => {
      const kept = chunk.subarray(0, left)
      if (kept.length > 0) chunks.push(kept)
      left -= kept.length
      if (kept.length < chunk.length && !overflow) {
        overflow = true
        command.kill()
      }
    })
    return { chunks, ended }
  }
  const stdout = gather(command.stdout)
  const stderr = gather(command.stderr)
  return {
    stdout: () => Buffer.concat(stdout.chunks),
    stderr: () => Buffer.concat(stderr.chunks),
    get overflow() {
      return overflow
    },
    done: Promise.all([stdout.ended, stderr.ended]),
  }
}

function withOutput(
  thrown: unknown,
  output: Output & { readonly overflow: boolean },
  argv: readonly string[],
  options: ExecOptions,
): unknown {
  if (thrown instanceof ExecError || !(thrown instanceof BoxError)) return thrown
  const details = thrown.details()
  if (thrown.code === 'ERR_BOX_EXEC_ABORTED' && output.overflow) {
    const { code, message } = overflowError(argv, options)
    return new ExecError({ code, message }, output, details)
  }
  const cause = thrown.code === 'ERR_BOX_EXEC_ABORTED' ? plainReason(options.signal) : undefined
  return new ExecError({ code: thrown.code, message: thrown.message, cause }, output, details)
}

function overflowError(argv: readonly string[], options: ExecOptions): BoxError {
  const max = options.maxOutputBytes ?? defaultMaxOutputBytes
  return new BoxError(
    'ERR_BOX_EXEC_OUTPUT',
    `\`${argv[0]}\` printed more than ${max} bytes; raise \`maxOutputBytes\` or stream with \`spawn\``,
  )
}

function throwIfAborted(signal: AbortSignal | undefined, argv: readonly string[]): void {
  if (!signal?.aborted) return
  throw new BoxError(
    'ERR_BOX_EXEC_ABORTED',
    `\`${argv[0]}\` was not started: its signal had aborted`,
    {},
    { cause: plainReason(signal) },
  )
}

/** The reason of a signal as a plain error: test runners print a DOMException with all its constants. */
export function plainReason(signal: AbortSignal | undefined): Error | undefined {
  if (!signal?.aborted) return undefined
  const reason: unknown = signal.reason
  return new Error(reason instanceof Error ? reason.message : String(reason))
}
