import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { release } from 'node:os'
import { dirname, join } from 'node:path'
import type { KvmPreflight } from '@boxlab/native'

/** What an answer about KVM depends on. Where any of it changes, the answer is asked again. */
export interface DeviceIdentity {
  readonly kvmPath: string
  /** The host's boot, from /proc/sys/kernel/random/boot_id. */
  readonly bootId: string
  /** The host's kernel release. */
  readonly kernel: string
  /** The device node: `dev:inode:rdev:mode:uid:gid:ctime`. A module that is loaded again makes another node. */
  readonly node: string
  /** User and groups of this process. */
  readonly user: string
}

/** Raised when the preflight looks at something else, so that answers of an older one are not taken for its own. */
const version = 1

interface KeptAnswer {
  readonly version: number
  readonly device: DeviceIdentity
  readonly testedAt: string
  readonly preflight: KvmPreflight
}

/** The identity of a device that this process may open; undefined where it may not, so that nothing kept can say so. */
export async function identifyDevice(kvmPath: string): Promise<DeviceIdentity | undefined> {
  try {
    const handle = await open(kvmPath, 'r+')
    await handle.close()
    const { dev, ino, rdev, mode, uid, gid, ctimeNs } = await stat(kvmPath, { bigint: true })
    return {
      kvmPath,
      bootId: (await readFile('/proc/sys/kernel/random/boot_id', 'latin1')).trim(),
      kernel: release(),
      node: [dev, ino, rdev, mode, uid, gid, ctimeNs].join(':'),
      user: [process.geteuid?.(), process.getegid?.(), ...(process.getgroups?.() ?? [])].join(':'),
    }
  } catch {
    return undefined
  }
}

/** The kept answer for this device; undefined where there is none, or none that can be read and still holds. */
export async function recallPreflight(root: string, device: DeviceIdentity): Promise<KvmPreflight | undefined> {
  try {
    const kept = JSON.parse(await readFile(placeOf(root, device), 'utf8')) as Partial<KeptAnswer> | null
    if (kept?.version !== version || JSON.stringify(kept.device) !== JSON.stringify(device)) return undefined
    return isPreflight(kept.preflight) ? kept.preflight : undefined
  } catch {
    return undefined
  }
}

/** Keeps an answer, whole or not at all. A state root that cannot be written only costs the next process a test. */
export async function rememberPreflight(root: string, device: DeviceIdentity, preflight: KvmPreflight): Promise<void> {
  const path = placeOf(root, device)
  const beside = `${path}.${randomBytes(4).toString('hex')}`
  const kept: KeptAnswer = { version, device, testedAt: new Date().toISOString(), preflight }
  try {
    await makeFolder(dirname(path))
    await writeFile(beside, `${JSON.stringify(kept, null, 2)}\n`)
    await rename(beside, path)
  } catch {
    await rm(beside, { force: true }).catch(() => {})
  }
}

/** Not `recursive`: Node's never returns on file systems that say ENOENT for what cannot be made there, as /proc does. */
async function makeFolder(path: string): Promise<void> {
  const above = dirname(path)
  if (!existsSync(above)) await makeFolder(above)
  await mkdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
}

/** One file for a device and a user, whatever else changes: old answers are overwritten, not collected. */
function placeOf(root: string, { kvmPath, user }: DeviceIdentity): string {
  const name = createHash('sha256')
    .update(JSON.stringify([kvmPath, user]))
    .digest('hex')
    .slice(0, 16)
  return join(root, 'preflight', `kvm-${name}.json`)
}

const outcomes: readonly unknown[] = ['ok', 'failed', 'not-run']
// Only these are kept: see `hostPreflight`.
const verdicts: readonly unknown[] = ['native', 'emulated']

function isPreflight(value: Partial<KvmPreflight> | undefined): value is KvmPreflight {
  if (!value || !verdicts.includes(value.verdict)) return false
  return (
    Array.isArray(value.tiers) &&
    value.tiers.length > 0 &&
    value.tiers.every(
      (tier: unknown) =>
        typeof tier === 'object' &&
        tier !== null &&
        'id' in tier &&
        typeof tier.id === 'string' &&
        'detail' in tier &&
        typeof tier.detail === 'string' &&
        'outcome' in tier &&
        outcomes.includes(tier.outcome),
    )
  )
}
