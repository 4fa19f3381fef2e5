import { execFile } from 'node:child_process'
import { chmod, mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { type DoctorReport, renderDoctor } from '../../src/preflight/index.ts'
import { stateRoot } from '../../src/state-root.ts'
import { type Ran, type RunOptions, runBoxlab } from '../cli/run-boxlab.ts'
import { temporaryFolder } from '../images/temporary-folder.ts'

// Each test starts several processes.
vi.setConfig({ testTimeout: 60_000 })

const run = promisify(execFile)
let home = ''

beforeEach(async () => {
  home = await temporaryFolder()
  // The kernels of this host, so that the answers are about KVM and not about a cold cache.
  await mkdir(home, { recursive: true })
  await symlink(join(stateRoot(), 'images'), join(home, 'images'))
})

function doctor(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return runBoxlab(['doctor', ...args], { ...options, env: { BOXLAB_HOME: home, ...options.env } })
}

async function report(args: readonly string[], options: RunOptions = {}): Promise<DoctorReport> {
  const { code, stdout } = await doctor(['--json', ...args], options)
  const parsed = JSON.parse(stdout) as DoctorReport
  expect(code).toBe(parsed.exitCode)
  return parsed
}

function findingOf({ findings }: DoctorReport, id: string): DoctorReport['findings'][number] | undefined {
  return findings.find((finding) => finding.id === id)
}

/** A KVM device that may not be opened; root may open anything, until it gives the capabilities for that away. */
async function unreadableDevice(): Promise<RunOptions> {
  const path = join(await temporaryFolder(), 'kvm')
  // Where no device may be made a file does: it is refused before anybody asks what it is.
  await run('mknod', ['-m', '000', path, 'c', '10', '232']).catch(() => writeFile(path, '', { mode: 0o000 }))
  const without = ['setpriv', '--bounding-set=-dac_override,-dac_read_search']
  return { env: { BOXLAB_KVM: path }, ...(process.geteuid?.() === 0 && { before: without }) }
}

/** What a host lacks by the verdict on its KVM. */
const without = {
  native: {},
  emulated: { linux: 'tcg', firmware: 'tcg', longMode: 'limited', slow: 1 },
  unusable: { linux: 'tcg', firmware: 'tcg', longMode: 'not-run', slow: 1 },
} as const

describe('/dev/kvm as it is, hidden and unreadable', () => {
  const hidden: RunOptions = { env: { BOXLAB_KVM: '/nonexistent/kvm' } }

  test('are three answers', async () => {
    const asItIs = await report([])
    const isHidden = await report([], hidden)
    const isUnreadable = await report([], await unreadableDevice())
    expect(findingOf(isHidden, 'kvm-open')).toMatchObject({
      outcome: 'failed',
      detail: expect.stringMatching(/ENOENT/),
      remedy: expect.stringMatching(/modprobe/),
    })
    expect(findingOf(isUnreadable, 'kvm-open')).toMatchObject({
      outcome: 'failed',
      detail: expect.stringMatching(/EACCES/),
      remedy: expect.not.stringMatching(/modprobe/),
    })
    for (const withoutKvm of [isHidden, isUnreadable]) {
      expect(withoutKvm).toMatchObject({
        verdict: 'limited',
        exitCode: 1,
        kvm: { verdict: 'unusable' },
        boxes: { linux: { accel: 'tcg' }, firmware: { accel: 'tcg' } },
      })
      expect(findingOf(withoutKvm, 'kvm-long-mode')).toMatchObject({ outcome: 'not-run' })
    }
    // What KVM can do on the host of this test is for the host to say; a verdict that is missing fits none.
    const { kvm, boxes, limits } = asItIs
    const slow = limits.filter((limit) => limit.includes('TCG')).length
    expect({ linux: 'kvm', firmware: 'kvm', longMode: 'ok', slow: 0, ...without[kvm.verdict ?? 'unusable'] }).toEqual({
      linux: boxes && 'accel' in boxes.linux && boxes.linux.accel,
      firmware: boxes && 'accel' in boxes.firmware && boxes.firmware.accel,
      longMode: findingOf(asItIs, 'kvm-long-mode')?.outcome,
      slow,
    })
  })

  test('exit with 0, 2 and 2 where a run requires what emulating KVM still gives', async () => {
    const asItIs = await report(['--require', 'firmware-kvm'])
    expect(asItIs.exitCode).toBe(asItIs.kvm.verdict === 'unusable' ? 2 : 0)
    expect((await doctor(['--require', 'firmware-kvm'], hidden)).code).toBe(2)
    expect((await doctor(['--require', 'firmware-kvm'], await unreadableDevice())).code).toBe(2)
  })

  test('exit with 0 where a run requires only that boxes boot', async () => {
    expect((await doctor(['--require', 'boot'])).code).toBe(0)
    expect((await doctor(['--require', 'boot'], hidden)).code).toBe(0)
  })

  test('require kvm: only a host that runs kernels on its processor is ready', async () => {
    const asItIs = await report(['--require', 'kvm'])
    expect(asItIs.exitCode).toBe(asItIs.kvm.verdict === 'native' ? 0 : 2)
    expect(await report(['--require', 'kvm'], hidden)).toMatchObject({
      exitCode: 2,
      blockers: [expect.stringMatching(/^`kvm` is required: .*ENOENT/)],
    })
  })
})

describe('a host that can run no box', () => {
  test('has no QEMU', async () => {
    const { code, stdout } = await doctor([], { env: { PATH: home } })
    expect(code).toBe(2)
    expect(stdout).toMatch(/failed +QEMU +qemu-system-x86_64 is not on PATH/)
    expect(stdout).toMatch(/verdict: not usable \(exit code 2/)
  })

  test('has no native runtime, and KVM then was not tested', async () => {
    const found = await report([], { env: { BOXLAB_NATIVE: '/nonexistent.node' } })
    expect(found).toMatchObject({
      exitCode: 2,
      blockers: [expect.stringMatching(/native runtime: .*\/nonexistent\.node/)],
    })
    expect(findingOf(found, 'kvm-open')).toMatchObject({ outcome: 'not-run' })
    expect(found).not.toHaveProperty('boxes')
  })

  test('has an addon that is none', async () => {
    const path = join(await temporaryFolder(), 'other.node')
    await writeFile(path, 'this is not a library')
    expect((await report([], { env: { BOXLAB_NATIVE: path } })).exitCode).toBe(2)
  })

  test('has no place for records', async () => {
    const found = await report([], { env: { BOXLAB_HOME: '/proc/boxlab' } })
    expect(found).toMatchObject({ exitCode: 2, blockers: [expect.stringMatching(/state root: .*cannot be written/)] })
  })
})

describe('the report', () => {
  test('is versioned data without null, and says how long each look took', async () => {
    const { stdout } = await doctor(['--json'])
    expect(stdout).not.toMatch(/: null/)
    const found = JSON.parse(stdout) as DoctorReport
    expect(found).toMatchObject({ format: 'boxlab-doctor', version: 1, required: [] })
    expect(new Set(found.findings.map(({ id }) => id)).size).toBe(found.findings.length)
    expect(found.findings.every(({ durationMs }) => durationMs >= 0)).toBe(true)
    const failed = found.findings.filter(({ outcome, level }) => outcome === 'failed' && level !== 'informational')
    expect(failed.filter(({ remedy }) => remedy === undefined)).toEqual([])
    const fine = found.findings.filter(({ outcome }) => outcome === 'ok')
    expect(fine.filter(({ limit }) => limit !== undefined)).toEqual([])
  })

  test('as text has no colours in a pipe, and no line that is wider than asked unless a word is', async () => {
    const { stdout } = await doctor([])
    expect(stdout).not.toContain('\u001b')
    const found = await report([])
    for (const width of [60, 80, 131]) {
      const long = renderDoctor(found, { width })
        .split('\n')
        .filter(
          (line) =>
            line.length > width &&
            line
              .trim()
              .split(' ')
              .every((word) => word.length < width / 3),
        )
      expect(long).toEqual([])
    }
    expect(renderDoctor(found, { color: true })).toContain('\u001b[32mok')
  })

  test('leaves only the answer about KVM in the state root', async () => {
    await report([])
    expect((await readdir(home)).filter((name) => name !== 'images' && name !== 'preflight')).toEqual([])
  })

  test('is refused for a requirement that does not exist, in one sentence', async () => {
    const { code, stdout, stderr } = await doctor(['--require', 'docker'])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^boxlab: .*'docker' is invalid\. It must be one of boot, kvm,.*\n$/)
  })
})

test('a state root that only its reader may not write is reported with its reason', async () => {
  const folder = join(home, 'closed')
  await mkdir(folder)
  await chmod(folder, 0o555)
  const before =
    process.geteuid?.() === 0 ? { before: ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] } : {}
  const found = await report([], { ...before, env: { BOXLAB_HOME: folder } })
  expect(findingOf(found, 'state')).toMatchObject({ outcome: 'failed', detail: expect.stringMatching(/EACCES/) })
})
