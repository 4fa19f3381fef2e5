import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { firmwareBox, ownHome } from '../fixtures/own-home.ts'
import { childrenOf, processLine } from '../fixtures/processes.ts'

const home = ownHome()
const [disk] = firmwareBox(home).disks ?? []
const owner = fileURLToPath(new URL('../fixtures/ending-owner.ts', import.meta.url))

interface Namespace {
  readonly unshare: ChildProcess
  /** Its PID 1, which waits for nobody, by its number out here. */
  readonly init: number
  readonly lines: AsyncIterator<string>
}

/** A pid namespace whose PID 1 starts an owner of boxes and never waits for anything. */
async function unreaped(way: string): Promise<Namespace> {
  const namespace = ['--pid', '--fork', '--mount-proc', '--kill-child']
  if (spawnSync('unshare', [...namespace, 'true']).status !== 0) {
    throw new Error('this test needs a pid namespace: run it as root, or in `unshare -Ur`')
  }
  const command = [process.execPath, '-C', '@boxlab/source', owner, disk?.path ?? '', way]
  // The shell starts the owner and becomes a process that sleeps: nobody waits for what is left to it.
  const unshare = spawn('unshare', [...namespace, 'sh', '-c', '"$@" & exec sleep 300', 'sh', ...command], {
    // What Node says of an uncaught error is no news here.
    stdio: ['ignore', 'pipe', way === 'uncaught error' ? 'ignore' : 'inherit'],
  })
  onTestFinished(async () => {
    if (unshare.exitCode !== null || unshare.signalCode !== null) return
    const ended = once(unshare, 'exit')
    unshare.kill('SIGKILL')
    await ended
  })
  const lines = createInterface({ input: unshare.stdout })[Symbol.asyncIterator]()
  await expect.poll(() => childrenOf(unshare.pid ?? 0).length).toBe(1)
  return { unshare, init: childrenOf(unshare.pid ?? 0)[0]?.pid ?? 0, lines }
}

/** Engines below a process that have ended and were not waited for. */
function zombieEngines(init: number): number {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (processLine(Number(name)) ?? []) : []))
  const below = (pid: number): boolean => {
    const line = all.find((one) => one.pid === pid)
    return line !== undefined && (line.parent === init || below(line.parent))
  }
  return all.filter(({ pid, state, name }) => state === 'Z' && name.startsWith('qemu') && below(pid)).length
}

async function word({ lines }: Namespace): Promise<string> {
  const { value } = (await lines.next()) as { value: string }
  return value
}

describe('where PID 1 waits for nobody', () => {
  test.for(['stop', 'kill', 'failed boot', 'engine killed', 'aborted boot'])(
    'no zombie stays of a box that ended by: %s',
    async (way) => {
      const namespace = await unreaped(way)
      expect(await word(namespace)).toBe('ended')
      expect(zombieEngines(namespace.init)).toBe(0)
    },
  )

  test.for(['exit', 'uncaught error', 'worker terminated'])(
    'no zombie stays of a box whose owner ended by: %s',
    async (way) => {
      const namespace = await unreaped(way)
      expect(await word(namespace)).toBe('ready')
      expect(await word(namespace)).toBe('ended')
      // The owner itself becomes one, or lives on without its worker.
      await sleep(300)
      expect(zombieEngines(namespace.init)).toBe(0)
    },
  )

  test('the engine of an owner that was killed ends and is left to PID 1', async () => {
    const namespace = await unreaped('idle')
    expect(await word(namespace)).toBe('ready')
    const node = childrenOf(namespace.init).find(({ name }) => /^(node|MainThread)/.test(name))
    process.kill(node?.pid ?? 0, 'SIGKILL')
    // Nobody but PID 1 may wait for it now: a dead process cannot.
    await expect.poll(() => zombieEngines(namespace.init)).toBe(1)
  })
})
