import type { InitramfsFile, KernelSource } from './images/index.ts'
import type { ImageSource } from './images/root-image.ts'
import type { WaitStrategy } from './wait/index.ts'

/**
 * What a box is made of. Everything is optional; the defaults give a bare box: Debian's cloud kernel, an initramfs with
 * our agent as PID 1, and busybox where the host has a static one. Checked when the box is made: each refusal is one
 * sentence that names the option.
 */
export interface BoxOptions {
  /** A kernel source, or the path of a bzImage or PVH vmlinux. Default `debianKernel()`, from the cache. */
  readonly kernel?: KernelSource | string
  /** The root of the guest. Default: none, a bare box, whose init is our agent. */
  readonly image?: ImageSource
  /**
   * `direct`: a kernel with our initramfs. `image`: the boot loader of the image, which is a `disk()`; no agent. `firmware`:
   * no kernel, whatever the firmware finds. Default `direct`.
   */
  readonly boot?: 'direct' | 'image' | 'firmware'
  /** Added to the end of the kernel's command line. */
  readonly cmdline?: string
  /** Files put into the initramfs of a bare box, or into the root of an image box before its init starts. */
  readonly files?: readonly InitramfsFile[]
  /** systemd units and drop-ins by name, put into /etc/systemd/system; those with an [Install] section are enabled. */
  readonly units?: Readonly<Record<string, string>>
  /** systemd units that do not start (`systemd.mask=`). That each of them is masked is looked at in the guest. */
  readonly mask?: readonly string[]
  /**
   * `entrypoint`: the process that an OCI image was made for is started, with its environment, user and folder; it fails the
   * box when it fails. Default: nothing of an image without an init runs but what `exec` is asked for.
   */
  readonly run?: 'entrypoint'
  /**
   * What the guest writes to its root. `overlay`: to memory. `disk`: to a layer of the engine's on the host, and the root
   * is mounted as itself. Both are thrown away. Default `overlay`.
   */
  readonly writes?: 'overlay' | 'disk'
  /** Kernel modules loaded beside the default ones, with what they depend on. */
  readonly modules?: readonly string[]
  /** QEMU's machine type, with its properties. Default `q35`. */
  readonly machine?: 'q35' | 'pc' | 'microvm' | (string & {})
  /** QEMU's CPU model. Default `host` under KVM (`host,-arch-capabilities` where KVM emulates), `max,-erms` under TCG. */
  readonly cpuModel?: string
  /** Virtual CPUs, 1 to 255. Default 1. */
  readonly cpus?: number
  /** Guest memory in MiB, 16 or more. Default 512. */
  readonly memoryMib?: number
  /** What runs guest code. Default `auto`: by the preflight, and `box.info()` says why. */
  readonly accel?: 'auto' | 'kvm' | 'tcg'
  readonly devices?: DeviceOptions
  /** Disks in order. Their files are never written: a box writes to a throw-away layer. */
  readonly disks?: readonly DiskOptions[]
  /** A firmware image (a ROM) in place of QEMU's own. */
  readonly firmware?: string
  /** Variables for every command that `exec` runs. */
  readonly env?: Readonly<Record<string, string>>
  /** The user for every command: a name or `uid[:gid]`. Default root. */
  readonly user?: string
  /** The working directory for every command. Default `/`. */
  readonly workdir?: string
  readonly timeouts?: TimeoutOptions
  readonly record?: RecordOptions
  /**
   * What makes the box ready. Default: its agent answers; with an image that has systemd, the boot is over
   * (`Wait.forSystemd()`); for a firmware box, its machine runs; with `boot: 'image'`, the login prompt.
   */
  readonly waitFor?: WaitStrategy
  /** Kills the box at any time of its life. */
  readonly signal?: AbortSignal | undefined
  /** Shown in messages and in the record. */
  readonly name?: string
  /** The QEMU program. Default `qemu-system-x86_64` from PATH. */
  readonly engine?: string
}

/** Devices beside the disks. */
export interface DeviceOptions {
  /** virtio-rng. Default true. */
  readonly rng?: boolean
  /** `user`: QEMU's user network, out to the host and nothing in. Default `user` with an image, else `none`. */
  readonly net?: 'none' | 'user'
  /** virtio-balloon. Default false. */
  readonly balloon?: boolean
  /** Empty PCIe root ports, 0 to 16. Default 0. */
  readonly hotplugPorts?: number
  /** Kicks of virtio queues go through an eventfd. Default true, as in QEMU. */
  readonly ioeventfd?: boolean
  /** Further QEMU arguments, as they are. */
  readonly extra?: readonly string[]
}

/** One disk. */
export interface DiskOptions {
  /** The image file. */
  readonly path: string
  /** Default `raw`. */
  readonly format?: 'raw' | 'qcow2'
  /** Refuses the guest's writes; IDE disks cannot. Default false. */
  readonly readonly?: boolean
  /** Default `virtio`; `ide` in a firmware box, since every firmware can boot from it. */
  readonly interface?: 'virtio' | 'ide'
}

/** Bounds in milliseconds. */
export interface TimeoutOptions {
  /** From the start of the engine to ready. Default 60 000. */
  readonly bootMs?: number
  /** For each gentle step of a stop. Default 10 000. */
  readonly stopMs?: number
  /** For a command whose call sets none. Default 60 000. */
  readonly execMs?: number
  /** For the turn to boot, while other boxes have the host's memory and CPUs. Default 600 000. */
  readonly turnMs?: number
}

/** The record of a boot. */
export interface RecordOptions {
  /** Its folder, which must not hold a record yet. Default: one of its own under the state root's `records/`. */
  readonly dir?: string
  /** When it stays after the box is gone. Default `on-failure`. */
  readonly keep?: 'always' | 'on-failure' | 'never'
  /** The most that each of its files takes, in MiB; what comes after that is not kept, and boot.json says so. Default 64. */
  readonly maxMib?: number
  /** Follows the journal of a systemd guest into `guest/journal.export`, live. Costs the guest some time. Default false. */
  readonly journal?: boolean
  /**
   * Reads from systemd into the record, once the box is ready, when each unit began and ended (`guest/systemd-units.txt`), for
   * `boxlab waits RECORD`. Default false: `box.waits()` reads it when it is asked.
   */
  readonly waits?: boolean
  /**
   * Records what PID 1 says of its jobs, from before the first one runs, and keeps it (`guest/systemd-jobs.jsonl`) with what
   * `waits` reads. Costs the guest some time: `boxlab jobs --observer` measures it. Default false.
   */
  readonly jobs?: boolean
  /**
   * Boots with `initcall_debug` and a silent console, and reads the kernel's log into the record once the box is ready
   * (`guest/dmesg.txt`), for `box.initcalls()` and `boxlab initcalls --from RECORD`. The kernel's later marks are lines of the
   * console, so such a record has no stage `kernel`. Default false.
   */
  readonly initcalls?: boolean
  /**
   * Reads KVM's counters into the record at the marks of the boot, for `box.exits()` and `boxlab exits`. Off the path of the
   * boot, though QEMU before 8.1 interrupts the vCPUs for each answer. Under TCG there is nothing to read, and the record
   * says so. Default false.
   */
  readonly counters?: boolean | CounterOptions
  /**
   * QEMU's trace of the guest's accesses to devices, with the machine's memory map, for `box.mmio()` and `boxlab mmio`. `true`:
   * the events that those read. Each access is a line of some 100 bytes, which QEMU writes itself: `maxMib` does not bound it.
   * Needs a QEMU with the log backend, as distributions build it. Such a boot is slower and measures nothing else. Default
   * false.
   */
  readonly trace?: boolean | TraceOptions
}

/** What of QEMU's work is traced. */
export interface TraceOptions {
  /** Events of this QEMU (`-trace help`). */
  readonly events: readonly string[]
}

/** Where the counters are read beside the marks that every boot has. */
export interface CounterOptions {
  /** Texts on the console: from the first appearance of each on, a phase `user:console:TEXT` begins. */
  readonly at: readonly string[]
}
