import { setTimeout as sleep } from 'node:timers/promises'
import { fateOf } from '../owner.ts'
import type { Candidate } from './processes.ts'

/**
 * Kills an engine and resolves when it is gone. A process that got the same pid since is not touched. Rejects when the
 * system refuses, and when it is alive still after 2 s.
 */
export async function killEngine({ pid, startTicks }: Candidate): Promise<void> {
  const boundMs = 2000
  const deadlineMs = performance.now() + boundMs
  if (fateOf({ pid, startTicks }) !== 'alive') return
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ESRCH') return
    throw new Error(`its engine, process ${pid}, may not be killed (${code}): end it as its user`, { cause: error })
  }
  while (fateOf({ pid, startTicks }) === 'alive') {
    if (performance.now() > deadlineMs) {
      throw new Error(`its engine, process ${pid}, is alive ${boundMs} ms after SIGKILL: it hangs in the kernel`)
    }
    await sleep(5)
  }
}
