import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { onTestFinished } from 'vitest'
import type { EngineUserTask } from './engine-user.ts'

const SCRIPT = join(import.meta.dirname, 'engine-user.ts')

/** A process that resolves one source. */
export interface EngineUser {
  readonly child: ChildProcessByStdio<null, Readable, null>
  /** Waits until it has printed this. */
  said(text: string): Promise<void>
  /** Its output, once it has ended. */
  ended(): Promise<{ output: string; signal: NodeJS.Signals | null }>
}

/** Starts one; it is killed with the test. */
export function engineUser(
  task: EngineUserTask,
  more: { readonly env?: NodeJS.ProcessEnv; readonly args?: readonly string[] } = {},
): EngineUser {
  const args = ['-C', '@boxlab/source', ...(more.args ?? []), SCRIPT, JSON.stringify(task)]
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...more.env },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  const closed = once(child, 'close')
  return {
    child,
    async said(text) {
      while (!output.includes(text))
        await Promise.race([once(child.stdout, 'data'), closed.then(() => Promise.reject(new Error(output)))])
    },
    async ended() {
      await closed
      return { output, signal: child.signalCode }
    },
  }
}
