import { availableParallelism } from 'node:os'
import pLimit from 'p-limit'

/**
 * Boots of one process take turns, one a CPU: more at once only make each other slow. Boxes that run are not counted.
 */
const turns = pLimit(availableParallelism())

/** Runs a boot when it is its turn. */
export async function bootTurn<T>(boot: () => Promise<T>): Promise<T> {
  return turns(boot)
}
