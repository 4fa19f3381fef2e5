import type { ExitsOptions, NamedInput } from '../../src/index.ts'

/** What one vCPU has counted since its start. */
export type Counted = Readonly<Record<string, number | boolean | readonly number[]>>

/** A sample of a record: its marks, its time in ms after the start, the vCPUs, the VM. */
export interface SampleSpec {
  readonly marks?: readonly string[]
  readonly atMs: number
  readonly vcpus: readonly Counted[]
  readonly vm?: Counted
}

/** counters.jsonl as the runtime writes it; each answer came 2 ms after its question. */
export function countersFile(samples: readonly SampleSpec[], more: readonly object[] = []): NamedInput {
  const ns = (ms: number): number => 1e9 + ms * 1e6
  const lines = samples.map(({ marks = [], atMs, vcpus, vm = {} }) => ({
    kind: 'kvm',
    askedNs: ns(atMs - 2),
    atNs: ns(atMs),
    ...(marks.length > 0 && { mark: marks[0] }),
    ...(marks.length > 1 && { marks }),
    values: vm,
    vcpus: vcpus.map((values, index) => ({ index, values })),
  }))
  return { name: 'counters.jsonl', input: [...more, ...lines].map((line) => `${JSON.stringify(line)}\n`).join('') }
}

/** marks.jsonl with these marks at these ms after the start. */
export function marksFile(marks: Readonly<Record<string, number>>): Pick<ExitsOptions, 'marks'> {
  const lines = Object.entries(marks).map(([mark, ms]) => ({
    mark,
    source: 'runtime',
    clock: 'host',
    atNs: 1e9 + ms * 1e6,
  }))
  return { marks: lines.map((line) => `${JSON.stringify(line)}\n`).join('') }
}

/** A vCPU that the processor runs: memory is faulted in, ports exit. */
export function onHardware(exits: number, more: Counted = {}): Counted {
  return {
    exits,
    io_exits: Math.floor(exits / 2),
    mmio_exits: 7,
    halt_exits: 3,
    irq_exits: 2,
    irq_window_exits: 1,
    nmi_window_exits: 0,
    request_irq_exits: 0,
    signal_exits: 0,
    hypercalls: 0,
    insn_emulation: 20,
    pf_taken: 40,
    pf_fixed: 30,
    pf_emulate: 8,
    pf_spurious: 2,
    pf_fast: 0,
    pf_mmio_spte_created: 1,
    tlb_flush: 5,
    ...more,
  }
}
