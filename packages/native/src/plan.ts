/**
 * What one boot is made of: plain data in which everything is decided. The runtime reads it as JSON
 * (`crates/runtime/src/plan.rs`) and refuses unknown fields.
 */
export interface BootPlan {
  readonly engine: {
    readonly binary: string
    readonly accel: Accelerator
    /** What the user asked for, and why `accel` came of it. */
    readonly asked: 'auto' | Accelerator
    readonly reason: string
    readonly kvmPath?: string
  }
  /** QEMU's machine type. */
  readonly machine: string
  readonly cpuModel: string
  readonly cpus: number
  readonly memoryMib: number
  readonly boot:
    | { readonly kind: 'direct'; readonly kernel: string; readonly initrd: string; readonly cmdline: string }
    | { readonly kind: 'firmware' | 'image' }
  readonly firmware?: string
  readonly disks: readonly DiskPlan[]
  readonly shares?: readonly SharePlan[]
  readonly devices: DevicePlan
  /** Whether the guest runs our agent. */
  readonly agent: boolean
  /** The mark that makes the box ready; absent where the harness will say so itself. */
  readonly ready?: string
  /** Marks set at the first appearance of a text on the console. */
  readonly consoleMarks: readonly { readonly mark: string; readonly text: string }[]
  /** KVM's counters go into the record at marks. */
  readonly counters?: true
  /** Events of QEMU's trace, which goes into the record. */
  readonly trace?: readonly string[]
  readonly limits: { readonly bootMs: number; readonly stopMs: number }
  /** SHA-256 of the inputs by name. */
  readonly digests: Readonly<Record<string, string>>
}

/** What runs guest code: the processor through KVM, or QEMU's translator. */
export type Accelerator = 'kvm' | 'tcg'

/** One disk of a plan. */
export interface DiskPlan {
  readonly id: string
  readonly path: string
  readonly format: 'raw' | 'qcow2'
  readonly readonly: boolean
  readonly interface: 'virtio' | 'ide'
}

/** A folder of the host that the guest mounts as `virtiofs`, and cannot write to. */
export interface SharePlan {
  /** Its id, and the tag by which the guest mounts it. */
  readonly id: string
  readonly path: string
  /** The virtiofsd that serves it. */
  readonly daemon: {
    readonly binary: string
    /** Without its socket, which the runtime adds. */
    readonly args: readonly string[]
    /** Everything mounted is read-only for it; otherwise `args` have to see to it that the guest cannot write. */
    readonly readonlyMounts: boolean
  }
}

/** Devices beside the disks. */
export interface DevicePlan {
  readonly rng: boolean
  readonly net: 'none' | 'user'
  readonly balloon: boolean
  readonly hotplugPorts: number
  readonly ioeventfd: boolean
  /** Further QEMU arguments, as they are. */
  readonly extra: readonly string[]
}
