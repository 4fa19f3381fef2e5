import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { onTestFinished, TestRunner } from 'vitest'

/** How the command line ended and what it printed. */
export interface Ran {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** Where and with what it runs. */
export interface RunOptions {
  /** Variables on top of this process's own; undefined takes one away. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** A program and its arguments before the command line, such as setpriv. */
  readonly before?: readonly string[]
}

/** A command line that runs. */
export interface Running {
  readonly child: ChildProcess
  /** All of stdout so far. */
  stdout(): string
  /** Resolves when stdout holds the text; rejects when it ends without. */
  printed(text: string): Promise<void>
  readonly ended: Promise<Ran>
}

const entry = join(import.meta.dirname, 'boxlab-source.ts')

/** The program and arguments that run the command line from its sources. */
export function boxlabCommand(args: readonly string[]): readonly [string, ...string[]] {
  return [process.execPath, '-C', '@boxlab/source', entry, ...args]
}

/** Starts the real command line as a process of its own; it is killed when the test ends. */
export function startBoxlab(args: readonly string[], options: RunOptions = {}): Running {
  const [file, ...rest] = [...(options.before ?? []), ...boxlabCommand(args)] as [string, ...string[]]
  const child = spawn(file, rest, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, CI: undefined, NO_COLOR: undefined, FORCE_COLOR: undefined, ...options.env },
  })
  // In a hook there is no test to end; what runs there is waited for.
  if (TestRunner.getCurrentTest()) onTestFinished(() => void child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const ended = once(child, 'close').then(([code, signal]): Ran => ({ code, signal, stdout, stderr }))
  return {
    child,
    ended,
    stdout: () => stdout,
    async printed(text) {
      while (!stdout.includes(text)) {
        const more = once(child.stdout, 'data').then(() => true)
        if (!(await Promise.race([more, ended.then(() => false)])) && !stdout.includes(text)) {
          throw new Error(`it ended without printing ${JSON.stringify(text)}:\n${stdout}\n${stderr}`)
        }
      }
    },
  }
}

/** Runs the command line to its end. */
export function runBoxlab(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return startBoxlab(args, options).ended
}
