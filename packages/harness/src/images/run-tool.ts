import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { ImageError, isNoSpace, noSpace, systemCode } from './errors.ts'
import { toolEnvironment } from './tool-environment.ts'

/** How a tool that streams is run. */
export interface ToolOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  /** The tool is killed after this long. Default 1 800 000: a distribution over a slow line. */
  readonly timeoutMs?: number
  /** Fed to its standard input. */
  readonly input?: AsyncIterable<Uint8Array>
  /** The sentence's end when the tool is not there: where to get it, or what to do instead. */
  readonly whenMissing: string
  /** Sees each line of its standard error when it comes. */
  readonly onLine?: (line: string) => void
  /** Puts its process tree into a pid namespace of its own, so that all of it dies with the tool. Needs root. */
  readonly ownProcesses?: boolean
}

// The tail of what a tool says is what its error shows; the rest of a long build is of no use.
const STDERR_LIMIT_BYTES = 16_384
const LAST_WORDS_MS = 1_000

/**
 * Runs a tool and gives its standard output as it comes. It dies with the thread that started it, at every instant: a
 * builder that was killed leaves no unpacking behind that still writes. Fails with ERR_IMAGE_TOOL_MISSING,
 * ERR_IMAGE_COMMAND, ERR_IMAGE_SPACE or ERR_IMAGE_ABORTED, or with what `input` fails with.
 */
export async function* pipeTool(file: string, args: readonly string[], options: ToolOptions): AsyncGenerator<Buffer> {
  const { signal, input } = options
  const line = [file, ...args].join(' ')
  const wrapped = [...dyingWithUs(options.ownProcesses === true), file, ...args]
  const child = spawn(wrapped[0]!, wrapped.slice(1), {
    cwd: options.cwd,
    stdio: [input ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    env: { ...toolEnvironment(), ...options.env },
  })
  const stderr = tailOf(child.stderr!, options.onLine)
  const ended = endOf(child)
  const kill = (): void => void child.kill('SIGKILL')
  const timeoutMs = options.timeoutMs ?? 1_800_000
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    kill()
  }, timeoutMs)
  signal?.addEventListener('abort', kill)
  if (signal?.aborted) kill()
  let inputFailure: unknown
  const feeding =
    input &&
    feed(child, input).catch((error: unknown) => {
      inputFailure = error
      kill()
    })
  try {
    yield* child.stdout as AsyncIterable<Buffer>
    const { code, error } = await ended
    await feeding
    if (signal?.aborted) throw new ImageError('ERR_IMAGE_ABORTED', `\`${line}\` was aborted`, signal.reason)
    if (inputFailure !== undefined) throw inputFailure
    const words = stderr()
    if (error !== undefined || (code === 127 && /failed to execute/.test(words))) throw missing(file, error, options)
    if (isLate) {
      const message = `\`${line}\` was killed after ${timeoutMs} ms${words && `: ${lastLines(words)}`}`
      throw new ImageError('ERR_IMAGE_COMMAND', message, words)
    }
    if (code === 0) return
    if (isNoSpace(words)) throw noSpace(`\`${line}\``, words)
    throw new ImageError(
      'ERR_IMAGE_COMMAND',
      `\`${line}\` failed (${String(code)})${words && `: ${lastLines(words)}`}`,
      words,
    )
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', kill)
    // The reader may have stopped early.
    if (child.exitCode === null && child.signalCode === null) kill()
    await ended
    await feeding
  }
}

/** Runs a tool to its end and gives all of its standard output. */
export async function runTool(file: string, args: readonly string[], options: ToolOptions): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of pipeTool(file, args, options)) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

/** setpriv(1) and unshare(1) of util-linux: PR_SET_PDEATHSIG, and a pid namespace whose end ends all in it. */
function dyingWithUs(ownProcesses: boolean): string[] {
  const dying = ['setpriv', '--pdeathsig', 'KILL', '--']
  return ownProcesses ? [...dying, 'unshare', '--pid', '--fork', '--kill-child=KILL', '--mount-proc', '--'] : dying
}

async function feed(child: ChildProcess, input: AsyncIterable<Uint8Array>): Promise<void> {
  const stdin = child.stdin!
  // A tool that ends before its input is read says why in its exit.
  let closed = false
  stdin.on('error', () => {}).on('close', () => (closed = true))
  for await (const chunk of input) {
    if (closed) return
    if (!stdin.write(chunk)) await drained(stdin)
  }
  stdin.end()
}

/** Resolves when a stream takes more, or is closed. */
export function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done).off('close', done)
      resolve()
    }
    stream.on('drain', done).on('close', done)
    if (stream.destroyed) done()
  })
}

async function endOf(child: ChildProcess): Promise<{ code?: number | string | null; error?: Error }> {
  // Its last words come before `close`; a grandchild that lives on with its output open may keep that away.
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    await Promise.race([closed, sleep(LAST_WORDS_MS, undefined, { ref: false })])
    return { code: code ?? signal }
  } catch (error) {
    return { error: error as Error }
  }
}

function tailOf(stream: Readable, onLine?: (line: string) => void): () => string {
  let tail: Buffer = Buffer.alloc(0)
  if (onLine) createInterface({ input: stream }).on('line', onLine)
  stream.on('data', (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]).subarray(-STDERR_LIMIT_BYTES)
  })
  return () => tail.toString('utf8').trim()
}

function lastLines(words: string): string {
  return words.split('\n').slice(-3).join(' / ')
}

function missing(file: string, cause: Error | undefined, { whenMissing }: ToolOptions): ImageError {
  // Without setpriv no tool starts at all.
  if (systemCode(cause) === 'ENOENT') {
    return new ImageError('ERR_IMAGE_TOOL_MISSING', 'setpriv is not installed: install the package util-linux', cause)
  }
  return new ImageError('ERR_IMAGE_TOOL_MISSING', `${file} is not installed: ${whenMissing}`, cause)
}
