import type { BoxError, Machine } from '@boxlab/native'
import { describeStuck, stuckQueue } from '@boxlab/probes'
import { type Bounds, recordText, systemdInputs } from './record-texts.ts'

/** A guest that hangs shall not keep its error waiting. */
const lookMs = 5000

/**
 * Tells in the error of a boot that did not end which jobs systemd was waiting on, and puts the queue into the record. A guest
 * that does not answer any more has told nothing.
 */
export async function tellQueue(
  error: BoxError,
  machine: Machine,
  record: string,
  { limitBytes, jobs = false }: Pick<Bounds, 'limitBytes'> & { readonly jobs?: boolean | undefined },
): Promise<void> {
  const endMs = performance.now() + lookMs
  const bounds = (): Bounds => ({ limitMs: Math.max(1, Math.round(endMs - performance.now())), limitBytes })
  try {
    await recordText(machine, record, 'queue', bounds())
    await recordText(machine, record, 'queuedUnits', bounds())
    if (jobs) await recordText(machine, record, 'jobs', bounds())
  } catch {
    // What came is in the record.
  }
  const queue = stuckQueue(systemdInputs(record, ['queue', 'queuedUnits']))
  if (queue) error.explain({ waited: [...(error.waited ?? []), describeStuck(queue)] })
}
