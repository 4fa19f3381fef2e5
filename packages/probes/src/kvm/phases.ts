import type { ExitsProblems } from './diagnostics.ts'
import type { ReasonCount } from './read-reasons.ts'
import { exitsByKind, type ExitsByKind, faultsByOutcome, type FaultsByOutcome, PAGES } from './kinds.ts'
import type { Span } from './spans.ts'
import type { StatSchema, StatsSample, StatValue, StatValues } from './stats.ts'

/** What one vCPU did in a phase. */
export interface VcpuExits {
  readonly id: string
  readonly counters: { readonly [name: string]: number }
  readonly kinds: ExitsByKind
}

/** The part of guest RAM that is mapped: leaves of KVM's tables, not what the guest uses. */
export interface RamMapping {
  readonly bytes: number
  readonly bytes4k: number
  readonly bytes2m: number
  readonly bytes1g: number
  /** Over the guest's RAM; above 1 where a page is mapped twice (SMM). Absent where the RAM is not known. */
  readonly ofGuestRam?: number
}

/** What was counted in one phase. Only what this host measures is here. */
export interface ExitsPhase {
  readonly name: string
  /** The mark or sample that ends it. */
  readonly to: string
  /** Cumulative counters by KVM's names, summed over the vCPUs, or the VM's: how far each rose in the phase. */
  readonly counters: { readonly [name: string]: number }
  readonly kinds: ExitsByKind
  readonly faults: FaultsByOutcome
  /** Instant and peak values at the end of the phase; booleans of vCPUs as how many of them are true. */
  readonly atEnd: { readonly [name: string]: number }
  /** By how much each bucket rose. */
  readonly histograms: { readonly [name: string]: readonly number[] }
  readonly ram?: RamMapping
  /** From the mark that ends it to the answer, in us: exits of that time count to this phase. */
  readonly lagUs?: number
  readonly vcpus: readonly VcpuExits[]
  /** Of a table that another tool printed: why the guest was left, the most frequent first. */
  readonly reasons?: readonly ReasonCount[]
}

/** What differences need to know. */
export interface PhaseContext {
  readonly schemas: ReadonlyMap<string, StatSchema>
  /** Counters that would be untrue here. */
  readonly absent: ReadonlySet<string>
  readonly guestRamBytes?: number | undefined
  readonly problems: ExitsProblems
}

/** The differences of one span. */
export function phaseOf(span: Span, context: PhaseContext): ExitsPhase {
  const { name, from, to, toMark, toMarkNs } = span
  const vcpus = to.vcpus.map(({ id, values }) => {
    const before = from?.vcpus.find((one) => one.id === id)?.values
    return { id, ...differences(values, from ? (before ?? new Map<string, StatValue>()) : undefined, context) }
  })
  const ofVm = differences(to.vm, from?.vm, context)
  const numbers = addUp(
    vcpus.map(({ numbers: one }) => one),
    vcpus.length,
  )
  for (const [key, value] of ofVm.numbers) numbers.set(key, value)
  const histograms = addBuckets([...vcpus, ofVm].map(({ buckets }) => buckets))
  const ram = ramMapping(to, context)
  return {
    name,
    to: toMark ?? to.label,
    counters: inOrder(numbers),
    kinds: exitsByKind(numbers),
    faults: faultsByOutcome(numbers),
    atEnd: inOrder(gauges(to, context)),
    histograms: inOrder(histograms),
    ...(ram && { ram }),
    ...(toMarkNs !== undefined && to.atNs !== undefined && { lagUs: (to.atNs - toMarkNs) / 1000 }),
    vcpus: vcpus.map(({ id, numbers: own }) => ({ id, counters: inOrder(own), kinds: exitsByKind(own) })),
  }
}

interface Differences {
  readonly numbers: Map<string, number>
  readonly buckets: Map<string, readonly number[]>
}

function differences(values: StatValues, before: StatValues | undefined, context: PhaseContext): Differences {
  const numbers = new Map<string, number>()
  const buckets = new Map<string, readonly number[]>()
  for (const [name, value] of values) {
    const type = context.schemas.get(name)?.type ?? (typeof value === 'number' ? guessedType(name) : undefined)
    const earlier = before ? before.get(name) : zeroOf(value)
    if (context.absent.has(name) || earlier === undefined) continue
    if (Array.isArray(value)) {
      const old = earlier as readonly number[]
      const rises = value.map((count: number, index) => count - (old[index] ?? 0))
      if (rises.every((rise) => rise >= 0)) buckets.set(name, rises)
      else context.problems.add('decreased', 1, name)
    } else if (type === 'cumulative' && typeof value === 'number' && typeof earlier === 'number') {
      if (value >= earlier) numbers.set(name, value - earlier)
      else context.problems.add('decreased', 1, name)
    }
  }
  return { numbers, buckets }
}

/** Without a schema the few instant and peak values of x86 are known by name (arch/x86/kvm/x86.c), and the rest counts. */
function guessedType(name: string): 'cumulative' | undefined {
  return /^(?:pages_(?:4k|2m|1g)|nx_lpage_splits|mmu_unsync|max_mmu_.*)$/.test(name) ? undefined : 'cumulative'
}

function zeroOf(value: StatValue): StatValue {
  return Array.isArray(value) ? value.map(() => 0) : typeof value === 'boolean' ? false : 0
}

/** Sums of what every vCPU has. */
function addUp(maps: readonly ReadonlyMap<string, number>[], count: number): Map<string, number> {
  const sums = new Map<string, number>()
  const have = new Map<string, number>()
  for (const one of maps) {
    for (const [name, value] of one) {
      sums.set(name, (sums.get(name) ?? 0) + value)
      have.set(name, (have.get(name) ?? 0) + 1)
    }
  }
  return new Map([...sums].filter(([name]) => have.get(name) === count))
}

function addBuckets(maps: readonly ReadonlyMap<string, readonly number[]>[]): Map<string, readonly number[]> {
  const sums = new Map<string, readonly number[]>()
  for (const one of maps) {
    for (const [name, buckets] of one) {
      const before = sums.get(name)
      sums.set(name, before ? buckets.map((count, index) => count + (before[index] ?? 0)) : buckets)
    }
  }
  return sums
}

function gauges({ vm, vcpus }: StatsSample, { schemas, absent }: PhaseContext): Map<string, number> {
  const found = new Map<string, number>()
  for (const values of [vm, ...vcpus.map((one) => one.values)]) {
    for (const [name, value] of values) {
      const type = schemas.get(name)?.type
      const gauge = type === 'instant' || type === 'peak' || (type === undefined && guessedType(name) === undefined)
      if (absent.has(name) || Array.isArray(value) || !(gauge || typeof value === 'boolean')) continue
      const before = found.get(name)
      const own = Number(value)
      found.set(name, before === undefined ? own : type === 'peak' ? Math.max(before, own) : before + own)
    }
  }
  return found
}

function ramMapping({ vm }: StatsSample, { absent, guestRamBytes }: PhaseContext): RamMapping | undefined {
  const size = ([name, bytes]: readonly [string, number]): number | undefined => {
    const leaves = absent.has(name) ? undefined : vm.get(name)
    return typeof leaves === 'number' ? leaves * bytes : undefined
  }
  const [bytes4k, bytes2m, bytes1g] = [size(PAGES.bytes4k), size(PAGES.bytes2m), size(PAGES.bytes1g)]
  if (bytes4k === undefined || bytes2m === undefined || bytes1g === undefined) return undefined
  const bytes = bytes4k + bytes2m + bytes1g
  return {
    bytes,
    bytes4k,
    bytes2m,
    bytes1g,
    ...(guestRamBytes !== undefined && guestRamBytes > 0 && { ofGuestRam: bytes / guestRamBytes }),
  }
}

/** By name, so that the order in which QEMU answered is not in the result. */
function inOrder<T>(values: ReadonlyMap<string, T>): { readonly [name: string]: T } {
  return Object.fromEntries([...values].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
