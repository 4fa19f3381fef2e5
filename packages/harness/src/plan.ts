import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { ACCESS_EVENTS } from '@boxlab/probes'
import { agentPath, type BootPlan, BoxError, fileSha256, hostTscKhz, type Machine } from '@boxlab/native'
import { findEngine } from './engine.ts'
import { guestModules } from './guest-modules.ts'
import { slowProgress } from './images/progress-text.ts'
import type { RootImage } from './images/root-image.ts'
import { bareInitramfs, checkKernelImage, debianKernel, ImageError, kernelFile } from './images/index.ts'
import { initcallsCmdline } from './initcalls/kernel-log.ts'
import type { BoxOptions, DiskOptions, TraceOptions } from './options.ts'
import { chooseAccelerator } from './preflight/accelerator.ts'
import { hostPreflight, kvmDevice } from './preflight/kvm.ts'
import { imageRoot } from './stage0/image-root.ts'
import { unitFiles } from './stage0/unit-files.ts'
import { unlessAborted } from './unless-aborted.ts'
import { nativeMark } from './wait/index.ts'

/** A plan with what the user should know of how it came about. */
export interface Planned {
  readonly plan: BootPlan
  /** What was left out of the initramfs and why. */
  readonly notes: readonly string[]
  /** The image of an image box. */
  readonly root?: RootImage
  /** The mark of what is waited for, where the runtime itself sees it from the boot's first instant on. */
  readonly watched?: string
  /** Everything that was needed of the cache was there. */
  readonly imagesCached: boolean
}

/** An id that is short enough to type and no other box has. */
export function newBoxId(): string {
  return `b${randomBytes(5).toString('hex')}`
}

/**
 * A KVM that emulates guest code may list IA32_ARCH_CAPABILITIES among its MSRs and then refuse to set it, at which QEMU
 * aborts (target/i386/kvm/kvm.c, kvm_buf_set_msrs); nothing that such a KVM can boot reads it.
 *
 * TCG translates `rep movsb` byte by byte, and a kernel that sees ERMS copies with it: without the flag a guest copies
 * four times as fast and boots some 8 % sooner.
 */
const defaultCpuModel = { kvm: 'host', emulated: 'host,-arch-capabilities', tcg: 'max,-erms' } as const

interface Source {
  readonly boot: BootPlan['boot']
  /** Disks that come before the user's. */
  readonly disks: BootPlan['disks']
  readonly shares?: BootPlan['shares']
  readonly digests: Record<string, string>
  readonly notes: readonly string[]
  readonly root?: RootImage
  readonly imagesCached: boolean
}

/** Decides everything: the accelerator, the kernel, the initramfs, the command line. Sets the marks of its parts. */
export async function planBoot(
  options: BoxOptions,
  machine: Machine,
  root: string,
  signal?: AbortSignal,
): Promise<Planned> {
  // In both the firmware decides what runs: a kernel of ours would need an agent of ours.
  const firmwareOnly = options.boot === 'firmware' || options.boot === 'image'
  const binary = findEngine(options.engine)
  const preflight = options.accel === 'tcg' ? undefined : await hostPreflight({ cacheRoot: root })
  const choice = preflight
    ? chooseAccelerator(options.accel ?? 'auto', options.boot === 'firmware' ? 'firmware' : 'linux', preflight)
    : { accel: 'tcg' as const, reason: "`accel: 'tcg'` was asked for" }
  if ('refusal' in choice) throw new BoxError('ERR_BOX_ACCELERATOR', choice.refusal)
  const { accel, reason } = choice
  const source = firmwareOnly
    ? await firmwareSource(options, machine, root, signal)
    : await directSource(options, machine, root, accel, signal)
  const own = (options.disks ?? []).map((disk, index) => planDisk(disk, index, firmwareOnly))
  const disks = [...source.disks, ...own]
  const devices = options.devices ?? {}
  const { waitFor } = options
  const watched = waitFor && nativeMark(waitFor)
  // A process of the image's may fail before what is waited for comes, and systemd is asked what it waits for when it does
  // not: the harness follows both.
  const follows = options.run === 'entrypoint' || (!firmwareOnly && source.root?.hasInit === true)
  const ready = follows ? undefined : waitFor ? watched : defaultReady(options)
  const kvmPath = kvmDevice()
  const plan: BootPlan = {
    engine: {
      binary,
      accel,
      asked: options.accel ?? 'auto',
      reason,
      ...(accel === 'kvm' && kvmPath !== '/dev/kvm' && { kvmPath }),
    },
    machine: options.machine ?? 'q35',
    cpuModel:
      options.cpuModel ?? defaultCpuModel[accel === 'kvm' && preflight?.verdict === 'emulated' ? 'emulated' : accel],
    cpus: options.cpus ?? 1,
    memoryMib: options.memoryMib ?? 512,
    boot: source.boot,
    ...(options.firmware !== undefined && { firmware: resolve(options.firmware) }),
    disks,
    ...(source.shares && { shares: source.shares }),
    devices: {
      rng: devices.rng ?? true,
      net: devices.net ?? (options.image ? 'user' : 'none'),
      balloon: devices.balloon ?? false,
      hotplugPorts: devices.hotplugPorts ?? 0,
      ioeventfd: devices.ioeventfd ?? true,
      extra: devices.extra ?? [],
    },
    agent: !firmwareOnly,
    ...(ready !== undefined && { ready }),
    consoleMarks: consoleMarks(options, watched),
    ...(options.record?.counters && { counters: true as const }),
    ...(options.record?.trace && { trace: tracedEvents(options.record.trace) }),
    limits: { bootMs: options.timeouts?.bootMs ?? 60_000, stopMs: options.timeouts?.stopMs ?? 10_000 },
    digests: source.digests,
  }
  const { notes, imagesCached } = source
  return {
    plan,
    notes,
    imagesCached,
    ...(watched !== undefined && { watched }),
    ...(source.root && { root: source.root }),
  }
}

/** What `box.mmio()` reads; one that a version of QEMU does not have is a warning of its own. */
const TRACED_EVENTS: readonly string[] = [
  ...ACCESS_EVENTS,
  'pci_cfg_read',
  'pci_cfg_write',
  'kvm_run_exit',
  'kvm_set_ioeventfd_mmio',
  'kvm_set_ioeventfd_pio',
  'virtio_queue_notify',
]

function tracedEvents(trace: boolean | TraceOptions): readonly string[] {
  return typeof trace === 'boolean' ? TRACED_EVENTS : trace.events
}

/** Texts on the console that the runtime watches for: what the box is waited for by, and where its counters are read. */
function consoleMarks(
  { waitFor, record }: BoxOptions,
  watched: string | undefined,
): readonly { readonly mark: string; readonly text: string }[] {
  const waited = watched !== undefined && waitFor?.kind === 'console' ? [String(waitFor.text)] : []
  const counted = typeof record?.counters === 'object' ? record.counters.at : []
  return [...new Set([...waited, ...counted])].map((text) => ({ mark: `user:console:${text}`, text }))
}

function defaultReady({ boot = 'direct' }: BoxOptions): string {
  if (boot === 'firmware') return 'vm-start'
  return boot === 'image' ? 'login-prompt' : 'agent-ready'
}

function planDisk(disk: DiskOptions, index: number, firmwareOnly: boolean): BootPlan['disks'][number] {
  return {
    id: `disk${index}`,
    path: resolve(disk.path),
    format: disk.format ?? 'raw',
    readonly: disk.readonly ?? false,
    interface: disk.interface ?? (firmwareOnly ? 'ide' : 'virtio'),
  }
}

async function firmwareSource(
  options: BoxOptions,
  machine: Machine,
  cacheRoot: string,
  signal: AbortSignal | undefined,
): Promise<Source> {
  const files: [string, string][] = (options.disks ?? []).map((disk, index) => [`disk:disk${index}`, disk.path])
  if (options.firmware) files.push(['firmware', options.firmware])
  const digests = await Promise.all(
    files.map(async ([name, path]) => [name, await readUnlessAborted(path, signal)] as const),
  )
  const source = {
    boot: { kind: 'firmware' },
    disks: [],
    digests: Object.fromEntries(digests),
    notes: [],
    imagesCached: true,
  } as const
  if (!options.image) return source
  machine.mark('image-begin')
  const image = await options.image.resolve({ cacheRoot, progress: slowProgress(), signal })
  machine.mark('image-ready')
  const { format, path, digest } = image
  if (format !== 'raw' && format !== 'qcow2') {
    const message = `\`boot: 'image'\`: the image ${options.image.name} is a file system without a boot loader: take a \`disk()\`, or \`boot: 'direct'\``
    throw new BoxError('ERR_BOX_IMAGE', message)
  }
  const disk = { id: 'boxlab-root', path, format, readonly: false, interface: 'virtio' } as const
  return {
    ...source,
    boot: { kind: 'image' },
    disks: [disk],
    digests: { ...source.digests, image: digest },
    imagesCached: image.cached,
  }
}

async function directSource(
  options: BoxOptions,
  machine: Machine,
  cacheRoot: string,
  accel: 'kvm' | 'tcg',
  signal?: AbortSignal,
): Promise<Source> {
  const context = { cacheRoot, progress: slowProgress(), signal }
  machine.mark('image-begin')
  const source =
    typeof options.kernel === 'string' ? kernelFile(resolve(options.kernel)) : (options.kernel ?? debianKernel())
  const kernel = await source.resolve(context)
  await checkKernelImage(kernel.path)
  const root = options.image && (await imageRoot(options.image, kernel, options.writes ?? 'overlay', context))
  machine.mark('image-ready')
  const recordJobs = options.record?.jobs === true
  if (recordJobs && root?.image.hasInit !== true) {
    const message = `\`record.jobs\`: the image ${options.image?.name ?? ''} has no init, so there are no jobs to record`
    throw new BoxError('ERR_BOX_IMAGE', message)
  }
  const stage0 = root && { ...root.stage0, ...(recordJobs && { recordJobs }) }
  machine.mark('rootfs-begin')
  const initramfs = await bareInitramfs({
    agentPath: agentPath(),
    kernel,
    modules: guestModules(withNet(options), kernel.modulesDir !== undefined, stage0),
    files: [...(options.files ?? []), ...unitFiles(options.units ?? {})],
    ...(stage0 && { stage0 }),
    ...context,
  })
  machine.mark('rootfs-ready')
  return {
    boot: { kind: 'direct', kernel: kernel.path, initrd: initramfs.path, cmdline: commandLine(options, accel) },
    disks: root?.disks ?? [],
    shares: root?.shares,
    digests: { kernel: kernel.sha256, initrd: initramfs.sha256, ...root?.digests },
    notes: initramfs.notes,
    imagesCached: !initramfs.made && (root?.cached ?? true),
    ...(root && { root: root.image }),
  }
}

/** An image has a network unless it shall have none. */
function withNet(options: BoxOptions): BoxOptions {
  return options.image ? { ...options, devices: { net: 'user', ...options.devices } } : options
}

/**
 * The kernel's command line. `earlycon`: without it the first line comes out only when the serial driver starts, some
 * hundred milliseconds into the kernel, and a panic before that says nothing. `panic=-1`: a panic resets at once, which
 * ends the engine (-no-reboot). Under TCG the guest's own calibration of its TSC is racy, so it is told the host's
 * frequency. The user's part comes last and wins.
 */
export function commandLine(
  options: Pick<BoxOptions, 'cmdline' | 'mask' | 'record'>,
  accel: 'kvm' | 'tcg',
  tscKhz: () => number = hostTscKhz,
): string {
  const parts = ['console=ttyS0', 'earlycon=uart8250,io,0x3f8', 'panic=-1']
  if (accel === 'tcg') parts.push(`tsc_early_khz=${tscKhz()}`)
  if (options.record?.initcalls) parts.push(initcallsCmdline)
  for (const unit of options.mask ?? []) parts.push(`systemd.mask=${unit}`)
  if (options.cmdline) parts.push(options.cmdline)
  const line = parts.join(' ')
  // COMMAND_LINE_SIZE of x86 less its final NUL; `cmdline` alone was checked when the box was made.
  if (Buffer.byteLength(line) > 2047) {
    throw new BoxError(
      'ERR_BOX_OPTIONS',
      `\`mask\` and \`cmdline\` make a command line of ${Buffer.byteLength(line)} bytes, and the kernel takes 2047: mask fewer units, or mask them with \`files\``,
    )
  }
  return line
}

/** A large disk takes a while to read; nobody waits for that who does not want the box any more. */
function readUnlessAborted(path: string, signal: AbortSignal | undefined): Promise<string> {
  const aborted = (): ImageError => new ImageError('ERR_IMAGE_ABORTED', `Reading ${path} was aborted`, signal?.reason)
  return unlessAborted(fileSha256(path), signal, aborted)
}
