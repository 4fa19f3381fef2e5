import { countDiagnostics, type Diagnostic, type DiagnosticCounter } from '../input/diagnostics.ts'
import { countUnknownFields, isCount, isObject, isOneOf, isText, type JsonObject } from '../input/fields.ts'
import { parseJson } from '../input/json-lines.ts'
import { type BootRecord, type HostFacts, OUTCOMES } from './record.ts'

/** What could be read of `boot.json`. */
export interface BootReading {
  readonly boot: BootRecord
  readonly diagnostics: readonly Diagnostic[]
}

/** The version of the record that this package reads. */
export const RECORD_VERSION = 1

const BOOT_FIELDS = [
  'version',
  'boxId',
  'name',
  'keep',
  'bootedBy',
  'owner',
  'plan',
  'fingerprints',
  'host',
  'engine',
  'accelerator',
  'startedAt',
  'startNs',
  'outcome',
  'truncated',
  'exit',
  'error',
  'clock',
]

/** Reads `boot.json`. What is missing or wrong is absent in the answer and named in the diagnostics; never throws. */
export function readBoot(input: Uint8Array | string): BootReading {
  const problems = countDiagnostics('boot.json')
  const parsed = parseJson(input)
  if (parsed === undefined) problems.add('bad-json', undefined)
  else if (!isObject(parsed.value)) problems.add('bad-field', undefined, 'not an object')
  else return { boot: bootOf(parsed.value, problems), diagnostics: problems.list() }
  return { boot: {}, diagnostics: problems.list() }
}

function bootOf(value: JsonObject, problems: DiagnosticCounter): BootRecord {
  const field = fieldsOf(value, '', problems)
  countUnknownFields(value, BOOT_FIELDS, undefined, problems)
  const version = field('version', isCount)
  if ('version' in version && version.version !== RECORD_VERSION) {
    problems.add('unknown-version', undefined, String(version.version))
  }
  return {
    ...version,
    ...field('boxId', isText),
    ...field('name', isText),
    ...field('plan', isObject),
    ...nested(value, 'host', problems, hostOf),
    ...nested(value, 'engine', problems, engineOf),
    ...nested(value, 'accelerator', problems, acceleratorOf),
    ...field('startedAt', isText),
    ...field('startNs', isCount),
    ...field('outcome', isOneOf(OUTCOMES)),
    ...nested(value, 'exit', problems, exitOf),
    ...nested(value, 'error', problems, errorOf),
  }
}

type FieldReader = <const N extends string, T>(
  name: N,
  check: (value: unknown) => value is T,
) => { readonly [K in N]?: T }

function fieldsOf(object: JsonObject, path: string, problems: DiagnosticCounter): FieldReader {
  return <const N extends string, T>(name: N, check: (value: unknown) => value is T) => {
    const none: { readonly [K in N]?: T } = {}
    const value = object[name]
    if (value === undefined || value === null) return none
    if (check(value)) return { ...none, [name]: value }
    problems.add('bad-field', undefined, path + name)
    return none
  }
}

type Part<T> = (object: JsonObject, field: FieldReader, unknown: (known: readonly string[]) => void) => T

function nested<const N extends string, T>(
  value: JsonObject,
  name: N,
  problems: DiagnosticCounter,
  part: Part<T>,
): { readonly [K in N]?: T } {
  const none: { readonly [K in N]?: T } = {}
  const object = value[name]
  if (object === undefined || object === null) return none
  const path = `${name}.`
  if (isObject(object)) {
    const unknown = (known: readonly string[]): void => countUnknownFields(object, known, undefined, problems, path)
    return { ...none, [name]: part(object, fieldsOf(object, path, problems), unknown) }
  }
  problems.add('bad-field', undefined, name)
  return none
}

const hostOf: Part<HostFacts> = (_, field, unknown) => {
  unknown(['cpuModel', 'cpus', 'memoryMib', 'kernel', 'tscKhz', 'loadavg1'])
  return {
    ...field('cpuModel', isText),
    ...field('cpus', isCount),
    ...field('memoryMib', isCount),
    ...field('kernel', isText),
    ...field('tscKhz', isCount),
    ...field('loadavg1', isCount),
  }
}

const engineOf: Part<NonNullable<BootRecord['engine']>> = (_, field, unknown) => {
  unknown(['binary', 'version', 'argv', 'reproduce', 'pid'])
  return { ...field('binary', isText), ...field('version', isText) }
}

const acceleratorOf: Part<NonNullable<BootRecord['accelerator']>> = (_, field, unknown) => {
  unknown(['asked', 'proved', 'reason'])
  return { ...field('asked', isText), ...field('proved', isText) }
}

const exitOf: Part<NonNullable<BootRecord['exit']>> = (_, field, unknown) => {
  unknown(['code', 'signal'])
  return { ...field('code', isInteger), ...field('signal', isSignal) }
}

const errorOf: Part<NonNullable<BootRecord['error']>> = (_, field, unknown) => {
  unknown(['code', 'message', 'stage', 'stageMs', 'lastMark', 'sinceMs'])
  return {
    ...field('code', isText),
    ...field('message', isText),
    ...field('stage', isText),
    ...field('stageMs', isCount),
    ...field('lastMark', isText),
    ...field('sinceMs', isCount),
  }
}

function isInteger(value: unknown): value is number {
  return Number.isInteger(value)
}

function isSignal(value: unknown): value is string | number {
  return isText(value) || isInteger(value)
}
