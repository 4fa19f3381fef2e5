import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import type { KvmPreflight } from '@boxlab/native'
import { hostPreflight, kvmDevice } from '../../src/preflight/kvm.ts'
import {
  identifyDevice,
  recallPreflight,
  rememberPreflight,
  type DeviceIdentity,
} from '../../src/preflight/kvm-memory.ts'
import { temporaryFolder } from '../images/temporary-folder.ts'

// Each test starts several processes.
vi.setConfig({ testTimeout: 60_000 })

const run = promisify(execFile)
const source = join(import.meta.dirname, '../../src/preflight/kvm.ts')
const script = `import { hostPreflight } from ${JSON.stringify(source)}
console.log(JSON.stringify(await hostPreflight({ kvmPath: process.argv[1], cacheRoot: process.argv[2] })))`

/** What another process answers. */
async function asked(kvmPath: string, root: string): Promise<KvmPreflight> {
  const args = ['-C', '@boxlab/source', '--input-type=module-typescript', '-e', script, '--', kvmPath, root]
  const { stdout } = await run(process.execPath, args, { cwd: import.meta.dirname })
  return JSON.parse(stdout) as KvmPreflight
}

/** A device that this process may open, whatever this host has: only its identity matters here. */
const device: DeviceIdentity = { kvmPath: '/dev/kvm', bootId: 'b1', kernel: '6.1', node: '1:2:3', user: '0:0' }
const answer: KvmPreflight = {
  tiers: [{ id: 'open', outcome: 'ok', detail: 'It opens.', remedy: null, durationMs: 1 }],
  verdict: 'native',
  insnEmulation: null,
}

describe('what KVM can do here', () => {
  test('is tested once a process and answered alike by the next', async () => {
    const root = await temporaryFolder()
    const here = await hostPreflight({ cacheRoot: root })
    expect(hostPreflight({ cacheRoot: root })).toBe(hostPreflight({ cacheRoot: root }))
    const there = await asked(kvmDevice(), root)
    expect(there.verdict).toBe(here.verdict)
    const kept = await readdir(join(root, 'preflight')).catch(() => [])
    // An answer that may change at any time is not kept; see hostPreflight.
    expect(kept).toHaveLength(here.verdict === 'unusable' ? 0 : 1)
    // To the nanosecond the same times: the other process did not test again, unless KVM cannot be used.
    const tested = there.tiers.some(({ durationMs }, index) => durationMs !== here.tiers[index]?.durationMs)
    expect(tested).toBe(here.verdict === 'unusable')
  })

  test('is tested again where the kept file is broken', async () => {
    const root = await temporaryFolder()
    const { verdict } = await asked(kvmDevice(), root)
    const folder = join(root, 'preflight')
    const names = await readdir(folder).catch(() => [])
    expect(names).toHaveLength(verdict === 'unusable' ? 0 : 1)
    const [name] = names
    if (name === undefined) return
    for (const broken of ['', 'null', '{"version":1}', '{"version":1,"device":{},"preflight":{"verdict":"native"}}']) {
      await writeFile(join(folder, name), broken)
      expect((await asked(kvmDevice(), root)).verdict).toBe(verdict)
      expect(JSON.parse(await readFile(join(folder, name), 'utf8'))).toMatchObject({
        version: 1,
        preflight: { verdict },
      })
    }
  })

  test('cannot be said of a device that is not there, and nothing is kept of it', async () => {
    const root = await temporaryFolder()
    const { verdict, tiers } = await hostPreflight({ kvmPath: join(root, 'none'), cacheRoot: root })
    expect(verdict).toBe('unusable')
    expect(tiers[0]).toMatchObject({ id: 'open', outcome: 'failed', detail: expect.stringMatching(/ENOENT/) })
    expect(await readdir(root)).toEqual([])
  })

  test('is said also where nothing can be kept', async () => {
    const root = await temporaryFolder()
    await writeFile(join(root, 'file'), '')
    await expect(hostPreflight({ cacheRoot: join(root, 'file'), refresh: true })).resolves.toHaveProperty('verdict')
  })
})

describe('a kept answer', () => {
  test('holds for the same host, kernel, device and user', async () => {
    const root = await temporaryFolder()
    await rememberPreflight(root, device, answer)
    expect(await recallPreflight(root, device)).toEqual(answer)
  })

  test.for([
    ['boot of the host', { bootId: 'b2' }],
    ['kernel', { kernel: '6.2' }],
    ['device node', { node: '1:2:4' }],
    ['user', { user: '1000:1000' }],
    ['device path', { kvmPath: '/dev/kvm2' }],
  ] as const)('does not hold for another %s', async ([, change]) => {
    const root = await temporaryFolder()
    await rememberPreflight(root, device, answer)
    expect(await recallPreflight(root, { ...device, ...change })).toBeUndefined()
  })

  test('is overwritten, so that hosts that boot often do not collect them', async () => {
    const root = await temporaryFolder()
    for (const bootId of ['b1', 'b2', 'b3']) await rememberPreflight(root, { ...device, bootId }, answer)
    expect(await readdir(join(root, 'preflight'))).toHaveLength(1)
  })

  test.for([{ ...answer, verdict: 'fine' }, { ...answer, tiers: [] }, { ...answer, tiers: [{ id: 'open' }] }, {}])(
    'is not taken from a file that holds something else: %j',
    async (other) => {
      const root = await temporaryFolder()
      await rememberPreflight(root, device, other as KvmPreflight)
      expect(await recallPreflight(root, device)).toBeUndefined()
    },
  )
})

test('a device is known by its node, and one that cannot be opened is not known at all', async () => {
  const root = await temporaryFolder()
  await writeFile(join(root, 'device'), '')
  await mkdir(join(root, 'folder'))
  expect(await identifyDevice(join(root, 'device'))).toMatchObject({ kvmPath: join(root, 'device') })
  expect(await identifyDevice(join(root, 'folder'))).toBeUndefined()
  expect(await identifyDevice(join(root, 'none'))).toBeUndefined()
})

test('BOXLAB_KVM names the device', () => {
  expect(kvmDevice({})).toBe('/dev/kvm')
  expect(kvmDevice({ BOXLAB_KVM: '' })).toBe('/dev/kvm')
  expect(kvmDevice({ BOXLAB_KVM: '/run/kvm' })).toBe('/run/kvm')
})
