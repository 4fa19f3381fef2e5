import { join } from 'node:path'
import type { HostMemory } from '@boxlab/probes'
import { textOrEmpty } from '../read-or-empty.ts'
import { kernelLogSince } from './kernel-log.ts'

/** What must be known from before a boot to explain its failure. */
export interface HostBefore {
  /** When it was looked at, in ns of the host's clock. */
  readonly atNs: number
  /** What the host, or the cgroups of this process, could give out then, in MiB. */
  readonly availableMib?: number
  /** Counts of kills for lack of memory by then, by the file that counts them. */
  readonly oomKills: ReadonlyMap<string, number>
}

const mib = 1024 * 1024

/**
 * Looks at the host's memory before a boot. Everything else is asked only after a failure, but a counter tells nothing
 * without its value from before, and what was available then is not known later. Reads a handful of files of /proc and
 * /sys: 0.2 to 0.5 ms, beside the 100 ms that an engine takes to start.
 */
export function hostBefore(): HostBefore {
  const cgroups = memoryCgroups()
  const free = [kibOf(textOrEmpty('/proc/meminfo'), 'MemAvailable'), ...cgroups.map(leftIn)]
  const known = free.filter((bytes) => bytes !== undefined)
  return {
    atNs: Number(process.hrtime.bigint()),
    ...(known.length > 0 && { availableMib: Math.floor(Math.min(...known) / mib) }),
    oomKills: countKills(cgroups),
  }
}

/** What the host says about its memory since then. The kernel's log is read only where `log` asks for it. */
export function hostSince(before: HostBefore, { log }: { readonly log: boolean }): HostMemory {
  const now = countKills(memoryCgroups())
  // A counter that is new, or that went back, belongs to another cgroup than before.
  const since = [...now].flatMap(([path, count]) => {
    const then = before.oomKills.get(path)
    return then === undefined || count < then ? [] : [count - then]
  })
  const kernelLog = log ? kernelLogSince(before.atNs) : undefined
  return {
    ...(before.availableMib !== undefined && { availableMib: before.availableMib }),
    ...(since.length > 0 && { oomKills: Math.max(...since) }),
    ...(kernelLog !== undefined && { kernelLog }),
  }
}

/**
 * `oom_kill` of /proc/vmstat (the whole host, also kills inside cgroups; Linux 4.13), of memory.events (cgroup v2, with
 * all below it) and of memory.oom_control (v1, of that one alone).
 */
function countKills(cgroups: readonly MemoryCgroup[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const path of ['/proc/vmstat', ...cgroups.map(({ folder, events }) => join(folder, events))]) {
    const count = /^oom_kill (\d+)$/m.exec(textOrEmpty(path))?.[1]
    if (count !== undefined) counts.set(path, Number(count))
  }
  return counts
}

interface MemoryCgroup {
  readonly folder: string
  readonly events: string
  readonly limit: string
  readonly usage: string
  /** The line of memory.stat with the cache that the kernel gives back first. */
  readonly cache: string
}

const version1 = {
  events: 'memory.oom_control',
  limit: 'memory.limit_in_bytes',
  usage: 'memory.usage_in_bytes',
  cache: 'total_inactive_file',
}
const version2 = { events: 'memory.events', limit: 'memory.max', usage: 'memory.current', cache: 'inactive_file' }

/** The memory cgroup of this process, whose child the engine is, and those above it as far as they can be seen. */
function memoryCgroups(): MemoryCgroup[] {
  // Lines of cgroups(7): `4:memory:/a/b` for v1, `0::/a/b` for v2. A host of both has memory in one of them.
  const groups = textOrEmpty('/proc/self/cgroup').split('\n')
  const mounts = textOrEmpty('/proc/self/mountinfo').split('\n')
  const one = groups.map((line) => /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/.exec(line)?.[1]).find(Boolean)
  if (one !== undefined) {
    const folders = foldersOf(one, mounts, / - cgroup \S+ (?:\S*,)?memory(?:,|$)/)
    return folders.map((folder) => ({ folder, ...version1 }))
  }
  const two = groups.map((line) => /^0::(.*)$/.exec(line)?.[1]).find(Boolean)
  const folders = two === undefined ? [] : foldersOf(two, mounts, / - cgroup2 /)
  return folders.map((folder) => ({ folder, ...version2 }))
}

/** Its folder and those above. Fields of mountinfo (proc(5)): the fourth is the root of the mount, the fifth its place. */
function foldersOf(path: string, mounts: readonly string[], filesystem: RegExp): string[] {
  const [, , , root = '/', place] = mounts.find((line) => filesystem.test(line))?.split(' ') ?? []
  if (place === undefined) return []
  const below = path.startsWith(root) ? path.slice(root === '/' ? 0 : root.length) : path
  const names = below.split('/').filter((name) => name !== '')
  return names.map((_, index) => join(place, ...names.slice(0, names.length - index)))
}

/** What is left until a cgroup's limit, in bytes; undefined without a limit. */
function leftIn({ folder, limit, usage, cache }: MemoryCgroup): number | undefined {
  const most = Number(textOrEmpty(join(folder, limit)) || Number.NaN)
  // `max` is no number; version 1 says the largest page-aligned one.
  if (!Number.isFinite(most) || most > Number.MAX_SAFE_INTEGER) return undefined
  const used = Number(textOrEmpty(join(folder, usage)))
  const given = new RegExp(`^${cache} (\\d+)$`, 'm').exec(textOrEmpty(join(folder, 'memory.stat')))?.[1]
  return Math.max(0, most - used + Number(given ?? 0))
}

function kibOf(meminfo: string, name: string): number | undefined {
  const kib = new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(meminfo)?.[1]
  return kib === undefined ? undefined : Number(kib) * 1024
}
