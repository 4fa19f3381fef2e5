import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { agentPath, type BootPlan, BoxError, fileSha256, hostTscKhz, type Machine } from '@boxlab/native'
import { findEngine } from './engine.ts'
import { guestModules } from './guest-modules.ts'
import { bareInitramfs, checkKernelImage, debianKernel, kernelFile } from './images/index.ts'
import type { BoxOptions, DiskOptions } from './options.ts'
import { chooseAccelerator } from './preflight/accelerator.ts'
import { hostPreflight, kvmDevice } from './preflight/kvm.ts'
import { nativeMark } from './wait/index.ts'

/** A plan with what the user should know of how it came about. */
export interface Planned {
  readonly plan: BootPlan
  /** What was left out of the initramfs and why. */
  readonly notes: readonly string[]
}

/** An id that is short enough to type and no other box has. */
export function newBoxId(): string {
  return `b${randomBytes(5).toString('hex')}`
}

/**
 * TCG translates `rep movsb` byte by byte, and a kernel that sees ERMS copies with it: without the flag a guest copies
 * four times as fast and boots some 8 % sooner.
 */
const defaultCpuModel = { kvm: 'host', tcg: 'max,-erms' } as const

interface Source {
  readonly boot: BootPlan['boot']
  readonly digests: Record<string, string>
  readonly notes: readonly string[]
}

/** Decides everything: the accelerator, the kernel, the initramfs, the command line. Sets the marks of its parts. */
export async function planBoot(
  options: BoxOptions,
  machine: Machine,
  root: string,
  signal?: AbortSignal,
): Promise<Planned> {
  const firmwareOnly = options.boot === 'firmware'
  const binary = findEngine(options.engine)
  const preflight = options.accel === 'tcg' ? undefined : await hostPreflight({ cacheRoot: root })
  const choice = preflight
    ? chooseAccelerator(options.accel ?? 'auto', firmwareOnly ? 'firmware' : 'linux', preflight)
    : { accel: 'tcg' as const, reason: "`accel: 'tcg'` was asked for" }
  if ('refusal' in choice) throw new BoxError('ERR_BOX_ACCELERATOR', choice.refusal)
  const { accel, reason } = choice
  const source = firmwareOnly
    ? await firmwareSource(options)
    : await directSource(options, machine, root, accel, signal)
  const disks = (options.disks ?? []).map((disk, index) => planDisk(disk, index, firmwareOnly))
  const devices = options.devices ?? {}
  const { waitFor } = options
  const ready = waitFor ? nativeMark(waitFor) : firmwareOnly ? 'vm-start' : 'agent-ready'
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
    cpuModel: options.cpuModel ?? defaultCpuModel[accel],
    cpus: options.cpus ?? 1,
    memoryMib: options.memoryMib ?? 512,
    boot: source.boot,
    ...(options.firmware !== undefined && { firmware: resolve(options.firmware) }),
    disks,
    devices: {
      rng: devices.rng ?? true,
      net: devices.net ?? 'none',
      balloon: devices.balloon ?? false,
      hotplugPorts: devices.hotplugPorts ?? 0,
      ioeventfd: devices.ioeventfd ?? true,
      extra: devices.extra ?? [],
    },
    agent: !firmwareOnly,
    ...(ready !== undefined && { ready }),
    consoleMarks:
      ready !== undefined && waitFor?.kind === 'console' ? [{ mark: ready, text: String(waitFor.text) }] : [],
    limits: { bootMs: options.timeouts?.bootMs ?? 60_000, stopMs: options.timeouts?.stopMs ?? 10_000 },
    digests: source.digests,
  }
  return { plan, notes: source.notes }
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

async function firmwareSource(options: BoxOptions): Promise<Source> {
  const files: [string, string][] = (options.disks ?? []).map((disk, index) => [`disk:disk${index}`, disk.path])
  if (options.firmware) files.push(['firmware', options.firmware])
  const digests = await Promise.all(files.map(async ([name, path]) => [name, await fileSha256(path)] as const))
  return { boot: { kind: 'firmware' }, digests: Object.fromEntries(digests), notes: [] }
}

async function directSource(
  options: BoxOptions,
  machine: Machine,
  cacheRoot: string,
  accel: 'kvm' | 'tcg',
  signal?: AbortSignal,
): Promise<Source> {
  const cancel = signal && { signal }
  machine.mark('image-begin')
  const source =
    typeof options.kernel === 'string' ? kernelFile(resolve(options.kernel)) : (options.kernel ?? debianKernel())
  const kernel = await source.resolve({ cacheRoot, ...cancel })
  await checkKernelImage(kernel.path)
  machine.mark('image-ready')
  machine.mark('rootfs-begin')
  const initramfs = await bareInitramfs({
    agentPath: agentPath(),
    kernel,
    modules: guestModules(options, kernel.modulesDir !== undefined),
    ...(options.files && { files: options.files }),
    cacheRoot,
    ...cancel,
  })
  machine.mark('rootfs-ready')
  return {
    boot: { kind: 'direct', kernel: kernel.path, initrd: initramfs.path, cmdline: commandLine(options, accel) },
    digests: { kernel: kernel.sha256, initrd: initramfs.sha256 },
    notes: initramfs.notes,
  }
}

/**
 * The kernel's command line. `earlycon`: without it the first line comes out only when the serial driver starts, some
 * hundred milliseconds into the kernel, and a panic before that says nothing. `panic=-1`: a panic resets at once, which
 * ends the engine (-no-reboot). Under TCG the guest's own calibration of its TSC is racy, so it is told the host's
 * frequency. The user's part comes last and wins.
 */
export function commandLine(
  options: Pick<BoxOptions, 'cmdline'>,
  accel: 'kvm' | 'tcg',
  tscKhz: () => number = hostTscKhz,
): string {
  const parts = ['console=ttyS0', 'earlycon=uart8250,io,0x3f8', 'panic=-1']
  if (accel === 'tcg') parts.push(`tsc_early_khz=${tscKhz()}`)
  if (options.cmdline) parts.push(options.cmdline)
  return parts.join(' ')
}
