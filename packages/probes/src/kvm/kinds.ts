/**
 * The kinds of exits, each by the counters of KVM that it is the sum of (Linux arch/x86/kvm/x86.c, kvm_vcpu_stats_desc).
 * `io`: port accesses as the processor reports them, also those that the kernel's own devices, ioeventfd and coalescing
 * answer. `mmio`: only those that went to userspace; what the in-kernel APICs and ioeventfd answer is not in it. `windows`:
 * exits to put an interrupt in. `signal`: the vCPU's thread had a signal, such as a question for its statistics.
 */
export const EXIT_KINDS: {
  readonly [kind in 'io' | 'mmio' | 'halt' | 'irq' | 'windows' | 'signal' | 'hypercalls']: readonly string[]
} = {
  io: ['io_exits'],
  mmio: ['mmio_exits'],
  halt: ['halt_exits'],
  irq: ['irq_exits'],
  windows: ['irq_window_exits', 'nmi_window_exits', 'request_irq_exits', 'notify_window_exits'],
  signal: ['signal_exits'],
  hypercalls: ['hypercalls'],
}

/** `total`: all exits. `rest`: those of no kind here (EPT faults, CPUID, MSRs, control registers …); KVM has no counters for them. */
export type ExitKind = keyof typeof EXIT_KINDS | 'total' | 'rest'
export const EXIT_KIND_NAMES: readonly ExitKind[] = [
  'total',
  ...(Object.keys(EXIT_KINDS) as (keyof typeof EXIT_KINDS)[]),
  'rest',
]

/** The kinds that the guest's code decides alone: a repeated boot has the same number. */
export const DETERMINISTIC_KINDS: ReadonlySet<ExitKind> = new Set(['io', 'mmio', 'hypercalls'])

/** How EPT or NPT faults ended (arch/x86/kvm/mmu; the split came with Linux 5.19). `taken` is all of them. */
export const FAULTS = {
  taken: 'pf_taken',
  fixed: 'pf_fixed',
  emulated: 'pf_emulate',
  spurious: 'pf_spurious',
  fast: 'pf_fast',
  mmioSpteCreated: 'pf_mmio_spte_created',
} as const
export type FaultName = keyof typeof FAULTS

/** Leaves of the mapping of guest RAM, by the counter and the bytes that one of them maps. */
export const PAGES: { readonly [leaf in 'bytes4k' | 'bytes2m' | 'bytes1g']: readonly [name: string, bytes: number] } = {
  bytes4k: ['pages_4k', 2 ** 12],
  bytes2m: ['pages_2m', 2 ** 21],
  bytes1g: ['pages_1g', 2 ** 30],
}

/** Numbers of exits by kind; a kind that the host cannot measure, or does not have, is absent. */
export type ExitsByKind = { readonly [kind in ExitKind]?: number }
export type FaultsByOutcome = { readonly [outcome in FaultName]?: number }

/** Sums counters to kinds. Of a kind with several counters those that the host has are enough. */
export function exitsByKind(counters: ReadonlyMap<string, number>): ExitsByKind {
  const kinds: { [kind in ExitKind]?: number } = {}
  const total = counters.get('exits')
  if (total !== undefined) kinds.total = total
  let told = 0
  for (const [kind, names] of Object.entries(EXIT_KINDS) as [keyof typeof EXIT_KINDS, readonly string[]][]) {
    const values = names.flatMap((name) => counters.get(name) ?? [])
    if (values.length === 0) continue
    const sum = values.reduce((all, one) => all + one, 0)
    kinds[kind] = sum
    told += sum
  }
  // A signal to a halted vCPU needs no exit, and one exit may count as two kinds: then nothing can be said of the rest.
  if (total !== undefined && total >= told) kinds.rest = total - told
  return kinds
}

/** The faults of a phase by their outcome. */
export function faultsByOutcome(counters: ReadonlyMap<string, number>): FaultsByOutcome {
  const found: { [outcome in FaultName]?: number } = {}
  for (const [outcome, name] of Object.entries(FAULTS) as [FaultName, string][]) {
    const value = counters.get(name)
    if (value !== undefined) found[outcome] = value
  }
  return found
}
