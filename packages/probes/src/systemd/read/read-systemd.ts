import type { NamedInput } from '../../input/byte-input.ts'
import type { ManagerFacts, SystemdState, SystemdUnit } from '../model.ts'
import { clockOfDump, isDumpManager, isShowManager, readDumpManager, readShowManager } from './read-manager.ts'
import { datedReader, readDumpUnit, readShowUnit, type UnitReading } from './read-unit.ts'
import type { ReadingDiagnostic } from './reading-diagnostics.ts'
import { type Block, type Blocks, tokenizeSystemd } from './tokenize.ts'

/** What was in the inputs, and what of it could be used. */
export interface SystemdReading {
  /** Absent where no input holds a whole unit of systemd. */
  readonly state: SystemdState | undefined
  /** Why there is no state, as a sentence. */
  readonly why: string | undefined
  readonly lines: number
  /** Inputs that were not used since another is more precise. */
  readonly unused: readonly string[]
  readonly diagnostics: readonly ReadingDiagnostic[]
}

/**
 * Reads what `systemctl show --all '*'`, `systemctl show` and `systemd-analyze dump` print, recognised by content, in any
 * order and from any number of inputs of one boot. Properties win over a dump, which has whole seconds. Never throws.
 */
export function readSystemd(inputs: readonly NamedInput[]): SystemdReading {
  const read = inputs.map((input) => ({ name: input.name, ...tokenizeSystemd(input) }))
  const format = read.some(({ blocks }) => blocks.some(isShowUnit)) ? 'show' : 'dump'
  const found = format === 'show' ? readShow(read) : readDump(read)
  return {
    ...found,
    lines: read.reduce((sum, { lines }) => sum + lines, 0),
    unused: read
      .filter(({ blocks }) => blocks.length > 0 && blocks.every((block) => block.format !== format))
      .map(({ name }) => name),
    diagnostics: read.flatMap(({ problems }) => problems.list()),
  }
}

function isShowUnit(block: Block): boolean {
  return block.format === 'show' && block.fields.has('Id')
}

type Found = Pick<SystemdReading, 'state' | 'why'>

function readShow(read: readonly Blocks[]): Found {
  const collected = collectUnits()
  let manager: ManagerFacts | undefined
  for (const { blocks, problems } of read) {
    for (const block of blocks) {
      if (block.format === 'dump') continue
      if (isShowManager(block)) manager = later(manager, readShowManager(block, problems))
      else collected.add(readShowUnit(block, problems), () => problems.add('seen-twice', block.line))
    }
  }
  return collected.finish('show', manager)
}

function readDump(read: readonly Blocks[]): Found {
  const collected = collectUnits()
  let manager: ManagerFacts | undefined
  let seen = false
  for (const { blocks, problems } of read) {
    const head = blocks.find(isDumpManager)
    const clock = head === undefined ? undefined : clockOfDump(head)
    seen ||= blocks.some((block) => block.format === 'dump' && block.fields.has('Id'))
    if (head === undefined || clock === undefined) continue
    let line = head.line
    const stamp = datedReader(clock.zone, clock.baseUs, () => problems.add('other-zone', line))
    manager = later(manager, readDumpManager(head, problems, stamp))
    for (const block of blocks) {
      line = block.line
      if (block.format === 'dump' && block !== head)
        collected.add(readDumpUnit(block, problems, stamp), () => problems.add('seen-twice', block.line))
    }
  }
  if (seen && manager === undefined)
    return {
      state: undefined,
      why: 'the dump has no `Timestamp kernel:` or `Timestamp userspace:` line, so that its times count from nothing; give it with its head',
    }
  return collected.finish('dump', manager)
}

/** Of two states of one manager the one that knows more, whatever order they are read in: `finish` comes once. */
function later(one: ManagerFacts | undefined, other: ManagerFacts): ManagerFacts {
  if (one === undefined) return other
  const [before, after] = [rank(one), rank(other)]
  if (before !== after) return after > before ? other : one
  return JSON.stringify(other) > JSON.stringify(one) ? other : one
}

function rank({ times }: ManagerFacts): number {
  return Object.keys(times).length
}

function collectUnits(): {
  add(reading: UnitReading, seenTwice: () => void): void
  finish(source: 'show' | 'dump', manager: ManagerFacts | undefined): Found
} {
  const units = new Map<string, SystemdUnit>()
  const damaged = new Set<string>()
  return {
    add(reading, seenTwice) {
      if (reading === undefined) return
      if ('damaged' in reading) {
        damaged.add(reading.damaged)
        return
      }
      const { unit } = reading
      const before = units.get(unit.id)
      if (before !== undefined && signature(before) !== signature(unit)) seenTwice()
      if (before === undefined || isLater(unit, before)) units.set(unit.id, unit)
    },
    finish(source, manager) {
      if (units.size === 0)
        return {
          state: undefined,
          why: "there is no whole unit of systemd in the input; give the output of `systemctl show --all '*'` or of `systemd-analyze dump`",
        }
      const sorted = [...units.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
      return {
        why: undefined,
        state: {
          source,
          resolution: source === 'show' ? 'microsecond' : 'second',
          units: new Map(sorted.map((unit) => [unit.id, unit])),
          ids: new Map([
            ...sorted.flatMap(({ id, names }) => names.map((name) => [name, id] as const)),
            // An id is never another unit's alias, whatever a damaged input says.
            ...sorted.map(({ id }) => [id, id] as const),
          ]),
          ofUser: manager?.ofUser === true || sorted.filter(isUsers).length > sorted.filter(isSystems).length,
          damaged: new Set([...damaged].filter((id) => !units.has(id))),
          manager,
        },
      }
    },
  }
}

function isUsers({ fragmentPath }: SystemdUnit): boolean {
  return fragmentPath.includes('/systemd/user/')
}

function isSystems({ fragmentPath }: SystemdUnit): boolean {
  return fragmentPath.includes('/systemd/system/')
}

function signature(unit: SystemdUnit): string {
  return JSON.stringify(Object.values(unit).map((value: unknown) => value ?? null))
}

/** Which of two states of a unit is the later one, whatever order they are read in. */
function isLater(unit: SystemdUnit, than: SystemdUnit): boolean {
  const one = lastChange(unit)
  const other = lastChange(than)
  if (one !== other) return one > other
  return signature(unit) > signature(than)
}

function lastChange(unit: SystemdUnit): number {
  const { conditionUs, inactiveExitUs, activeEnterUs, activeExitUs, inactiveEnterUs } = unit
  return Math.max(
    0,
    ...[conditionUs, inactiveExitUs, activeEnterUs, activeExitUs, inactiveEnterUs].map((us) => us ?? 0),
  )
}
