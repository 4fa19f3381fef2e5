import { isObject, type JsonObject } from '../../../input/fields.ts'
import { unitTypeOf } from '../../unit-name.ts'
import { isJobType, isQueuedState, isResultWord, type JobType, type QueuedState, readJobId } from '../words.ts'

/** What one line of a recording tells. `atUs` is when the recorder read the message, us on CLOCK_MONOTONIC. */
export type RecorderEvent =
  /** The recorder reached PID 1's socket; what follows came over this connection. */
  | { readonly kind: 'connected'; readonly atUs: number; readonly startUs?: number; readonly tries?: number }
  /** The connection ended. */
  | { readonly kind: 'closed'; readonly atUs: number; readonly why: string }
  /** The answer to ListJobs: the whole queue. */
  | { readonly kind: 'list'; readonly atUs: number; readonly jobs: readonly ListedJob[] }
  | { readonly kind: 'new'; readonly atUs: number; readonly id: number; readonly unit: string }
  | {
      readonly kind: 'removed'
      readonly atUs: number
      readonly id: number
      readonly unit: string
      readonly result: string
    }
  | { readonly kind: 'state'; readonly atUs: number; readonly id: number; readonly state: QueuedState }
  /** What changed in a unit, with PID 1's own stamps. */
  | { readonly kind: 'unit'; readonly atUs: number; readonly unit: string; readonly stamps: UnitStamps }
  | { readonly kind: 'reloading'; readonly atUs: number; readonly active: boolean }
  | { readonly kind: 'finished'; readonly atUs: number; readonly parts: StartupParts }

/** A job in the answer to ListJobs. */
export interface ListedJob {
  readonly id: number
  readonly unit: string
  readonly type: JobType
  readonly state: QueuedState
}

/** PID 1's stamps of a unit, us on CLOCK_MONOTONIC, as far as they are set. */
export interface UnitStamps {
  readonly conditionUs?: number
  readonly inactiveExitUs?: number
  readonly activeEnterUs?: number
  readonly inactiveEnterUs?: number
  /** A condition or an assertion did not hold. */
  readonly refused: boolean
}

/** What StartupFinished carries, in us: spans, each 0 where it was not measured. */
export interface StartupParts {
  readonly firmwareUs: number
  readonly loaderUs: number
  readonly kernelUs: number
  readonly initrdUs: number
  readonly userspaceUs: number
  readonly totalUs: number
}

/** A line: an event, `other` for a message without one, `bad` for a body that its member does not have. */
export type RecorderReading = RecorderEvent | 'other' | 'bad'

const MANAGER = 'org.freedesktop.systemd1.Manager'
const JOB_PATH = '/org/freedesktop/systemd1/job/'
const UNIT_PATH = '/org/freedesktop/systemd1/unit/'
// The recorder's first call; other methods answer in the same shape.
const LIST_JOBS_SERIAL = 1

/** True for a line of a recording of PID 1's private socket. */
export function isRecorderLine(value: JsonObject): boolean {
  return (
    'header' in value || 'closed' in value || (typeof value['t'] === 'number' && ('type' in value || 'auth' in value))
  )
}

/** Reads a line: a header, the end of a connection, or a D-Bus message (org.freedesktop.systemd1 of 247 to 262). */
export function readRecorderLine(value: JsonObject): RecorderReading {
  if ('header' in value) return readHeader(value['header'])
  if ('closed' in value) return readClosed(value['closed'])
  const atUs = readUs(value['t'])
  if (atUs === undefined) return 'bad'
  if (value['type'] === 'return') return isListReply(value) ? readList(value['body'], atUs) : 'other'
  if (value['type'] !== 'signal') return 'other'
  const body = value['body']
  if (value['interface'] === MANAGER) return readManagerSignal(value['member'], body, atUs)
  return value['member'] === 'PropertiesChanged' ? readProperties(value['path'], body, atUs) : 'other'
}

/** `JW1 start=2762320 connected=6068849 tries=1732 …`, or the same as an object with a version. */
function readHeader(header: unknown): RecorderReading {
  const fields = isObject(header)
    ? [header['startUs'], header['connectedUs'], header['tries']]
    : ['start', 'connected', 'tries'].map((name) => {
        const text = typeof header === 'string' ? new RegExp(`(?:^| )${name}=(\\d{1,16})(?: |$)`).exec(header)?.[1] : ''
        return text === undefined || text === '' ? undefined : Number(text)
      })
  const [startUs, atUs, tries] = fields.map(readUs)
  if (atUs === undefined) return 'bad'
  return {
    kind: 'connected',
    atUs,
    ...(startUs === undefined ? {} : { startUs }),
    ...(tries === undefined ? {} : { tries }),
  }
}

function readClosed(closed: unknown): RecorderReading {
  const atUs = isObject(closed) ? readUs(closed['t']) : undefined
  if (!isObject(closed) || atUs === undefined) return 'bad'
  return { kind: 'closed', atUs, why: typeof closed['why'] === 'string' ? closed['why'] : '' }
}

function isListReply(message: JsonObject): boolean {
  return message['reply_serial'] === LIST_JOBS_SERIAL && message['sig'] === 'a(usssoo)'
}

function readList(body: unknown, atUs: number): RecorderReading {
  const rows: unknown = Array.isArray(body) ? body[0] : undefined
  if (!Array.isArray(rows)) return 'bad'
  const jobs = rows.map(readListed)
  return jobs.every((job) => job !== undefined) ? { kind: 'list', atUs, jobs } : 'bad'
}

function readListed(row: unknown): ListedJob | undefined {
  if (!Array.isArray(row)) return undefined
  const [number, unit, type, state]: readonly unknown[] = row
  const id = readJobId(number)
  return id !== undefined && isUnit(unit) && isJobType(type) && isQueuedState(state)
    ? { id, unit, type, state }
    : undefined
}

function readManagerSignal(member: unknown, body: unknown, atUs: number): RecorderReading {
  if (!Array.isArray(body)) return 'bad'
  const [first, , unit, result]: readonly unknown[] = body
  const id = readJobId(first)
  switch (member) {
    case 'JobNew':
      return id !== undefined && isUnit(unit) ? { kind: 'new', atUs, id, unit } : 'bad'
    case 'JobRemoved':
      return id !== undefined && isUnit(unit) && isResultWord(result)
        ? { kind: 'removed', atUs, id, unit, result }
        : 'bad'
    case 'Reloading':
      return typeof first === 'boolean' ? { kind: 'reloading', atUs, active: first } : 'bad'
    case 'StartupFinished':
      return readStartup(body, atUs)
    default:
      return 'other'
  }
}

function readStartup(body: readonly unknown[], atUs: number): RecorderReading {
  const spans = body.map(readUs)
  const [firmwareUs, loaderUs, kernelUs, initrdUs, userspaceUs, totalUs] = spans
  if (
    firmwareUs === undefined ||
    loaderUs === undefined ||
    kernelUs === undefined ||
    initrdUs === undefined ||
    userspaceUs === undefined ||
    totalUs === undefined
  )
    return 'bad'
  return { kind: 'finished', atUs, parts: { firmwareUs, loaderUs, kernelUs, initrdUs, userspaceUs, totalUs } }
}

function readProperties(path: unknown, body: unknown, atUs: number): RecorderReading {
  if (typeof path !== 'string' || !Array.isArray(body)) return 'bad'
  const [of, changed]: readonly unknown[] = body
  if (of === 'org.freedesktop.systemd1.Job' && path.startsWith(JOB_PATH)) {
    const id = readJobId(path.slice(JOB_PATH.length))
    const state = isObject(changed) ? changed['State'] : undefined
    if (id === undefined || !isObject(changed)) return 'bad'
    if (state === undefined) return 'other'
    return isQueuedState(state) ? { kind: 'state', atUs, id, state } : 'bad'
  }
  if (of !== 'org.freedesktop.systemd1.Unit' || !path.startsWith(UNIT_PATH)) return 'other'
  const unit = unescapePath(path.slice(UNIT_PATH.length))
  if (unitTypeOf(unit) === undefined || !isObject(changed)) return 'bad'
  // A change of other properties alone has no stamps.
  if (!('ConditionTimestampMonotonic' in changed)) return 'other'
  return { kind: 'unit', atUs, unit, stamps: readStamps(changed) }
}

const STAMPS = [
  ['conditionUs', 'ConditionTimestampMonotonic'],
  ['inactiveExitUs', 'InactiveExitTimestampMonotonic'],
  ['activeEnterUs', 'ActiveEnterTimestampMonotonic'],
  ['inactiveEnterUs', 'InactiveEnterTimestampMonotonic'],
] as const

function readStamps(changed: JsonObject): UnitStamps {
  const stamps: { [stamp in (typeof STAMPS)[number][0]]?: number } = {}
  for (const [name, property] of STAMPS) {
    const us = readUs(changed[property])
    // 0 is what systemd says for never.
    if (us !== undefined && us > 0) stamps[name] = us
  }
  return { ...stamps, refused: changed['ConditionResult'] === false || changed['AssertResult'] === false }
}

/** Undoes bus_label_escape of src/shared/bus-label.c: `_2e` is the byte 0x2e. Names of units are ASCII. */
function unescapePath(label: string): string {
  return label.replace(/_([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

function isUnit(value: unknown): value is string {
  return typeof value === 'string' && unitTypeOf(value) !== undefined
}

function readUs(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
