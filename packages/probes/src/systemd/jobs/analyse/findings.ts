import type { SaidRelations } from '../model/add-snapshots.ts'
import type { JobLife } from '../model/job-life.ts'
import type { Played } from '../model/play-recording.ts'
import type { JobsReading } from '../read/read-jobs.ts'
import type { JobRelations } from './relations.ts'

/** What a person must know to read the figures: something the input cannot show. */
export interface JobsFinding {
  readonly name:
    | 'no-after'
    | 'units-missing'
    | 'type-not-told'
    | 'journal-receipt'
    | 'journal-no-relations'
    | 'several-moments'
    | 'relations-contradict'
    | 'named-only'
    | 'no-list'
    | 'connected-late'
    | 'unexplained-signals'
    | 'hole'
    | 'not-reconnected'
    | 'reloaded'
    | 'not-finished'
    | 'user-units'
  readonly message: string
}

/** The blind spots of an input as far as it shows them. */
export function jobsFindings(
  reading: JobsReading,
  played: Played,
  lives: ReadonlyMap<number, JobLife>,
  relations: JobRelations,
  said: SaidRelations,
): readonly JobsFinding[] {
  const jobs = [...lives.values()]
  const { units, connections, snapshots } = reading
  const recorded = connections.length > 0
  const finding = (when: boolean, name: JobsFinding['name'], message: string): readonly JobsFinding[] =>
    when ? [{ name, message }] : []
  const count = (test: (life: JobLife) => boolean): number => jobs.filter(test).length
  const saysRelations = said.waitingFor + said.blocking > 0
  const untyped = count(({ type }) => type === 'unknown')
  const named = count(({ state }) => state === 'unknown')
  const closed = played.holes.filter(({ endUs }) => endUs !== undefined)
  return [
    ...finding(
      jobs.length > 0 && units === undefined && !saysRelations,
      'no-after',
      'nothing says what the jobs waited on; add the output of `systemctl show --all` of the same boot',
    ),
    ...finding(
      units !== undefined && recorded && relations.withoutUnit.length > 0,
      'units-missing',
      `what ${counted(relations.withoutUnit.length, 'job')} waited on is not known: systemd had forgotten the units when these were printed`,
    ),
    ...finding(
      untyped > 0,
      'type-not-told',
      `the type of ${counted(untyped, 'job')} is not known, since JobNew does not carry it; \`journalctl -o json\` of the same boot has it`,
    ),
    ...finding(
      count(({ runningUs, removedUs, firstSeq }) => firstSeq === undefined && (runningUs ?? removedUs) !== undefined) >
        0,
      'journal-receipt',
      'times of jobs without a recording are when journald received what PID 1 wrote; jobs before journald ran are missing',
    ),
    ...finding(
      !recorded && reading.journal.length > 0 && units !== undefined,
      'journal-no-relations',
      'the journal does not say when a job was installed: what jobs that only it tells of waited on is not known',
    ),
    ...finding(
      snapshots.length > 1,
      'several-moments',
      `the jobs of ${snapshots.length} moments are put together: one that is queued in an early one may be gone in a later one`,
    ),
    ...finding(
      said.contradicting.length > 0,
      'relations-contradict',
      `said by one of their two jobs only: ${counted(said.contradicting.length, 'relation')}; systemctl asks job by job while they end`,
    ),
    ...finding(named > 0, 'named-only', `only named by others, without a row of their own: ${counted(named, 'job')}`),
    ...finding(
      recorded && played.atConnect === undefined,
      'no-list',
      'the recording has no answer to ListJobs: jobs that were there when it began are known only from their end',
    ),
    ...finding(
      (played.atConnect?.running ?? 0) > 0 || played.atConnect?.jobs === 0,
      'connected-late',
      'when the recorder connected, jobs were running already or were gone: it did not see the boot from its start',
    ),
    ...finding(
      played.unexplained > 0,
      'unexplained-signals',
      `not used, since they do not fit what came before them: ${counted(played.unexplained, 'signal')}`,
    ),
    ...closed.map(({ vanished, appeared }): JobsFinding => ({
      name: 'hole',
      message: `the connection to PID 1 ended and was made again: ${counted(vanished.length, 'job')} vanished in the hole, ${appeared.length} came in it`,
    })),
    ...finding(
      closed.length < played.holes.length,
      'not-reconnected',
      'the connection to PID 1 ended and was not made again: what came then is not known',
    ),
    ...finding(
      played.reloads.length > 0,
      'reloaded',
      `PID 1 was reloaded ${counted(played.reloads.length, 'time')}: signals of what happened meanwhile came after it`,
    ),
    ...finding(
      recorded && played.startup === undefined,
      'not-finished',
      'the recording ends before the boot was finished: these are the figures so far',
    ),
    ...finding(
      units?.ofUser === true,
      'user-units',
      'the units are of a user’s manager, which has a queue of its own; they are not used',
    ),
  ]
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
