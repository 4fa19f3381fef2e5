import type { JobsOptions, JobsReport, NamedInput } from '../../../src/index.ts'
import { jobs } from '../../../src/index.ts'
import type { TextInput } from '../a-systemd.ts'
import { fixture } from '../recordings.ts'

/** The report of inputs that have one; a refusal fails the test with its sentence. */
export function queueOf(inputs: readonly NamedInput[], options: JobsOptions = {}): JobsReport {
  const result = jobs(inputs, options)
  if (!result.found) throw new Error(`no jobs: ${result.message} ${JSON.stringify(result.diagnostics)}`)
  return result
}

/** What was recorded of a boot, with its units and its journal. */
export function recordedBoot(boot: string): readonly [TextInput, TextInput, TextInput] {
  return [text(`${boot}.jobs.jsonl`), text(`${boot}.show.txt`), text(`${boot}.journal.json`)]
}

/** A fixture under its own name. */
export function text(name: string): TextInput {
  return { name, input: fixture(name) }
}

/** A message as an object, or a whole line. */
export type Line = object | string

/** A row of the answer to ListJobs: id, unit, state, type. */
export type ListRow = readonly [number, string, string?, string?]

/** Lines of a recording: a header of our recorder, then messages whose time is a microsecond more each, from 1000 on. */
export function recording(...messages: readonly Line[]): string {
  return [{ header: { version: 1, startUs: 10, connectedUs: 900, tries: 3 } }, ...messages]
    .map((message, index) =>
      typeof message === 'string'
        ? message
        : JSON.stringify('header' in message ? message : { t: 999 + index, ...message }),
    )
    .join('\n')
    .concat('\n')
}

/** The answer to ListJobs. */
export function list(...listed: readonly ListRow[]): object {
  const rows = listed.map(([id, unit, state = 'waiting', type = 'start']) => [
    id,
    unit,
    type,
    state,
    `/job/${id}`,
    '/unit',
  ])
  return { type: 'return', serial: 1, reply_serial: 1, sig: 'a(usssoo)', body: [rows] }
}

const MANAGER = { type: 'signal', path: '/org/freedesktop/systemd1', interface: 'org.freedesktop.systemd1.Manager' }
const PROPERTIES = { type: 'signal', interface: 'org.freedesktop.DBus.Properties', member: 'PropertiesChanged' }

export function jobNew(id: number, unit: string): object {
  return { ...MANAGER, member: 'JobNew', body: [id, `/org/freedesktop/systemd1/job/${id}`, unit] }
}

export function jobRemoved(id: number, unit: string, result = 'done'): object {
  return { ...MANAGER, member: 'JobRemoved', body: [id, `/org/freedesktop/systemd1/job/${id}`, unit, result] }
}

export function jobState(id: number, state: string): object {
  return {
    ...PROPERTIES,
    path: `/org/freedesktop/systemd1/job/${id}`,
    body: ['org.freedesktop.systemd1.Job', { State: state }, []],
  }
}

/** A change of a unit without dashes in its name: Condition, InactiveExit, ActiveEnter in us, 0 for never. */
export function unitChange(unit: string, condition: number, exit = 0, enter = 0): object {
  return {
    ...PROPERTIES,
    path: `/org/freedesktop/systemd1/unit/${unit.replace('.', '_2e')}`,
    body: [
      'org.freedesktop.systemd1.Unit',
      {
        ConditionResult: true,
        AssertResult: true,
        ConditionTimestampMonotonic: condition,
        InactiveExitTimestampMonotonic: exit,
        ActiveEnterTimestampMonotonic: enter,
        InactiveEnterTimestampMonotonic: 0,
      },
      [],
    ],
  }
}

export function reloading(active: boolean): object {
  return { ...MANAGER, member: 'Reloading', body: [active] }
}
