import type { NamedInput } from '../../input/byte-input.ts'
import { queueDepth } from './analyse/depth.ts'
import { dispatches } from './analyse/dispatch.ts'
import { jobsFindings } from './analyse/findings.ts'
import { signalLag } from './analyse/lag.ts'
import { type JobRelations, relateJobs } from './analyse/relations.ts'
import { firstInstances } from './analyse/slices.ts'
import { addJournal } from './model/add-journal.ts'
import { addSnapshots } from './model/add-snapshots.ts'
import { addUnitStamps } from './model/add-units.ts'
import type { JobLife, JobSource } from './model/job-life.ts'
import { playRecording } from './model/play-recording.ts'
import type { StartupParts } from './read/recorder-line.ts'
import { type JobsReading, readJobs } from './read/read-jobs.ts'
import type { Interval, Job, JobsDiagnostics, JobsOptions, JobsReport, JobsResult } from './jobs-report.ts'
import { isFailure } from './words.ts'

/**
 * What PID 1's job queue did, from a recording of its private socket, `journalctl -o json`, `systemctl list-jobs` or
 * `systemd-analyze dump` (systemd 247 to 262), with `systemctl show` of the same boot beside them. The inputs are recognised
 * by content and their order does not matter. Never throws; without an answer it says why.
 */
export function jobs(inputs: readonly NamedInput[], options: JobsOptions = {}): JobsResult {
  return jobsOf(readJobs(inputs), options)
}

function jobsOf(reading: JobsReading, { between }: JobsOptions): JobsResult {
  const { connections, journal, snapshots } = reading
  const units = reading.units?.ofUser === true ? undefined : reading.units
  const heard = connections.some(({ events }) => events.some(({ kind }) => kind !== 'connected' && kind !== 'closed'))
  if (!heard && journal.length === 0 && snapshots.length === 0) return none(reading)
  const played = playRecording(connections)
  const { lives, startup } = played
  addJournal(lives, journal, ({ file, line }) => reading.problems.of(file).add('other-unit', line))
  const said = addSnapshots(lives, snapshots, (file, line) => reading.problems.of(file).add('other-unit', line))
  if (units !== undefined) addUnitStamps(lives, units)
  const relations = relateJobs(lives, units)
  const slices = firstInstances(lives.values())
  const sorted = [...lives.values()].toSorted((a, b) => a.id - b.id)
  const lag = signalLag(sorted, played.reloads)
  const depth = queueDepth(played)
  return {
    found: true,
    sources: SOURCES.filter((source) => sourcesOf(reading).has(source)),
    jobs: sorted.map((life) => jobOf(life, relations, slices)),
    queued: sorted.filter(({ state }) => state === 'waiting' || state === 'running').map(({ id }) => id),
    failed: sorted
      .filter(({ result }) => result !== undefined && isFailure(result))
      .toSorted((a, b) => (a.removedUs ?? 0) - (b.removedUs ?? 0))
      .map(({ id }) => id),
    results: countResults(sorted),
    ...optional('connectedUs', played.connectedUs),
    ...optional('lastUs', played.lastUs),
    ...optional('depth', depth),
    ...(units !== undefined && sorted.some(({ releasedUs }) => releasedUs !== undefined)
      ? { dispatches: dispatches(lives, relations) }
      : {}),
    ...optional('lag', lag),
    holes: played.holes,
    reloads: played.reloads,
    ...(startup === undefined ? {} : { startupFinished: { atUs: startup.atUs, finishUs: finishOf(startup.parts) } }),
    ...(said.waitingFor + said.blocking > 0 ? { relations: said } : {}),
    ...(between === undefined ? {} : { between: { ...between, jobs: announced(sorted, between) } }),
    findings: jobsFindings(reading, played, lives, relations, said),
    diagnostics: diagnosticsOf(reading),
  }
}

/** Ids of the jobs that were announced from `fromUs` to `toUs`, in the order of their JobNew, such as those of a login. */
export function jobsBetween(report: JobsReport, fromUs: number, toUs: number): readonly number[] {
  return announced(report.jobs, { fromUs, toUs })
}

function announced(
  all: readonly { readonly id: number; readonly installedUs?: number }[],
  { fromUs, toUs }: Interval,
): readonly number[] {
  return all
    .filter(({ installedUs }) => installedUs !== undefined && installedUs >= fromUs && installedUs <= toUs)
    .toSorted((a, b) => (a.installedUs ?? 0) - (b.installedUs ?? 0))
    .map(({ id }) => id)
}

const SOURCES: readonly JobSource[] = ['recording', 'journal', 'list-jobs', 'dump']

function sourcesOf({ connections, journal, snapshots }: JobsReading): ReadonlySet<JobSource> {
  return new Set<JobSource>([
    ...(connections.length > 0 ? ['recording' as const] : []),
    ...(journal.length > 0 ? ['journal' as const] : []),
    ...snapshots.map(({ source }) => source),
  ])
}

function none(reading: JobsReading): JobsResult {
  const diagnostics = diagnosticsOf(reading)
  if (reading.units !== undefined)
    return {
      found: false,
      reason: 'only-units',
      message:
        'the input has units and no jobs; add a recording, or the output of `journalctl -b _PID=1 -o json` or `systemctl list-jobs`',
      diagnostics,
    }
  const what =
    reading.journalRecords > 0
      ? 'no record of the journal is of a job of PID 1; ask with `journalctl -b _PID=1 -o json`'
      : reading.connections.length > 0
        ? 'the recording has no message: PID 1 was reached and said nothing'
        : 'nothing in the input tells of jobs; give a recording, or the output of `systemctl list-jobs`, `systemd-analyze dump` or `journalctl -b _PID=1 -o json`'
  return { found: false, reason: 'no-jobs', message: what, diagnostics }
}

function jobOf(life: JobLife, relations: JobRelations, slices: ReadonlyMap<number, readonly number[]>): Job {
  const { id, unit, type, state } = life
  return {
    id,
    unit,
    ...(life.cut ? { cut: true as const } : {}),
    type,
    state,
    ...optional('result', life.result),
    sources: SOURCES.filter((source) => life.sources.has(source)),
    ...optional('installedUs', life.installedUs),
    ...optional('since', life.since),
    ...optional('releasedUs', life.releasedUs),
    ...optional('runningUs', life.runningUs),
    ...optional('unitStartUs', life.unitStartUs),
    ...optional('unitEndUs', life.unitEndUs),
    ...optional('removedUs', life.removedUs),
    ...optional('endSeen', life.endSeen),
    ...(life.states.length > 0 ? { states: life.states } : {}),
    ...(life.merges > 0 ? { merges: life.merges } : {}),
    ...optional('sliceOf', slices.get(id)),
    waitedOn: relations.waitedOn(id),
    blocking: relations.blocking(id),
  }
}

/** A field, or nothing where there is no value: absent is not zero. */
function optional<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { readonly [name in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [name in Name]: Value })
}

function countResults(lives: readonly JobLife[]): { readonly [result: string]: number } {
  const counts = new Map<string, number>()
  for (const { result } of lives) if (result !== undefined) counts.set(result, (counts.get(result) ?? 0) + 1)
  return Object.fromEntries([...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** The spans count from kernel start; firmware and loader lie before it. */
function finishOf({ kernelUs, initrdUs, userspaceUs }: StartupParts): number {
  return kernelUs + initrdUs + userspaceUs
}

function diagnosticsOf({ lines, problems, units }: JobsReading): JobsDiagnostics {
  const list = problems.list()
  return {
    lines,
    unparsed: list.filter(({ name }) => name === 'unparsed').reduce((sum, { count }) => sum + count, 0),
    units: units?.units.size ?? 0,
    problems: list,
  }
}
