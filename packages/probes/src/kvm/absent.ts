import { EXIT_KINDS, FAULTS, PAGES } from './kinds.ts'
import { type StatSchema, type StatsSample, sumOf } from './stats.ts'

/** A counter that has no value here, and why. */
export interface AbsentCounter {
  /** KVM's name of it, or `rest`. */
  readonly name: string
  readonly why: string
}

/** The counters that this probe's table is made of, by KVM's names. */
export const TABLE_COUNTERS: readonly string[] = [
  'exits',
  ...Object.values(EXIT_KINDS).flat(),
  ...Object.values(FAULTS),
  ...Object.values(PAGES).map(([name]) => name),
  'tlb_flush',
  'remote_tlb_flush',
]

/** All counters of the table, absent for one reason. */
export function allAbsent(why: string): readonly AbsentCounter[] {
  return TABLE_COUNTERS.map((name) => ({ name, why }))
}

/**
 * What the host cannot measure. Where guest code is emulated instruction by instruction, no hardware exits for ports are
 * counted and no EPT or NPT is there to fault: these counters stay 0 whatever the guest does, and a 0 would be a lie. The
 * sign is that `insn_emulation` climbs while `pf_taken` is 0: a guest that the processor runs must fault its memory in.
 */
export function absentCounters(
  samples: readonly StatsSample[],
  schemas: ReadonlyMap<string, StatSchema>,
): readonly AbsentCounter[] {
  const names = new Set([...schemas.keys(), ...samples.flatMap(namesOf)])
  const emulated = emulation(samples)
  const untrue = [...names].filter((name) => emulated !== undefined && isUntrueWhenEmulated(name)).toSorted()
  const missing = TABLE_COUNTERS.filter((name) => !names.has(name))
  return [
    ...untrue.map((name) => ({ name, why: emulated ?? '' })),
    ...missing.map((name) => ({ name, why: 'the host’s KVM has no such counter, or it was not asked for' })),
  ]
}

function namesOf({ vm, vcpus }: StatsSample): string[] {
  return [...vm.keys(), ...vcpus.flatMap(({ values }) => [...values.keys()])]
}

function isUntrueWhenEmulated(name: string): boolean {
  return (
    name === 'io_exits' || name.startsWith('pf_') || /^pages_(?:4k|2m|1g)$/.test(name) || name === 'nx_lpage_splits'
  )
}

function emulation(samples: readonly StatsSample[]): string | undefined {
  const most = (name: string): number | undefined => {
    const sums = samples.flatMap((sample) => sumOf(sample, name) ?? [])
    return sums.length === 0 ? undefined : Math.max(...sums)
  }
  const [emulatedInstructions, exits] = [most('insn_emulation') ?? 0, most('exits') ?? 0]
  // Before Linux 5.19 there is no pf_taken; pf_fixed is then what every guest has of it.
  const [faultsName, faults] =
    most('pf_taken') === undefined ? ['pf_fixed', most('pf_fixed')] : ['pf_taken', most('pf_taken')]
  if (faults !== 0 || emulatedInstructions === 0) return undefined
  return `the host emulates guest code (no EPT or NPT): insn_emulation rose to ${emulatedInstructions} over ${exits} exits while ${faultsName} stayed 0, so this counter stays 0 whatever the guest does`
}
