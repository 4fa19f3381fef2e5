import { closeSync, openSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { MmioOptions, MmioReport } from '@boxlab/probes'
import { describe, expect, test } from 'vitest'
import { bootBox, type BoxOptions, Wait } from '../src/index.ts'
import { kvmDevice } from '../src/preflight/kvm.ts'
import { readMmio } from '../src/reports/record-mmio.ts'
import { mmioMatchers } from '../src/vitest/index.ts'
import { bootDisk } from './fixtures/boot-sector.ts'
import { temporaryFolder } from './images/temporary-folder.ts'

expect.extend(mmioMatchers)

const EVENTS = ['memory_region_ops_read', 'memory_region_ops_write', 'pci_cfg_read', 'pci_cfg_write', 'kvm_run_exit']

/** Boots a box whose engine traces, ends it, and reads the trace. */
async function traced(
  options: BoxOptions,
  read: MmioOptions = {},
): Promise<{ readonly report: MmioReport; readonly proved: string | undefined }> {
  const dir = join(await temporaryFolder(), 'record')
  const box = await bootBox({ ...options, record: { dir, keep: 'always', trace: { events: EVENTS } } })
  const proved = box.info().accelerator?.proved
  await box.stop()
  const result = await readMmio([dir], read)
  if (!result.found) throw new Error(result.message)
  return { report: result, proved }
}

/** Where the device opens, a firmware box has KVM, on hosts that emulate guest kernels too. */
function firmwareAccelerator(): 'kvm' | 'tcg' {
  try {
    closeSync(openSync(kvmDevice(), 'r+'))
    return 'kvm'
  } catch {
    return 'tcg'
  }
}

describe('the accesses of a bare box', () => {
  test.for([
    ['q35', ['00:00.0 mch', 'virtio-rng-pci']],
    ['pc', ['00:00.0 i440FX', 'virtio-rng-pci']],
    ['microvm', []],
  ] as const)('on %s are traced, read without a rest, and cut into phases', async ([machine, devices]) => {
    const { report } = await traced({ machine, accel: 'tcg' })
    expect(report.diagnostics.unparsed).toBe(0)
    expect(report.phases.map(({ name }) => name)).toEqual(['firmware', 'early', 'initcalls', 'userspace'])
    expect(report.firstUs).toBeGreaterThan(1.7e15)
    await expect(report).toHaveMmio({ region: 'serial', phase: 'initcalls', writes: { min: 1000 } })
    const names = (report.pci?.byDevice ?? []).map(({ bdf, device }) => `${bdf} ${device}`)
    expect(devices.filter((device) => !names.some((name) => name.endsWith(device)))).toEqual([])
    // microvm has no PCI: every access was traced, and none was to configuration space.
    expect(report.pci?.byDevice.length === 0).toBe(machine === 'microvm')
  })
})

describe('a box that is traced', () => {
  test('says itself whose its accesses are, by the ids of its devices', async () => {
    await using box = await bootBox({ accel: 'tcg', record: { trace: true } })
    const report = await box.mmio()
    const owners = report.found ? report.regions.map(({ device = '' }) => device.split(' ')[0]) : []
    expect(owners).toEqual(expect.arrayContaining(['serial0', 'rng0']))
    await expect(box).toHaveMmio({ region: 'serial', phase: 'initcalls', writes: { min: 1000 } })
  })

  test('without a trace in its record says how to have one', async () => {
    await using box = await bootBox({ accel: 'tcg' })
    await expect(box.mmio()).rejects.toThrow('boot it with `record: { trace: true')
  })
})

describe('a boot sector that reads configuration space', () => {
  // The sector prints `go`, reads, and prints `done`, with interrupts off: nothing else happens in between.
  const cuts = [
    { name: 'reads', after: 'go\r\n' },
    { name: 'after', after: 'done' },
  ]

  test.for([0, 1, 100, 250])('%i times has exactly these accesses, and an exit for each', async (reads) => {
    const path = join(await temporaryFolder(), 'disk.img')
    await writeFile(path, bootDisk('go\r\n', reads))
    const accel = firmwareAccelerator()
    // A nested KVM may refuse registers that `-cpu host` sets.
    const options = {
      boot: 'firmware',
      accel,
      cpuModel: 'qemu64',
      disks: [{ path }],
      waitFor: Wait.forConsole('done'),
    } as const
    const { report, proved } = await traced(options, { cuts })
    expect(proved).toBe(accel)
    const phase = report.phases.find(({ name }) => name === 'reads')
    // The line feed of `go`, an index and a data access for each read, and `don`: the byte that ends a phase is of the next.
    expect(phase).toMatchObject({
      accesses: 1 + 2 * reads + 3,
      config: reads,
      configAbsent: 0,
      consoleBytes: 4,
      polled: 0,
    })
    expect(phase?.exits).toBe(accel === 'kvm' ? 1 + 2 * reads + 3 : undefined)
    await expect(report).toHaveMmio({ config: '00:00.0', phase: 'reads', reads, writes: 0 })
  })
})
