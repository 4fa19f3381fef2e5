import { execFile } from 'node:child_process'
import { ImageError, systemCode } from './errors.ts'
import { toolEnvironment } from './tool-environment.ts'

/** How one tool is run. */
export interface CommandOptions {
  readonly cwd?: string
  readonly signal?: AbortSignal | undefined
  /** The tool is killed after this long. Default 60 000. */
  readonly timeoutMs?: number
  /** The sentence's end when the tool is not there: where to get it, or what to do instead. */
  readonly whenMissing: string
}

// An unpacked kernel module with debug information can be large; nothing that is read here is larger.
const OUTPUT_LIMIT_BYTES = 512 << 20

/**
 * Runs a tool and gives its standard output. No shell, no input, the language of its messages fixed.
 * Fails with ERR_IMAGE_TOOL_MISSING, ERR_IMAGE_COMMAND (the last line of stderr in the message) or ERR_IMAGE_ABORTED.
 */
export function runCommand(file: string, args: readonly string[], options: CommandOptions): Promise<Buffer> {
  const timeoutMs = options.timeoutMs ?? 60_000
  const settings = {
    cwd: options.cwd,
    signal: options.signal,
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: OUTPUT_LIMIT_BYTES,
    encoding: 'buffer',
    env: toolEnvironment(),
  } as const
  return new Promise((resolve, reject) => {
    const child = execFile(file, args, settings, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(explain(error, stderr, [file, ...args].join(' '), options, timeoutMs))
    })
    // A tool that ends before its input is closed is no error of ours.
    child.stdin?.on('error', () => {}).end()
  })
}

function explain(
  error: Error & { killed?: boolean },
  stderr: Buffer,
  line: string,
  options: CommandOptions,
  timeoutMs: number,
): ImageError {
  if (options.signal?.aborted)
    return new ImageError('ERR_IMAGE_ABORTED', `\`${line}\` was aborted`, options.signal.reason)
  const code: unknown = 'code' in error ? error.code : undefined
  if (systemCode(error) === 'ENOENT') {
    const tool = line.split(' ', 1)[0]
    return new ImageError('ERR_IMAGE_TOOL_MISSING', `${tool} is not installed: ${options.whenMissing}`, error)
  }
  const lastWords = stderr.toString('utf8').trim().split('\n').at(-1)
  const end = error.killed && typeof code !== 'string' ? `was killed after ${timeoutMs} ms` : `failed (${String(code)})`
  return new ImageError('ERR_IMAGE_COMMAND', `\`${line}\` ${end}${lastWords ? `: ${lastWords}` : ''}`, error)
}
