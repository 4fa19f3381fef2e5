import { closeSync, openSync, readSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { ImageSource } from '../images/root-image.ts'
import type { BoxOptions } from '../options.ts'
import { Wait } from '../wait/index.ts'
import { imageSourceOf } from './image-source.ts'

/** The flags that describe a box, as commander reads them. */
export interface MachineFlags {
  readonly kernel?: string
  readonly image?: ImageSource
  readonly ownLoader?: true
  readonly memory?: number
  readonly cpus?: number
  readonly machine?: string
  readonly accel: 'auto' | 'kvm' | 'tcg'
  readonly cmdline?: string
  readonly firmwareDisk?: string
  readonly waitConsole?: string
  readonly timeout?: number
  readonly record?: string
  readonly engine?: string
}

/** The flags of `boxlab boot`. */
export interface BootFlags extends MachineFlags {
  readonly exec?: readonly string[]
  readonly hold?: true
  readonly json?: true
}

/** Adds the flags of `boxlab boot`. */
export function addBootFlags(command: Command): Command {
  return addMachineFlags(command)
    .option('--exec <line>', "run this line in the guest's shell once it is ready; may be repeated", collect)
    .option('--hold', 'keep the box until Ctrl-C')
    .option('--json', 'print one JSON object instead of the table')
}

/** Adds the flags that describe a box. */
export function addMachineFlags(command: Command): Command {
  return command
    .option('--kernel <path>', "a bzImage or PVH vmlinux (default: Debian's cloud kernel, from the cache)")
    .option(
      '--image <kind:place>',
      'the root: debian:SUITE, directory:PATH, tarball:PATH, oci:REF, disk:PATH, …',
      imageSourceOf,
    )
    .option('--own-loader', 'the image is a disk that boots by its own boot loader, without an agent')
    .option('--memory <mib>', 'guest memory in MiB (default: 512)', wholeNumber)
    .option('--cpus <n>', 'virtual CPUs (default: 1)', wholeNumber)
    .option('--machine <type>', "QEMU's machine type (default: q35)")
    .addOption(new Option('--accel <which>', 'what runs guest code').choices(['auto', 'kvm', 'tcg']).default('auto'))
    .option('--cmdline <text>', "added to the end of the kernel's command line")
    .option('--firmware-disk <path>', 'boot this disk by firmware alone, without a kernel or agent of ours')
    .option('--wait-console <text>', 'the box is ready when this text appears on its console')
    .option('--timeout <ms>', 'time until ready, in milliseconds (default: 60000)', wholeNumber)
    .option('--record <dir>', 'the folder of the record (default: a new one below records/ in BOXLAB_HOME)')
    .option('--engine <path>', 'the QEMU program (default: qemu-system-x86_64 from PATH)')
}

/** The options of the box that the flags describe. What the values mean is checked where the box is made. */
export function boxOptionsOf(flags: MachineFlags, signal: AbortSignal): BoxOptions {
  return {
    accel: flags.accel,
    signal,
    record: { keep: 'always', ...(flags.record !== undefined && { dir: flags.record }) },
    // A person watches the commands and has Ctrl-C: they get the longest bound there is.
    timeouts: { execMs: 24 * 3600 * 1000, ...(flags.timeout !== undefined && { bootMs: flags.timeout }) },
    ...(flags.kernel !== undefined && { kernel: resolve(flags.kernel) }),
    ...(flags.image !== undefined && { image: flags.image }),
    ...(flags.ownLoader === true && { boot: 'image' as const }),
    ...(flags.memory !== undefined && { memoryMib: flags.memory }),
    ...(flags.cpus !== undefined && { cpus: flags.cpus }),
    ...(flags.machine !== undefined && { machine: flags.machine }),
    ...(flags.cmdline !== undefined && { cmdline: flags.cmdline }),
    ...(flags.engine !== undefined && { engine: flags.engine }),
    ...(flags.waitConsole !== undefined && { waitFor: Wait.forConsole(flags.waitConsole) }),
    ...(flags.firmwareDisk !== undefined && {
      boot: 'firmware' as const,
      disks: [{ path: resolve(flags.firmwareDisk), format: diskFormat(flags.firmwareDisk) }],
    }),
  }
}

export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

function collect(line: string, before: readonly string[] = []): string[] {
  return [...before, line]
}

/** A qcow2 image begins with "QFI\xfb" (QEMU's docs/interop/qcow2.txt); taken as raw, no firmware could boot it. */
function diskFormat(path: string): 'raw' | 'qcow2' {
  const start = Buffer.alloc(4)
  try {
    const file = openSync(path, 'r')
    try {
      readSync(file, start, 0, 4, 0)
    } finally {
      closeSync(file)
    }
  } catch {
    // Whatever is wrong with the path is said where the box is made.
  }
  return start.equals(Buffer.from('QFI\u00fb', 'latin1')) ? 'qcow2' : 'raw'
}
