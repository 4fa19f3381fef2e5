import { access, mkdtemp, readFile, rmdir, statfs } from 'node:fs/promises'
import { availableParallelism, loadavg } from 'node:os'
import { dirname, join } from 'node:path'
import { systemCode } from '../images/errors.ts'
import { type Finding, look } from './finding.ts'

const MiB = 1 << 20

/** Whether this is a system that the runtime is made for. */
export function platformFinding(platform: string = process.platform, arch: string = process.arch): Promise<Finding> {
  return look({ id: 'platform', title: 'platform', level: 'needed' }, () => {
    const detail = `${platform} on ${arch}, Node ${process.versions.node}.`
    if (platform === 'linux' && arch === 'x64') return { outcome: 'ok', detail }
    return { outcome: 'failed', detail, remedy: 'Run boxlab on Linux on x86-64.' }
  })
}

/** Whether a box of the default size (512 MiB and its engine) has room. */
export function memoryFinding(availableBytes: number = process.availableMemory()): Promise<Finding> {
  return look({ id: 'memory', title: 'memory', level: 'wanted' }, () => {
    const availableMib = Math.floor(availableBytes / MiB)
    const detail = `${availableMib} MiB are free for this process.`
    const facts = { availableMib }
    if (availableMib >= 1024) return { outcome: 'ok', detail, facts }
    const few = availableMib < 640
    const limit = few ? 'a box of the default 512 MiB does not fit' : 'only one box of the default 512 MiB fits'
    const remedy = 'Free memory, raise the limit of the container, or give boxes a smaller `memoryMib`.'
    return { outcome: few ? 'failed' : 'limited', detail, limit, remedy, facts }
  })
}

/** Whether a box and the test that watches it can run at the same time. */
export function cpusFinding(cpus: number = availableParallelism()): Promise<Finding> {
  return look({ id: 'cpus', title: 'CPUs', level: 'wanted' }, () => {
    const load = loadavg()[0] ?? 0
    const detail = `${cpus} ${cpus === 1 ? 'CPU' : 'CPUs'}, load ${load.toFixed(1)}.`
    const facts = { cpus, loadavg1: load }
    if (cpus > 1) return { outcome: 'ok', detail, facts }
    const limit = 'a box shares the only CPU with what watches it: its times are noisy'
    return { outcome: 'limited', detail, limit, remedy: 'Give the machine or container two CPUs.', facts }
  })
}

/** Whether images and records can be kept. */
export function stateFinding(root: string): Promise<Finding> {
  return look({ id: 'state', title: 'state root', level: 'needed' }, async () => {
    const place = await nearestFolder(root)
    try {
      // Only a real folder tells: permissions say nothing of read-only and special file systems.
      await rmdir(await mkdtemp(join(place, '.boxlab-doctor-')))
    } catch (error) {
      const detail = `${place} cannot be written (${systemCode(error) ?? String(error)}).`
      return { outcome: 'failed', detail, remedy: 'Set BOXLAB_HOME to a folder that you can write to.' }
    }
    const { bavail, bsize } = await statfs(place)
    const freeMib = Math.floor((bavail * bsize) / MiB)
    const detail = `${root} can be written and has ${freeMib} MiB free.`
    const facts = { root, freeMib }
    if (freeMib >= 1024) return { outcome: 'ok', detail, facts }
    const limit = 'the disk is nearly full: kernels, images and records may not fit'
    const remedy = `Free space on the disk of ${place}, or set BOXLAB_HOME to a folder on another.`
    return { outcome: freeMib < 64 ? 'failed' : 'limited', detail, limit, remedy, facts }
  })
}

/** The folder itself, or the nearest above it that is there: a first run makes the rest. */
async function nearestFolder(folder: string): Promise<string> {
  const missing = await access(folder).then(
    () => false,
    (error: unknown) => systemCode(error) === 'ENOENT',
  )
  return missing && dirname(folder) !== folder ? nearestFolder(dirname(folder)) : folder
}

/** What the time stamp counter is good for: under TCG the guest is told its frequency. */
export function clockFinding(): Promise<Finding> {
  return look({ id: 'clock', title: 'clock', level: 'informational' }, async () => {
    const source = '/sys/devices/system/clocksource/clocksource0/current_clocksource'
    const [cpuinfo, clocksource] = await Promise.all([readFile('/proc/cpuinfo', 'latin1'), readFile(source, 'latin1')])
    const flags = /^flags\s*:(.*)$/m.exec(cpuinfo)?.[1]?.split(' ') ?? []
    const missing = ['constant_tsc', 'nonstop_tsc'].filter((flag) => !flags.includes(flag))
    const detail = `The clock source is ${clocksource.trim()}`
    if (missing.length === 0) return { outcome: 'ok', detail: `${detail}; the TSC is constant and never stops.` }
    return {
      outcome: 'limited',
      detail: `${detail}; the TSC has no ${missing.join(' and no ')}, so guest clocks under TCG may come out as invalid.`,
    }
  })
}
