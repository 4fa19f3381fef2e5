import { readFileSync } from 'node:fs'
import { zstdDecompressSync } from 'node:zlib'
import { mmio, type MmioResult } from '@boxlab/probes'
import { describe, expect, test } from 'vitest'
import { mmioMatchers } from '../../src/vitest/index.ts'

expect.extend(mmioMatchers)

const access = (direction: 'read' | 'write', region: string, address: number, value = 0, mr = '0x1'): string =>
  `memory_region_ops_${direction} cpu 0 mr ${mr} addr 0x${address.toString(16)} value 0x${value.toString(16)} size 1${region && ` name '${region}'`}\n`

const printed = (text: string): string =>
  Array.from(new TextEncoder().encode(text), (byte) => access('write', 'serial', 0x3f8, byte)).join('')

const TRACE = `${access('read', 'pit', 0x40).repeat(3)}${access('write', 'acpi-tmr', 0x608)}${access('read', 'acpi-tmr', 0x608)}
pci_cfg_read rng 00:03.0 @0x0 -> 0x1af4
${access('read', 'pcie-mmcfg-mmio', 0xb0018000)}${access('read', 'pcie-mmcfg-mmio', 0xb0020000, 0xff)}
${access('read', 'msix-table', 0xfebfb000, 0, '0x2')}${access('read', 'msix-table', 0xfebfc000, 0, '0x3').repeat(2)}
${printed('Linux version 6.1\n')}${access('read', 'rtc', 0x71).repeat(2)}`

const MAP = `FlatView #0
 AS "memory", root: system
  00000000febfb000-00000000febfb01f (prio 0, i/o): msix-table owner:{dev id=blk0}
  00000000febfc000-00000000febfc01f (prio 0, i/o): msix-table owner:{dev id=nic0}
`

const result = mmio(TRACE)

/** How a matcher refuses, in its own words. */
async function refusal(assertion: Promise<unknown>): Promise<string> {
  return assertion.then(
    () => 'it passed',
    (error: unknown) => (error as Error).message,
  )
}

const RECORDED = new URL('../../../probes/test/qemu/fixtures/q35-7.2-stable.log.zst', import.meta.url)

test('what the documentation shows holds of a real boot', async () => {
  const boot = mmio(zstdDecompressSync(readFileSync(RECORDED)))
  // #region documented
  await expect(boot).toHaveMmio({ config: 'virtio-blk-pci', reads: 287, writes: 57 })
  await expect(boot).toHaveMmio({ config: 'absent', accesses: { max: 9000 } })
  await expect(boot).toHaveMmio({ region: 'serial', phase: 'initcalls', writes: { max: 13_000 } })
  await expect(boot).not.toHaveMmio({ region: 'virtio-pci-notify-virtio-blk' })
  await expect(expect(boot).toHaveMmio({ region: 'hpet', reads: 3609 })).rejects.toThrow('hpet is polled')
  // #endregion
})

describe('toHaveMmio', () => {
  test('holds exact counts and bands of a region', async () => {
    await expect(result).toHaveMmio({ region: 'rtc', reads: 2, writes: 0, bytes: 2 })
    await expect(result).toHaveMmio({ region: 'rtc', accesses: { min: 2, max: 5 } })
    await expect(result).not.toHaveMmio({ region: 'rtc', reads: 3 })
    expect(await refusal(expect(result).toHaveMmio({ region: 'rtc', reads: { max: 1 } }))).toBe(
      'rtc had 2 reads, and at most 1 are asked for (n=1)',
    )
  })

  test('counts in a phase', async () => {
    await expect(result).toHaveMmio({ region: 'rtc', phase: 'early', reads: 2 })
    await expect(result).toHaveMmio({ region: 'rtc', phase: 'firmware', reads: 0 })
    await expect(result).toHaveMmio({ config: 'rng', phase: 'firmware', reads: 1, writes: 0 })
    expect(await refusal(expect(result).not.toHaveMmio({ region: 'rtc', phase: 'userspace', reads: 1 }))).toBe(
      'the trace has no phase userspace; it has firmware, early',
    )
  })

  test('holds counts of configuration space, of absent functions too', async () => {
    await expect(result).toHaveMmio({ config: '00:03.0', reads: 1 })
    await expect(result).toHaveMmio({ config: 'rng', accesses: 1 })
    await expect(result).toHaveMmio({ config: 'absent', reads: 1, writes: 0 })
  })

  test('refuses an exact count of what is polled, in the direction that is, behind `not` too', async () => {
    expect(await refusal(expect(result).toHaveMmio({ region: 'pit', reads: 3 }))).toBe(
      'pit is polled (reads and writes), so its count is another one in the next boot: ask for a band, such as { max: 5000 }',
    )
    expect(await refusal(expect(result).not.toHaveMmio({ region: 'pit', writes: 7 }))).toContain('is polled')
    expect(await refusal(expect(result).toHaveMmio({ region: 'pit', reads: { min: 3, max: 3 } }))).toContain(
      'is polled',
    )
    await expect(result).toHaveMmio({ region: 'pit', reads: { max: 5000 } })
    await expect(result).toHaveMmio({ region: 'acpi-tmr', writes: 1 })
    expect(await refusal(expect(result).toHaveMmio({ region: 'acpi-tmr', accesses: 2 }))).toContain('is polled (reads)')
  })

  test('tells the devices of one name apart where a memory map does', async () => {
    const mapped = mmio(TRACE, { map: [MAP] })
    await expect(mapped).toHaveMmio({ region: 'msix-table', device: 'nic0', reads: 2 })
    await expect(mapped).toHaveMmio({ region: 'msix-table', reads: 3 })
    expect(await refusal(expect(result).not.toHaveMmio({ region: 'msix-table', device: 'nic0', reads: 2 }))).toContain(
      'give a memory map of the same boot',
    )
  })

  test('asks whether there is an access at all, and takes no count of one that is not there', async () => {
    await expect(result).toHaveMmio({ region: 'rtc' })
    await expect(result).not.toHaveMmio({ region: 'virtio-pci-notify-virtio-blk' })
    expect(await refusal(expect(result).not.toHaveMmio({ region: 'rtcc', reads: 2 }))).toMatch(
      /there is no access to rtcc to count; .* There are: serial, /,
    )
  })

  test('throws where nothing of it was traced', async () => {
    const onlyConfig = mmio('pci_cfg_read rng 00:03.0 @0x0 -> 0x1af4\n')
    expect(await refusal(expect(onlyConfig).not.toHaveMmio({ region: 'rtc' }))).toContain('were not traced')
    expect(await refusal(expect(onlyConfig).not.toHaveMmio({ config: 'absent', reads: 1 }))).toContain('is not known')
    const onlyReads = mmio(access('read', 'rtc', 0x71))
    expect(await refusal(expect(onlyReads).not.toHaveMmio({ region: 'rtc', writes: 1 }))).toContain('not one write')
    expect(await refusal(expect(onlyReads).not.toHaveMmio({ config: 'rng' }))).toContain(
      'configuration space were not traced',
    )
    const nameless = mmio(access('read', '', 0x71) + access('write', '', 0x70))
    expect(await refusal(expect(nameless).not.toHaveMmio({ region: 'rtc' }))).toContain('regions without names')
  })

  test('takes an answer, and nothing else', async () => {
    expect(await refusal(expect(mmio('')).not.toHaveMmio({ region: 'rtc' }))).toContain('the trace is empty')
    expect(await refusal(expect({} as MmioResult).not.toHaveMmio({ region: 'rtc' }))).toContain(
      'takes a box or a result',
    )
  })
})
