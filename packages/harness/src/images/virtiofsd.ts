import { readFileSync } from 'node:fs'
import type { BootPlan } from '@boxlab/native'
import { findProgram } from '../find-program.ts'
import { runCommand } from './command.ts'
import { ImageError } from './errors.ts'

/** What serves a folder to a guest. */
export type ShareDaemon = NonNullable<BootPlan['shares']>[number]['daemon']

/** Where distributions have it, off everybody's PATH: Debian 13 and Fedora, Debian 12 (QEMU's own), Arch. */
const FOLDERS = ['/usr/libexec', '/usr/lib/qemu', '/usr/lib']
const INSTALL = 'install it (Debian 12: qemu-system-common; others: virtiofsd)'
const OTHERWISE = "take `format: 'ext4'`"

/** Bit of the capability to mount (linux/capability.h). */
const CAP_SYS_ADMIN = 21n

/**
 * The virtiofsd of this host and how it serves a folder that the guest cannot write to. Two programs have that name: the one
 * of QEMU up to 7.2, and the one written in Rust; their own `--help` tells which it is and what it can do. Fails with
 * ERR_IMAGE_TOOL_MISSING and ERR_IMAGE_PRIVILEGE.
 */
export async function findVirtiofsd(
  folder: string,
  {
    signal,
    folders = FOLDERS,
  }: { readonly signal?: AbortSignal | undefined; readonly folders?: readonly string[] } = {},
): Promise<ShareDaemon> {
  const binary = findProgram('virtiofsd', process.env, folders)
  if (binary === undefined) {
    const message = `virtiofsd is not installed, and the folder ${folder} cannot be shared without it: ${INSTALL}, or ${OTHERWISE}`
    throw new ImageError('ERR_IMAGE_TOOL_MISSING', message)
  }
  const help = (await runCommand(binary, ['--help'], { whenMissing: INSTALL, signal })).toString()
  return virtiofsdPlan(folder, binary, help, {
    isRoot: process.geteuid?.() === 0,
    mayMount: ((capabilities() >> CAP_SYS_ADMIN) & 1n) === 1n,
  })
}

/** What the caller may do. */
export interface Privileges {
  readonly isRoot: boolean
  /** It has CAP_SYS_ADMIN, and so can give the daemon mounts of its own that are read-only. */
  readonly mayMount: boolean
}

/** The plan for a virtiofsd with this help. */
export function virtiofsdPlan(
  folder: string,
  binary: string,
  help: string,
  { isRoot, mayMount }: Privileges,
): ShareDaemon {
  const knows = (flag: string): boolean => help.includes(flag)
  const isRust = knows('--shared-dir')
  if (!mayMount && !(isRust && knows('--readonly'))) {
    const message = `${binary} cannot keep a guest from writing to the folder ${folder} without the right to mount (CAP_SYS_ADMIN): run as root, install virtiofsd 1.13 or later, or ${OTHERWISE}`
    throw new ImageError('ERR_IMAGE_PRIVILEGE', message)
  }
  // A chroot needs no second process, which would have to be ended as well; only root may have one. What a user runs makes a
  // user namespace for itself instead.
  const sandbox = isRoot ? 'chroot' : 'namespace'
  if (!isRust) {
    // A comma would end the path (fuse_opt_parse(), libfuse).
    const source = folder.replaceAll(/[\\,]/g, String.raw`\$&`)
    const settings = [`source=${source}`, `sandbox=${sandbox}`, 'xattr', 'posix_acl', 'cache=always', 'log_level=warn']
    return { binary, args: settings.flatMap((setting) => ['-o', setting]), readonlyMounts: true }
  }
  const args = [
    `--shared-dir=${folder}`,
    `--sandbox=${sandbox}`,
    '--posix-acl',
    '--cache=always',
    '--log-level=warn',
    // An overlay does not enter a folder that the guest's kernel would have to mount first.
    ...(knows('--no-announce-submounts') ? ['--no-announce-submounts'] : []),
    ...(mayMount ? [] : ['--readonly']),
  ]
  return { binary, args, readonlyMounts: mayMount }
}

/** The effective capabilities of this process, a bit each (proc(5), /proc/PID/status). */
function capabilities(): bigint {
  const [, hex = '0'] = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'latin1')) ?? []
  return BigInt(`0x${hex}`)
}
