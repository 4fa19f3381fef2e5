import { describe, expect, it } from 'vitest'
import { readMemoryMap } from '../../src/index.ts'
import { access, config, fixture, memoryMapText, region, reportOf } from './traces.ts'

const flatView = (ranges: string): string =>
  `FlatView #0\n AS "memory", root: system\n AS "cpu-memory-0", root: system\n Root memory region: system\n${ranges}\nFlatView #1\n AS "I/O", root: io\n Root memory region: io\n  0000000000000040-0000000000000043 (prio 0, i/o): pit owner:{dev path=/machine/unattached/device[9]}\n`

describe('the memory map of a recorded q35', () => {
  const report = reportOf(fixture('q35-7.2.log'), { map: [memoryMapText('q35')] })

  it('tells four regions of one name apart', () => {
    const tables = report.regions.filter(({ name }) => name === 'msix-table')
    expect(tables.map(({ bdf, reads, writes, pointers }) => [bdf, reads, writes, pointers])).toEqual([
      ['00:02.0', 16, 44, 1],
      ['00:01.0', 8, 22, 1],
      ['00:03.0', 8, 22, 1],
      ['00:04.0', 8, 22, 1],
    ])
    expect(report.findings.map(({ name }) => name)).not.toContain('owner-unknown')
  })

  it('knows whose regions are that moved before it was taken', () => {
    // Of the blk device's registers 24 accesses are SeaBIOS's, before Linux had assigned the BAR that the map shows.
    expect(region(report, 'virtio-pci-common-virtio-blk')).toMatchObject({
      bdf: '00:01.0',
      device: '/machine/peripheral-anon/device[0]',
    })
    expect(region(report, 'ahci').bdf).toBe('00:1f.2')
  })

  it('gives unassigned ports no owner', () => {
    expect(region(report, 'io').device).toBeUndefined()
  })

  it('changes no count', () => {
    const without = reportOf(fixture('q35-7.2.log'))
    expect(report.phases).toEqual(without.phases)
    expect(report.pci).toEqual(without.pci)
  })
})

describe('the memory map of a recorded microvm', () => {
  const report = reportOf(fixture('microvm-ecam-7.2.log'), { map: [memoryMapText('microvm-pcie')] })

  it('tells both IOAPICs apart, and does not take the bridge’s window for a BAR', () => {
    const ioapics = report.regions.filter(({ name }) => name === 'ioapic').map(({ device }) => device)
    expect(new Set(ioapics)).toEqual(new Set(['/machine/ioapic', '/machine/unattached/device[3]']))
    const ecam = region(report, 'pcie-mmcfg-mmio')
    expect([ecam.device, ecam.bdf, ecam.kind]).toEqual(['/machine/unattached/device[29]', undefined, 'mmio'])
  })
})

describe('a memory map', () => {
  it('is read as HMP prints it, with ids where devices have them', () => {
    const map = flatView(
      '  00000000febf1000-00000000febf1fff (prio 1, i/o): vga ioports remapped owner:{dev id=screen0}\n' +
        '  00000000febf2000-00000000febf2fff (prio 1, i/o): msix-table @0000000000000800 owner:{dev path=/machine/peripheral/blk0} parent:{obj path=/machine}\n' +
        '  00000000febf3000-00000000febf3fff (prio 1, ram): pc.ram owner:{obj path=/objects/pc.ram}\r\n',
    )
    const { ranges } = readMemoryMap([map])!
    expect(ranges.map(({ name, owner, space, from, base }) => [name, owner, space, from, base])).toEqual([
      ['vga ioports remapped', 'screen0', 'mmio', 0xfebf1000, 0xfebf1000],
      ['msix-table', 'blk0', 'mmio', 0xfebf2000, 0xfebf1800],
      ['pit', '/machine/unattached/device[9]', 'pio', 0x40, 0x40],
    ])
  })

  it('gives regions of QEMU before 6.2 their names, and what comes with them', () => {
    const report = reportOf(access('read', '', 0x40, { mr: '0x1' }) + access('read', '', 0x3f8, { mr: '0x2' }), {
      map: [flatView('')],
    })
    expect(region(report, 'pit')).toMatchObject({
      named: 'map',
      polled: 'both',
      device: '/machine/unattached/device[9]',
    })
  })

  it('is joined with query-pci through base addresses and behind bridges', () => {
    const pci = {
      return: [
        {
          bus: 0,
          devices: [
            {
              bus: 0,
              slot: 2,
              function: 0,
              qdev_id: '',
              class_info: { desc: 'PCI bridge' },
              regions: [],
              pci_bridge: {
                devices: [
                  {
                    bus: 1,
                    slot: 0,
                    function: 0,
                    qdev_id: 'nic7',
                    class_info: {},
                    regions: [
                      { bar: 0, type: 'memory', address: 0xfebf2000, size: 0x1000 },
                      { bar: 1, type: 'io', address: -1, size: 64 },
                    ],
                  },
                ],
              },
            },
          ],
        },
      ],
    }
    const view = flatView(
      '  00000000febf2000-00000000febf2fff (prio 1, i/o): regs owner:{dev path=/machine/peripheral/nic7}\n',
    )
    const map = readMemoryMap([view, JSON.stringify(pci)])!
    expect(map.ownerOf('regs', 0xfebf2010)).toEqual({ device: 'nic7', bdf: '01:00.0' })
    expect(map.pci.map(({ bdf, id, bars }) => [bdf, id, bars.length])).toEqual([
      ['00:02.0', undefined, 0],
      ['01:00.0', 'nic7', 1],
    ])
  })

  it('does not say whose a region is that two devices have, where no address tells', () => {
    const view = flatView(
      '  00000000febf2000-00000000febf2fff (prio 1, i/o): regs owner:{dev id=a}\n  00000000febf3000-00000000febf3fff (prio 1, i/o): regs owner:{dev id=b}\n',
    )
    const map = readMemoryMap([view])!
    expect(map.ownerOf('regs', 0xfebf3004)?.device).toBe('b')
    expect(map.ownerOf('regs', 0x10)).toBeUndefined()
  })

  it('without flat views or owners says what to take', () => {
    const tree = 'address-space: memory\n  0000000000000000-ffffffffffffffff (prio 0, i/o): system\n'
    expect(readMemoryMap([tree])).toBeUndefined()
    const bare = flatView('  00000000febf2000-00000000febf2fff (prio 1, i/o): regs\n').replace(/ owner:\{.*\}/, '')
    const report = reportOf(access('read', 'regs', 0xfebf2000), { map: [bare] })
    expect(report.findings.find(({ name }) => name === 'map-incomplete')?.message).toContain('info mtree -f -o')
  })

  it('of an ECAM window finds configuration space without names', () => {
    const view = flatView(
      '  00000000b0000000-00000000bfffffff (prio 0, i/o): pcie-mmcfg-mmio owner:{dev path=/machine/q35}\n',
    )
    const text = `pci_cfg_read ICH9 SMB 31:3 @0x0 -> 0x8086\n${access('read', '', 0xb00fb000, { size: 4 })}`
    expect(reportOf(text, { map: [view] }).pci).toMatchObject({ byDevice: [{ bdf: '00:1f.3' }], ecam: { reads: 1 } })
    expect(
      reportOf(config('read', [0, 1, 0, 0], { event: 'x 00:01.0 @0x0 -> 0x1' }), { map: [view] }).pci?.cf8.reads,
    ).toBe(1)
  })
})
