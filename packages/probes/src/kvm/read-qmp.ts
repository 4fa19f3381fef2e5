import { isObject, isText, type JsonObject } from '../input/fields.ts'
import type { Assembler } from './assemble.ts'
import type { ExitsProblems } from './diagnostics.ts'
import { STAT_TYPES, STAT_UNITS, type StatSchema, type StatType, type StatUnit, type StatValue } from './stats.ts'

/** What an input says beside statistics. */
export interface Said {
  engine?: string
  /** What `query-kvm` answered, or the record says. */
  accel?: 'kvm' | 'tcg'
  /** Why there are no statistics, in the words of the source. */
  none: { readonly mark?: string; readonly why: string }[]
  /** The engine interrupts the vCPUs for each answer. */
  kicks?: boolean
  /** When the schemas were asked for and answered: the first question costs too. */
  schemaNs?: number
}

/** Where a JSON value stands. */
export interface Place {
  readonly label: string
  readonly line: number
  readonly into: Assembler
  readonly said: Said
  readonly problems: ExitsProblems
}

/**
 * Takes what a QMP reply has of statistics (QEMU qapi/stats.json, 7.1 and later): `query-stats`, `query-stats-schemas`,
 * `query-cpus-fast`, `query-version`, `query-kvm`, the greeting, an error. False for a value that is none of them.
 */
export function takeReply(value: JsonObject, place: Place): boolean {
  const { said, problems, line } = place
  if (isObject(value['QMP'])) {
    takeVersion(value['QMP']['version'], said)
    return true
  }
  if (isObject(value['error'])) {
    const { class: kind, desc } = value['error']
    problems.add('refused', line, place.label)
    if (kind === 'CommandNotFound') {
      said.none.push({
        why: `QEMU answered CommandNotFound (${String(desc).slice(0, 120)}): query-stats came with QEMU 7.1`,
      })
    }
    return true
  }
  if (!('return' in value)) return false
  takeReturn(value['return'], place)
  return true
}

/** Takes the `return` of a reply. */
export function takeReturn(value: unknown, place: Place): boolean {
  if (isObject(value)) {
    if (isObject(value['qemu'])) takeVersion(value, place.said)
    if (typeof value['enabled'] === 'boolean' && 'present' in value) place.said.accel = value['enabled'] ? 'kvm' : 'tcg'
    return true
  }
  if (!Array.isArray(value)) return false
  if (value.length === 0) place.problems.add('empty-reply', place.line, place.label)
  let known = value.length === 0
  for (const entry of value) if (isObject(entry)) known = takeEntry(entry, place) || known
  return known
}

function takeEntry(entry: JsonObject, place: Place): boolean {
  const { 'qom-path': path, 'cpu-index': index, provider, stats, target } = entry
  if (isText(path) && Number.isInteger(index)) {
    place.into.indexOfPath.set(path, index as number)
    return true
  }
  if (!Array.isArray(stats)) return false
  // cryptodev counts requests of a device, not exits.
  if (provider !== 'kvm') return provider === 'cryptodev'
  if (target === 'vcpu' || target === 'vm') takeSchemas(stats, target, place)
  else if (target === undefined) {
    const values = statValues(stats, place)
    place.into.add({ label: place.label, values, ...(isText(path) && { vcpu: path }) })
  }
  return true
}

/** Takes the descriptions of `query-stats-schemas`, for one target. */
export function takeSchemas(stats: readonly unknown[], target: 'vcpu' | 'vm', { into, problems, line }: Place): void {
  for (const stat of stats) {
    const schema = isObject(stat) ? readSchema(stat, target) : undefined
    if (schema) into.schemas.set(schema.name, schema)
    else problems.add('unknown-type', line, isObject(stat) ? String(stat['name']) : undefined)
  }
}

function readSchema(stat: JsonObject, target: 'vcpu' | 'vm'): StatSchema | undefined {
  const { name, type, unit, base, exponent, 'bucket-size': bucketSize } = stat
  if (!isText(name) || !STAT_TYPES.includes(type as StatType)) return undefined
  if (unit !== undefined && !STAT_UNITS.includes(unit as StatUnit)) return undefined
  return {
    name,
    target,
    type: type as StatType,
    ...(unit !== undefined && { unit: unit as StatUnit }),
    ...(typeof base === 'number' && { base }),
    exponent: typeof exponent === 'number' ? exponent : 0,
    ...(typeof bucketSize === 'number' && { bucketSize }),
  }
}

function statValues(stats: readonly unknown[], { problems, line }: Place): Map<string, StatValue> {
  const values = new Map<string, StatValue>()
  for (const stat of stats) {
    const { name, value }: JsonObject = isObject(stat) ? stat : {}
    if (isText(name) && isStatValue(value)) values.set(name, value)
    else problems.add('bad-value', line, String(name))
  }
  return values
}

/** A value as QEMU's StatsValue has it. */
export function isStatValue(value: unknown): value is StatValue {
  if (typeof value === 'boolean') return true
  if (Array.isArray(value)) return value.every(isCounter)
  return isCounter(value)
}

function isCounter(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function takeVersion(version: unknown, said: Said): void {
  const qemu = isObject(version) && isObject(version['qemu']) ? version['qemu'] : {}
  const { major, minor, micro } = qemu
  if (typeof major !== 'number' || typeof minor !== 'number') return
  said.engine = `${major}.${minor}${typeof micro === 'number' ? `.${micro}` : ''}`
  // accel/kvm/kvm-all.c: since 8.1 the descriptors of the vCPUs' statistics are kept, and no vCPU is interrupted.
  said.kicks = major < 8 || (major === 8 && minor < 1)
}
