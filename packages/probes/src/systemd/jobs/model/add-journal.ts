import type { JournalJob } from '../read/journal-record.ts'
import { type JobLife, newLife } from './job-life.ts'

/**
 * Adds what the journal says, in the order of receipt: the types of jobs that a recording knows from signals alone, results
 * of jobs that ended while nobody listened, and whole lives where there is no recording. `otherUnit` hears of a record
 * whose id is another unit's in another input.
 */
export function addJournal<Entry extends JournalJob>(
  lives: Map<number, JobLife>,
  records: readonly Entry[],
  otherUnit: (record: Entry) => void,
): void {
  for (const record of records) {
    const known = lives.get(record.id)
    if (known !== undefined && known.unit !== record.unit) {
      otherUnit(record)
      continue
    }
    const life = known ?? newLife(record.id, record.unit, 'journal')
    lives.set(record.id, life)
    life.sources.add('journal')
    addRecord(life, record)
  }
}

function addRecord(life: JobLife, { type, result, receivedUs }: JournalJob): void {
  const recorded = life.sources.has('recording')
  // A restart is one job with one id, which turns into a start when the unit has stopped.
  if (life.type === 'unknown' || (!recorded && type === 'restart')) life.type = type
  const endedUnseen = life.endSeen === 'hole' || (recorded && life.state !== 'finished')
  if (recorded && !endedUnseen) return
  if (result === undefined) {
    if (recorded) return
    life.state = 'running'
    life.runningUs ??= receivedUs
  } else if (type === 'restart' && result === 'done') {
    // The stop of it; the start goes on under the same id.
    if (!recorded) life.state = 'running'
  } else {
    life.state = 'finished'
    life.result = result
    life.removedUs = receivedUs
    life.endSeen = 'journal'
  }
}
