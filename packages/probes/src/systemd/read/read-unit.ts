import type { SystemdUnit, UnitTimes } from '../model.ts'
import type { ReadingProblems } from './reading-diagnostics.ts'
import { type DatedStamp, readDated, readMonotonic, readSpanUs, type Stamp, type StampReader } from './time-text.ts'
import { bearsOnTimes, type Block } from './tokenize.ts'
import { unitTypeOf } from '../unit-name.ts'

/** Names of one format's properties for the times of a unit. */
type TimeKeys = { readonly [time in keyof UnitTimes]: string }

const SHOW_TIMES: TimeKeys = {
  conditionUs: 'ConditionTimestampMonotonic',
  inactiveExitUs: 'InactiveExitTimestampMonotonic',
  activeEnterUs: 'ActiveEnterTimestampMonotonic',
  activeExitUs: 'ActiveExitTimestampMonotonic',
  inactiveEnterUs: 'InactiveEnterTimestampMonotonic',
}
const DUMP_TIMES: TimeKeys = {
  conditionUs: 'Condition Timestamp',
  inactiveExitUs: 'Inactive Exit Timestamp',
  activeEnterUs: 'Active Enter Timestamp',
  activeExitUs: 'Active Exit Timestamp',
  inactiveEnterUs: 'Inactive Enter Timestamp',
}

/** The reverse of Requires=, BindsTo= and Wants=: a dump has them too, but nobody asks a dump for them. */
const PULLING = ['RequiredBy', 'BoundBy', 'WantedBy']

/** A unit that was read, or the id of one that cannot be used because part of its block is missing or wrong. */
export type UnitReading = { readonly unit: SystemdUnit } | { readonly damaged: string } | undefined

/** Reads a block of `systemctl show` (properties of org.freedesktop.systemd1.Unit). */
export function readShowUnit(block: Block, problems: ReadingProblems): UnitReading {
  return readUnit(block, problems, {
    times: SHOW_TIMES,
    stamp: readMonotonic,
    needed: ['Names', 'After', ...Object.values(SHOW_TIMES)],
    names: words(block, 'Names'),
    after: words(block, 'After'),
    conditionFailed: (conditionUs) => conditionUs !== undefined && first(block, 'ConditionResult') === 'no',
    execStart: 'ExecMainStartTimestampMonotonic',
    handoff: 'ExecMainHandoffTimestampMonotonic',
    runningTimeout: 'JobRunningTimeoutUSec',
    triggeredBy: words(block, 'TriggeredBy'),
  })
}

/** Reads a unit of `systemd-analyze dump` (src/core/unit-serialize.c, unit_dump); its times on the clock of `stamp`. */
export function readDumpUnit(block: Block, problems: ReadingProblems, stamp: StampReader): UnitReading {
  const { conditionUs: _onlyWhereTested, ...stateTimes } = DUMP_TIMES
  // A unit's dependencies end before StopWhenUnneeded: without it
  // the block was cut off among them.
  const loaded = first(block, 'Unit Load State') === 'loaded'
  return readUnit(block, problems, {
    times: DUMP_TIMES,
    stamp,
    needed: ['Unit Load State', ...Object.values(stateTimes), ...(loaded ? ['StopWhenUnneeded'] : [])],
    names: values(block, 'Alias'),
    after: dependencies(block, 'After'),
    conditionFailed: (conditionUs) => conditionUs !== undefined && first(block, 'Condition Result') === 'no',
    execStart: undefined,
    handoff: undefined,
    runningTimeout: 'Job Running Timeout',
    triggeredBy: dependencies(block, 'TriggeredBy'),
  })
}

interface Format {
  readonly times: TimeKeys
  readonly stamp: StampReader
  readonly needed: readonly string[]
  readonly names: readonly string[]
  readonly after: readonly string[]
  readonly conditionFailed: (conditionUs: number | undefined) => boolean
  readonly execStart: string | undefined
  readonly handoff: string | undefined
  readonly runningTimeout: string
  readonly triggeredBy: readonly string[]
}

function readUnit(block: Block, problems: ReadingProblems, format: Format): UnitReading {
  const id = block.lost.has('Id') ? undefined : first(block, 'Id')
  const type = id === undefined ? undefined : unitTypeOf(id)
  if (id === undefined || type === undefined) {
    problems.add('no-id', block.line)
    return undefined
  }
  let bad = 0
  function time(key: string | undefined): number | undefined {
    const text = key === undefined ? undefined : first(block, key)
    if (key === undefined || text === undefined) return undefined
    const read = format.stamp(text)
    if (read !== 'unreadable') return read === 'unset' ? undefined : read
    bad += 1
    problems.add('bad-field', block.fields.get(key)?.line ?? block.line, `${id} ${key}`)
    return undefined
  }
  const conditionUs = time(format.times.conditionUs)
  const unit: SystemdUnit = {
    id,
    type,
    names: [...new Set([id, ...format.names])].toSorted(),
    serviceType: type === 'service' ? (first(block, 'Type') ?? '') : '',
    after: [...new Set(format.after)].toSorted(),
    conditionUs,
    inactiveExitUs: time(format.times.inactiveExitUs),
    activeEnterUs: time(format.times.activeEnterUs),
    activeExitUs: time(format.times.activeExitUs),
    inactiveEnterUs: time(format.times.inactiveEnterUs),
    conditionFailed: format.conditionFailed(conditionUs),
    assertFailed:
      conditionUs !== undefined && first(block, block.format === 'show' ? 'AssertResult' : 'Assert Result') === 'no',
    restarts: Number(/^\d{1,9}$/.exec(first(block, 'NRestarts') ?? '')?.[0] ?? 0),
    queued: (first(block, 'Job') ?? '') !== '',
    jobRunningTimeoutUs: readSpanUs(first(block, format.runningTimeout) ?? ''),
    triggeredBy: format.triggeredBy.toSorted(),
    pulledInBy: [...new Set(PULLING.flatMap((key) => words(block, key)))].toSorted(),
    startTimeoutUs: readSpanUs(first(block, 'TimeoutStartUSec') ?? ''),
    fragmentPath: first(block, block.format === 'show' ? 'FragmentPath' : 'Fragment Path') ?? '',
    execStartUs: time(format.execStart),
    handoffUs: time(format.handoff),
  }
  for (const [key, allowed] of CHECKED) {
    const text = first(block, key)
    if (text === undefined || allowed.test(text)) continue
    bad += 1
    problems.add('bad-field', block.fields.get(key)?.line ?? block.line, `${id} ${key}`)
  }
  if (![...unit.names, ...unit.after, ...unit.triggeredBy].every((name) => unitTypeOf(name) !== undefined)) {
    bad += 1
    problems.add('bad-field', block.line, `${id} names`)
  }
  if (bad === 0 && isWhole(block, format.needed)) return { unit }
  problems.add('damaged-unit', block.line, id)
  return { damaged: id }
}

function isWhole(block: Block, needed: readonly string[]): boolean {
  if (block.holed || needed.some((key) => !block.fields.has(key))) return false
  return ![...block.lost].some(bearsOnTimes)
}

// A value that a message broke without a stamp to know it by.
const CHECKED: readonly (readonly [string, RegExp])[] = [
  ['ConditionResult', /^(?:yes|no)$/],
  ['AssertResult', /^(?:yes|no)$/],
  ['Condition Result', /^(?:yes|no)$/],
  ['Assert Result', /^(?:yes|no)$/],
  ['NRestarts', /^\d{1,9}$/],
  ['Job', /^\d*$/],
  ['JobRunningTimeoutUSec', /^(?:infinity|0|\d[\d. a-z]*)$/],
  ['Type', /^\S*$/],
]

/** The first value of a key. */
export function first(block: Block, key: string): string | undefined {
  return block.fields.get(key)?.values[0]
}

function values(block: Block, key: string): readonly string[] {
  return block.fields.get(key)?.values ?? []
}

/** A list of `systemctl show`: names with blanks between them, in quotes and escaped where a name has a backslash. */
function words(block: Block, key: string): readonly string[] {
  const text = first(block, key) ?? ''
  return text === '' ? [] : text.split(' ').map(unquoted)
}

/** Undoes shell_maybe_quote of src/basic/escape.c; a name that is written as it is (systemd 247) stays so. */
function unquoted(word: string): string {
  const quoted = word.length > 1 && word.startsWith('"') && word.endsWith('"')
  return quoted ? word.slice(1, -1).replace(/\\(.)/g, '$1') : word
}

/** `NAME (origin-file origin-path)`, a line for each dependency. */
function dependencies(block: Block, key: string): readonly string[] {
  return values(block, key).map((value) => {
    const blank = value.indexOf(' (')
    return blank === -1 ? value : value.slice(0, blank)
  })
}

/** Reads the dated stamps of one dump: all must be of one zone, and count from `base`. */
export function datedReader(zone: string, baseUs: number, onOtherZone: (stamp: DatedStamp) => void): StampReader {
  const known = new Map<string, Stamp>()
  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    const read = readDated(text)
    let result: Stamp
    if (typeof read === 'string') result = read
    else if (read.zone === zone) result = read.us - baseUs
    else {
      onOtherZone(read)
      result = 'unreadable'
    }
    // A dump has few different seconds, so that reading one a second time costs a look-up.
    known.set(text, result)
    return result
  }
}
