import type { TraceDiagnostic } from '../trace/trace-diagnostics.ts'
import type { ConfigSpace } from './config-space.ts'
import type { Polled } from './polled.ts'

/** `pio`: a port; `mmio`: memory; `unknown`: an address below 64 KiB of a machine that shows no PC's ports. */
export type RegionKind = 'pio' | 'mmio' | 'unknown'

/**
 * The trace's lines: QEMU's log backend without stamps, with `TID@SEC.USEC:` (to 10.0), with an ISO time (10.1 on), or more than
 * one of them.
 */
export type TraceFormat = 'log' | 'log-tid-stamp' | 'log-iso-stamp' | 'log-mixed'

/** Accesses to one address. */
export interface AddressRow {
  /** As it was printed, such as `0x3f8`: absolute, or relative to the region where it was reached through an alias. */
  readonly address: string
  readonly reads: number
  readonly writes: number
  /** Accesses by phase, in the order of `phases`. */
  readonly byPhase: readonly number[]
}

/** Accesses to one region of one device. Each line of `memory_region_*` is one. */
export interface RegionRow {
  /**
   * QEMU's name; where it prints none (before 6.2, `subpage`, `ram_device`), the memory map's for the address, else
   * `@0x3f8-0x3ff`, the addresses that were accessed, or `(subpage)`.
   */
  readonly name: string
  /** Where the name is from; a name by address is one that no list knows to be polled or not. */
  readonly named: 'trace' | 'map' | 'address'
  /** Whose it is, by the memory map: the device's id, else its path in QEMU's object model. */
  readonly device?: string
  /** The PCI function of that device, where the memory map has it. */
  readonly bdf?: string
  readonly kind: RegionKind
  /** Which counts are a matter of time and not of what the guest does; absent for deterministic ones. */
  readonly polled?: Polled
  readonly reads: number
  readonly writes: number
  readonly bytes: number
  /** How many regions of this name there were, by their pointers. */
  readonly pointers: number
  /** Accesses of threads that are no vCPU, such as a timer that raises an interrupt; these are no exits. */
  readonly notByVcpu?: number
  /** Different addresses; of a trace with more than 16,384 of them in all only those that came first. */
  readonly addressCount: number
  /** The addresses with most accesses, at most 64. */
  readonly addresses: readonly AddressRow[]
  readonly byPhase: readonly { readonly reads: number; readonly writes: number }[]
}

/** A part of the boot. */
export interface PhaseRow {
  readonly name: string
  /** The trace's line that begins it. */
  readonly fromLine: number
  /** Microseconds after the trace's first stamp; absent without stamps. */
  readonly fromUs?: number
  readonly durationUs?: number
  readonly accesses: number
  readonly reads: number
  readonly writes: number
  readonly bytes: number
  readonly pio: number
  readonly mmio: number
  /** Accesses to polled regions, in the directions that are polled. */
  readonly polled: number
  /** Accesses to configuration data, and how many of them went to absent functions. */
  readonly config: number
  readonly configAbsent?: number
  readonly consoleBytes: number
  /** `kvm_run_exit` of this phase, where it was traced. */
  readonly exits?: number
}

/** What `kvm_run_exit` says: returns of a vCPU to QEMU. Those that the kernel handles itself are not among them. */
export interface RunExits {
  readonly total: number
  readonly byReason: readonly { readonly reason: number; readonly name?: string; readonly count: number }[]
  /** Reason 2, and the accesses of vCPUs to ports: a string instruction is one exit and several accesses, and writes that KVM
   * collects (coalesced) come with the next exit. */
  readonly io: { readonly exits: number; readonly accesses?: number }
  /** Reason 6, and the accesses of vCPUs to memory. */
  readonly mmio: { readonly exits: number; readonly accesses?: number }
}

/** Something that a guest does and that leaves no line in a trace. */
export interface Hidden {
  readonly name: 'ioeventfd' | 'irqfd' | 'vhost' | 'in-kernel-irqchip' | 'coalesced' | 'unassigned'
  /** What was seen of it here; absent where the trace says nothing. */
  readonly seen?: string
  /** One sentence for a person. */
  readonly message: string
}

export interface QueueNotifies {
  /** The device's pointer. */
  readonly vdev: string
  readonly queue: number
  readonly count: number
}

/** Accesses to an assigned device, by QEMU's name for it. Its accesses to configuration space are `pci_cfg` events too. */
export interface VfioRow {
  readonly device: string
  readonly config: { readonly reads: number; readonly writes: number }
  readonly regions: readonly {
    readonly region: number
    readonly reads: number
    readonly writes: number
    readonly bytes: number
  }[]
}

/** Accesses to virtio-mmio registers, as its own events have them, of all such devices together. */
export interface VirtioMmioRow {
  readonly register: string
  readonly offset: string
  readonly reads: number
  readonly writes: number
}

export interface MmioFinding {
  readonly name:
    | 'regions-not-traced'
    | 'reads-not-traced'
    | 'writes-not-traced'
    | 'no-names'
    | 'no-phases'
    | 'map-incomplete'
    | 'owner-unknown'
    | 'config-not-traced'
  readonly message: string
}

export interface MmioDiagnostics {
  readonly lines: number
  /** Lines without an event, and events that could not be read. */
  readonly unparsed: number
  readonly problems: readonly TraceDiagnostic[]
}

/** Whose accesses they were. */
export interface MmioReport {
  readonly found: true
  readonly format: TraceFormat
  readonly lines: number
  /** Every event by its name. Never to be added up: one access to configuration space is three lines. */
  readonly events: { readonly [name: string]: number }
  /** Threads that wrote events; absent where the stamps do not name them. */
  readonly threads?: number
  /** First and last stamp by the host's clock, in microseconds since 1970. */
  readonly firstUs?: number
  readonly lastUs?: number
  /** Accesses to memory regions, one per line; absent where these were not traced. */
  readonly accesses?: number
  /**
   * At most so many of them are parts of wider accesses: the next address of the same region, by the line right behind. QEMU
   * splits what a device cannot take at once.
   */
  readonly maybeSplit?: number
  /** Absent where nothing of configuration space was traced. */
  readonly pci?: ConfigSpace
  readonly regions: readonly RegionRow[]
  /** Of all phases one name, one count; a single phase where the console in the trace shows no kernel. */
  readonly phases: readonly PhaseRow[]
  /** Size-1 writes to port 0x3f8; `divisor` of them set the baud rate (DLAB) and are no text. */
  readonly console?: { readonly bytes: number; readonly divisor: number }
  readonly exits?: RunExits
  readonly queueNotifies?: readonly QueueNotifies[]
  readonly vfio?: readonly VfioRow[]
  readonly virtioMmio?: readonly VirtioMmioRow[]
  readonly hidden: readonly Hidden[]
  readonly findings: readonly MmioFinding[]
  readonly diagnostics: MmioDiagnostics
}

/** There is no answer, and why. */
export interface NoMmio {
  readonly found: false
  /**
   * `empty`: not a byte; `not-a-log`: the simple backend's binary form; `no-events`: no line is of a trace; `no-accesses`: there
   * are events, and none of accesses.
   */
  readonly reason: 'empty' | 'not-a-log' | 'no-events' | 'no-accesses'
  /** A sentence with the remedy. */
  readonly message: string
  readonly lines: number
  readonly events: { readonly [name: string]: number }
  readonly diagnostics: MmioDiagnostics
}

export type MmioResult = MmioReport | NoMmio
