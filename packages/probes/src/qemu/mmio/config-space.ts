import { type ConfigEvent, placeOf } from '../trace/config-event.ts'
import { registerGroup } from './register-groups.ts'

/** Reads and writes. */
export interface ReadsWrites {
  readonly reads: number
  readonly writes: number
}

/** How a guest reached configuration space: through ports 0xcf8 and 0xcfc, or through memory (ECAM, MMCONFIG). */
export type ConfigWay = 'cf8' | 'ecam'

/** Accesses to the configuration space of one function. */
export interface ConfigDevice {
  /** `00:1f.3`; `??:1f.3` where QEMU printed no bus and no access tells it. */
  readonly bdf: string
  /** QEMU's name; absent where `pci_cfg_*` was not traced. */
  readonly device?: string
  readonly reads: number
  readonly writes: number
  /** By group of registers, such as `bars`. */
  readonly registers: { readonly [group: string]: ReadsWrites }
  /**
   * Accesses that no device answered although the function exists: registers from 0x100 on of a conventional device, or before
   * a bridge had its bus numbers. Not in `reads` and `writes`.
   */
  readonly unanswered?: ReadsWrites
  /** By phase, in the order of `phases`. */
  readonly byPhase: readonly ReadsWrites[]
}

/** Accesses to functions that do not exist: a bus scan. */
export interface AbsentFunctions extends ReadsWrites {
  readonly cf8: ReadsWrites
  readonly ecam: ReadsWrites
  /** How many different functions, on how many buses. */
  readonly functions: number
  readonly buses: number
  /** Accesses by register's offset, such as `0x0`. */
  readonly registers: { readonly [offset: string]: number }
  readonly byPhase: readonly ReadsWrites[]
}

/** Accesses to PCI configuration space. */
export interface ConfigSpace {
  /** `pci_cfg`: by QEMU's own event; `accesses`: it was not traced, and what was asked of whom is rebuilt from the accesses. */
  readonly source: 'pci_cfg' | 'accesses'
  readonly byDevice: readonly ConfigDevice[]
  /** Absent where no access to configuration data was traced, or not what it asked for, and no event tells either. */
  readonly absent?: AbsentFunctions
  /** Accesses to configuration data by the way they took; each is a write of the index (CF8 only) and one data access. */
  readonly cf8: ReadsWrites
  /** Absent where regions have no names, which is how the window of memory is known. */
  readonly ecam?: ReadsWrites
}

/** Follows accesses to configuration space through a trace. */
export interface ConfigFollower {
  index(value: number): void
  /** A data access; `value` has the low 32 bits. Gives false when the index had no enable bit. */
  data(write: boolean, address: number, size: number, value: number, phase: number): boolean
  ecam(write: boolean, address: number, size: number, value: number, phase: number): void
  /**
   * An access to memory of a region without a name (QEMU before 6.2): it was ECAM's if QEMU's event of the same function and
   * register stands beside it. True for a read that was.
   */
  nameless(write: boolean, address: number, phase: number): boolean
  /** True when the event shows that the nameless write before it was ECAM's. */
  event(write: boolean, event: ConfigEvent, phase: number): boolean
  /** `seen` says what of the accesses the trace can show at all; what it cannot is absent and not 0. */
  result(phases: number, seen: { readonly accesses: boolean; readonly ecam: boolean }): ConfigSpace | undefined
}

type CountsByPhase = { reads: number; writes: number }[]

interface Row {
  readonly bdf: string
  readonly device: string
  reads: number
  writes: number
  readonly registers: Map<string, { reads: number; writes: number }>
  readonly byPhase: CountsByPhase
}

/** Accesses that no event of a device stands beside, of one function. */
interface Alone {
  readonly counts: { cf8: [number, number]; ecam: [number, number] }
  readonly groups: Map<string, { reads: number; writes: number }>
  readonly registers: Map<number, number>
  readonly byPhase: CountsByPhase
  /** A read gave something else than all ones, so somebody was there. */
  answered: boolean
}

// A machine has some dozens; foreign text must not grow the answer without bound.
const MAX_ROWS = 4096
const MAX_REGISTERS = 4096
const NOBODY = 'empty'

/**
 * Makes a {@link ConfigFollower}. Of one access by port the trace has three lines: the index is written, then QEMU's event and
 * the data access, the event first for a read and last for a write. All three come under QEMU's lock, so nothing of another
 * vCPU's accesses to configuration space stands between them. An access whose event does not come went to nobody.
 */
export function followConfigSpace(): ConfigFollower {
  const rows = new Map<string, Row>()
  const alone = new Map<number, Alone>()
  const totals = { cf8: [0, 0] as [number, number], ecam: [0, 0] as [number, number] }
  let registersKept = 0
  let events = 0
  let index: number | undefined
  let placed = true
  // The read whose data access is to come, and the write whose event is to come.
  let readEvent: ConfigEvent | undefined
  let readPhase = 0
  let written: { readonly access: Access; readonly phase: number } | undefined
  let namelessWrite: { readonly access: Access; readonly phase: number } | undefined

  interface Access {
    readonly way: ConfigWay
    readonly write: boolean
    readonly bus: number
    readonly devfn: number
    readonly register: number
    readonly allOnes: boolean
  }

  function access(one: Access, phase: number): void {
    totals[one.way][one.write ? 1 : 0] += 1
    if (one.write) {
      flushWritten()
      written = { access: one, phase }
      return
    }
    const event = readEvent
    readEvent = undefined
    if (event !== undefined && belongs(event, one)) answeredBy(false, event, one.bus, phase, one)
    else {
      if (event !== undefined) answeredBy(false, event, event.bus, readPhase, undefined)
      nobody(one, phase)
    }
  }

  function flushWritten(): void {
    if (written === undefined) return
    nobody(written.access, written.phase)
    written = undefined
  }

  /** An event of a device, or `empty`, with the access that it belongs to where that was traced. */
  function answeredBy(
    write: boolean,
    event: ConfigEvent,
    bus: number | undefined,
    phase: number,
    by: Access | undefined,
  ): void {
    if (event.device === NOBODY) {
      const unseen = { way: 'cf8', write, bus: bus ?? 0, devfn: event.devfn, register: event.register } as const
      nobody(by ?? { ...unseen, allOnes: true }, phase)
      return
    }
    const bdf = placeOf(bus, event.devfn)
    const key = `${bdf} ${event.device}`
    const row = rows.get(key) ?? addRow(key, bdf, event.device)
    if (write) row.writes += 1
    else row.reads += 1
    addGroup(row.registers, event.register, write)
    addPhase(row.byPhase, phase, write)
  }

  function addRow(key: string, bdf: string, device: string): Row {
    if (rows.size < MAX_ROWS) {
      const row = newRow(bdf, device)
      rows.set(key, row)
      return row
    }
    const others = rows.get('') ?? newRow('??:??.?', '(others)')
    rows.set('', others)
    return others
  }

  function nobody({ way, write, bus, devfn, register, allOnes }: Access, phase: number): void {
    const fn = (bus << 8) | devfn
    let one = alone.get(fn)
    if (one === undefined) {
      one = {
        counts: { cf8: [0, 0], ecam: [0, 0] },
        groups: new Map(),
        registers: new Map(),
        byPhase: [],
        answered: false,
      }
      alone.set(fn, one)
    }
    one.counts[way][write ? 1 : 0] += 1
    if (!write && !allOnes) one.answered = true
    // Groups are needed only where no events are traced, and for functions that answer.
    if (events === 0) addGroup(one.groups, register, write)
    const known = one.registers.get(register)
    if (known === undefined) registersKept += 1
    if (known !== undefined || registersKept <= MAX_REGISTERS * 16) one.registers.set(register, (known ?? 0) + 1)
    addPhase(one.byPhase, phase, write)
  }

  return {
    index(value) {
      index = value
    },
    data(write, address, size, value, phase) {
      if (index === undefined) {
        // Nobody saw what was asked for, as where writes are not traced: the event alone tells.
        placed = false
        totals.cf8[write ? 1 : 0] += 1
        return true
      }
      // The enable bit is the highest one.
      if (index >= 0) return false
      const bus = (index >>> 16) & 0xff
      const devfn = (index >>> 8) & 0xff
      const register = (index & 0xfc) | (address & 3)
      access({ way: 'cf8', write, bus, devfn, register, allOnes: isAllOnes(value, size) }, phase)
      return true
    },
    ecam(write, address, size, value, phase) {
      // The window is aligned to its 256 MiB, so the offset is the same whether the address is absolute or not.
      const offset = address % 0x10000000
      const bus = offset >>> 20
      const devfn = (offset >>> 12) & 0xff
      access({ way: 'ecam', write, bus, devfn, register: offset & 0xfff, allOnes: isAllOnes(value, size) }, phase)
    },
    nameless(write, address, phase) {
      const offset = address % 0x10000000
      const register = offset & 0xfff
      const place = { bus: offset >>> 20, devfn: (offset >>> 12) & 0xff }
      const one = { way: 'ecam', write, ...place, register, allOnes: false } as const
      namelessWrite = write ? { access: one, phase } : undefined
      if (write || readEvent?.bus !== undefined || readEvent?.register !== register || !belongs(readEvent, place))
        return false
      access(one, phase)
      return true
    },
    event(write, event, phase) {
      events += 1
      if (write) {
        const before = namelessWrite?.access
        const shown =
          written === undefined && before !== undefined && before.register === event.register && belongs(event, before)
        if (shown && event.bus === undefined) {
          totals.ecam[1] += 1
          written = namelessWrite
        }
        namelessWrite = undefined
        const by = written
        written = undefined
        if (by !== undefined && belongs(event, by.access)) answeredBy(true, event, by.access.bus, by.phase, by.access)
        else {
          if (by !== undefined) nobody(by.access, by.phase)
          answeredBy(true, event, event.bus, phase, undefined)
        }
        return shown && event.bus === undefined
      }
      if (readEvent !== undefined) answeredBy(false, readEvent, readEvent.bus, readPhase, undefined)
      readEvent = event
      readPhase = phase
      return false
    },
    result(phases, seen) {
      flushWritten()
      if (readEvent !== undefined) answeredBy(false, readEvent, readEvent.bus, readPhase, undefined)
      readEvent = undefined
      const accesses = totals.cf8[0] + totals.cf8[1] + totals.ecam[0] + totals.ecam[1]
      if (events + accesses === 0 && !seen.accesses) return undefined
      return summary(rows, alone, totals, { traced: events > 0, placed, seen }, phases)
    },
  }
}

function belongs(event: ConfigEvent, { bus, devfn }: { readonly bus: number; readonly devfn: number }): boolean {
  return event.devfn === devfn && (event.bus === undefined || event.bus === bus)
}

function isAllOnes(value: number, size: number): boolean {
  return size >= 4 ? value === -1 : (value & (2 ** (size * 8) - 1)) === 2 ** (size * 8) - 1
}

function newRow(bdf: string, device: string): Row {
  return { bdf, device, reads: 0, writes: 0, registers: new Map(), byPhase: [] }
}

function addPhase(byPhase: CountsByPhase, phase: number, write: boolean): void {
  const counts = (byPhase[phase] ??= { reads: 0, writes: 0 })
  if (write) counts.writes += 1
  else counts.reads += 1
}

function addGroup(groups: Map<string, { reads: number; writes: number }>, register: number, write: boolean): void {
  const name = registerGroup(register)
  const group = groups.get(name) ?? { reads: 0, writes: 0 }
  groups.set(name, group)
  if (write) group.writes += 1
  else group.reads += 1
}

function summary(
  rows: ReadonlyMap<string, Row>,
  alone: ReadonlyMap<number, Alone>,
  totals: { readonly cf8: [number, number]; readonly ecam: [number, number] },
  {
    traced,
    placed,
    seen,
  }: {
    readonly traced: boolean
    readonly placed: boolean
    readonly seen: { readonly accesses: boolean; readonly ecam: boolean }
  },
  phases: number,
): ConfigSpace {
  const known = new Set([...rows.values()].map(({ bdf }) => bdf))
  const filled = (counts: CountsByPhase): CountsByPhase =>
    Array.from({ length: phases }, (_, at) => ({ reads: 0, writes: 0, ...counts[at] }))
  const byDevice: ConfigDevice[] = []
  const missing = new Map<string, ReadsWrites>()
  const absent = { cf8: [0, 0], ecam: [0, 0] } satisfies { [way in ConfigWay]: number[] }
  const registers = new Map<number, number>()
  const absentByPhase = filled([])
  const buses = new Set<number>()
  let functions = 0
  for (const [fn, one] of alone) {
    const bdf = placeOf(fn >> 8, fn & 0xff)
    const { cf8, ecam } = one.counts
    const reads = cf8[0] + ecam[0]
    const writes = cf8[1] + ecam[1]
    if (known.has(bdf)) {
      missing.set(bdf, { reads, writes })
    } else if (!traced && one.answered) {
      byDevice.push({ bdf, reads, writes, registers: Object.fromEntries(one.groups), byPhase: filled(one.byPhase) })
    } else {
      functions += 1
      buses.add(fn >> 8)
      for (const way of ['cf8', 'ecam'] as const)
        for (const at of [0, 1]) absent[way][at] = (absent[way][at] ?? 0) + (one.counts[way][at] ?? 0)
      for (const [register, count] of one.registers) registers.set(register, (registers.get(register) ?? 0) + count)
      for (const [phase, counts] of absentByPhase.entries()) {
        counts.reads += one.byPhase[phase]?.reads ?? 0
        counts.writes += one.byPhase[phase]?.writes ?? 0
      }
    }
  }
  for (const { bdf, device, reads, writes, registers: groups, byPhase } of rows.values()) {
    const unanswered = missing.get(bdf)
    // Two names at one place, as after a hot-unplug, share what was not answered; it is said once.
    missing.delete(bdf)
    byDevice.push({
      bdf,
      device,
      reads,
      writes,
      registers: Object.fromEntries(groups),
      ...(unanswered !== undefined && { unanswered }),
      byPhase: filled(byPhase),
    })
  }
  const accesses = totals.cf8[0] + totals.cf8[1] + totals.ecam[0] + totals.ecam[1]
  return {
    source: traced ? 'pci_cfg' : 'accesses',
    byDevice: byDevice.toSorted((a, b) => compare(a.bdf, b.bdf)),
    ...(placed &&
      (seen.accesses || accesses > 0 || functions > 0) && {
        absent: {
          reads: absent.cf8[0]! + absent.ecam[0]!,
          writes: absent.cf8[1]! + absent.ecam[1]!,
          cf8: pair(absent.cf8),
          ecam: pair(absent.ecam),
          functions,
          buses: buses.size,
          registers: Object.fromEntries(
            [...registers]
              .toSorted(([a], [b]) => a - b)
              .slice(0, MAX_REGISTERS)
              .map(([register, count]) => [`0x${register.toString(16)}`, count]),
          ),
          byPhase: absentByPhase,
        },
      }),
    cf8: pair(totals.cf8),
    ...((seen.ecam || totals.ecam[0] + totals.ecam[1] > 0) && { ecam: pair(totals.ecam) }),
  }
}

function pair([reads = 0, writes = 0]: readonly number[]): ReadsWrites {
  return { reads, writes }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
