import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const SCRIPT = resolve(import.meta.dirname, '../../../../scripts/setup/docker.sh')
const LIMIT_MS = 40_000

/**
 * The engine that answers, or one of this benchmark's own with all of it in `folder`, where root may start one; it ends with
 * what this gives. Rejects where there is none to be had.
 */
export async function startBenchEngine(folder: string): Promise<AsyncDisposable> {
  process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true'
  const nothing = { [Symbol.asyncDispose]: async () => {} }
  if (process.env['DOCKER_HOST'] || existsSync('/var/run/docker.sock')) return nothing
  mkdirSync(folder, { recursive: true })
  const log = join(folder, 'log')
  const output = openSync(log, 'w')
  const child = spawn('bash', [SCRIPT, 'run', folder], { stdio: ['ignore', output, output] })
  const end = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  for (const untilMs = performance.now() + LIMIT_MS; !readFileSync(log, 'utf8').includes('API listen on');) {
    if (child.exitCode !== null || performance.now() > untilMs) {
      await end()
      throw new Error(`no engine answers, and none starts here (${lastLine(readFileSync(log, 'utf8'))})`)
    }
    await sleep(50)
  }
  process.env['DOCKER_HOST'] = `unix://${join(folder, 'docker.sock')}`
  return { [Symbol.asyncDispose]: end }
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? ''
}
