import { availableParallelism } from 'node:os'
import type { Claim, Turn } from '@boxlab/native'
import pLimit from 'p-limit'
import { takeTurn, type TurnOptions } from './take-turn.ts'

/**
 * As many boots of one process are in the queue of the host as it has CPUs: a suite that asks for a hundred boxes at once
 * stands not with all of them before everybody else's.
 */
const places = pLimit(availableParallelism())

/** Runs a boot when it is its turn, in this process and on this host. An abort ends the wait at once. */
export async function bootInTurn<T>(claim: Claim, options: TurnOptions, boot: (turn: Turn) => Promise<T>): Promise<T> {
  const { signal } = options
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    const run = async (): Promise<T> => {
      const turn = await takeTurn(claim, options)
      // From here on the boot itself answers to the signal.
      signal.removeEventListener('abort', abort)
      try {
        return await boot(turn)
      } catch (error) {
        turn.leave()
        throw error
      }
    }
    places(run).then(resolve, reject)
  })
}
