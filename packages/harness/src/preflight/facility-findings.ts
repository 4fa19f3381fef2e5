import { open, statfs } from 'node:fs/promises'
import { runCommand } from '../images/command.ts'
import { systemCode } from '../images/errors.ts'
import { type Finding, look, type Seen } from './finding.ts'

/** What the kernel offers beside KVM. Boxes do without, so none of these decides anything. */
export function facilityFindings(): Promise<Finding>[] {
  return [
    look({ id: 'vsock', title: 'vhost-vsock', level: 'informational' }, () => opens('/dev/vhost-vsock', 'vhost_vsock')),
    look({ id: 'tun', title: 'net/tun', level: 'informational' }, () => opens('/dev/net/tun', 'tun')),
    look({ id: 'namespaces', title: 'namespaces', level: 'informational' }, namespaces),
    look({ id: 'cgroup', title: 'cgroups', level: 'informational' }, cgroups),
    look({ id: 'shared-memory', title: '/dev/shm', level: 'informational' }, sharedMemory),
  ]
}

async function opens(path: string, module: string): Promise<Seen> {
  try {
    await (await open(path, 'r+')).close()
    return { outcome: 'ok', detail: `${path} opens.` }
  } catch (error) {
    const remedy =
      systemCode(error) === 'ENOENT'
        ? `Load the module (\`sudo modprobe ${module}\`); in a container pass the device (\`--device ${path}\`).`
        : `Give this user access to ${path}.`
    return { outcome: 'failed', detail: `${path} does not open (${systemCode(error) ?? String(error)}).`, remedy }
  }
}

/** Made for real, since sysctls, LSMs and seccomp filters each may forbid them. */
async function namespaces(): Promise<Seen> {
  const kinds = ['--user', '--map-root-user', '--mount', '--pid', '--net', '--fork']
  try {
    await runCommand('unshare', [...kinds, 'true'], { timeoutMs: 2_000, whenMissing: 'install util-linux' })
    return { outcome: 'ok', detail: 'User, mount, pid and network namespaces can be made.' }
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ERR_IMAGE_TOOL_MISSING'
    const detail = `${error instanceof Error ? error.message : String(error)}.`
    return { outcome: missing ? 'not-run' : 'failed', detail }
  }
}

// From linux/magic.h: the file system at /sys/fs/cgroup is cgroup2 itself, or a tmpfs with the old hierarchies.
const CGROUP2_SUPER_MAGIC = 0x63677270

async function cgroups(): Promise<Seen> {
  if (await isUnified('/sys/fs/cgroup')) return { outcome: 'ok', detail: 'Version 2.', facts: { version: 2 } }
  const hybrid = await isUnified('/sys/fs/cgroup/unified')
  const detail = hybrid ? 'Version 1, with version 2 beside it but without controllers.' : 'Version 1.'
  return { outcome: 'limited', detail, facts: { version: 1, hybrid } }
}

async function isUnified(path: string): Promise<boolean> {
  return statfs(path).then(
    ({ type }) => type === CGROUP2_SUPER_MAGIC,
    () => false,
  )
}

async function sharedMemory(): Promise<Seen> {
  const { bavail, bsize } = await statfs('/dev/shm')
  const freeMib = Math.floor((bavail * bsize) / (1 << 20))
  return { outcome: freeMib >= 256 ? 'ok' : 'limited', detail: `/dev/shm has ${freeMib} MiB free.`, facts: { freeMib } }
}
