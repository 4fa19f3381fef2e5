import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { MmioReport, ReadsWrites } from '../../src/index.ts'
import { fixture, GOLDEN, type GoldenTrace, memoryMapText, region, reportOf } from './traces.ts'

/** Counts under the names of golden.json: `serial R`. Rows of one name are summed up, and a count of 0 has no name. */
function named(rows: readonly (ReadsWrites & { readonly name: string })[]): { readonly [name: string]: number } {
  const counts: { [name: string]: number } = {}
  for (const { name, reads, writes } of rows) {
    if (reads > 0) counts[`${name} R`] = (counts[`${name} R`] ?? 0) + reads
    if (writes > 0) counts[`${name} W`] = (counts[`${name} W`] ?? 0) + writes
  }
  return counts
}

const both = ({ reads, writes }: ReadsWrites): number => reads + writes

const reports = new Map(Object.keys(GOLDEN).map((trace) => [trace, reportOf(fixture(trace))]))
const goldenWith = (figure: keyof GoldenTrace): [string, GoldenTrace][] =>
  Object.entries(GOLDEN).filter(([, golden]) => golden[figure] !== undefined)

it.each(goldenWith('lines'))('%s has the golden lines, events and threads, and leaves no line out', (trace, golden) => {
  const report = reports.get(trace)!
  expect(report.lines).toBe(golden.lines)
  const all = Object.values(report.events).reduce((sum, count) => sum + count, 0)
  expect(typeof golden.events === 'number' ? all : report.events).toEqual(golden.events)
  expect(report.threads ?? 0).toBe(golden.threads ?? 0)
  expect(report.diagnostics.unparsed).toBe(0)
})

it.each(goldenWith('regions'))('%s has the golden accesses of every region', (trace, golden) => {
  const report = reports.get(trace)!
  expect(named(report.regions)).toEqual(golden.regions)
  expect(report.phases.reduce((sum, { accesses }) => sum + accesses, 0)).toBe(report.accesses)
})

it.each(goldenWith('cf8_accesses'))('%s has the golden accesses to configuration space', (trace, golden) => {
  const { pci } = reports.get(trace)!
  const devices = pci!.byDevice.map(({ device, bdf, ...counts }) => ({ name: `${device} ${bdf}`, ...counts }))
  expect(named(devices)).toEqual(golden.pci_cfg_by_device)
  expect(both(pci!.cf8)).toBe(golden.cf8_accesses)
  expect(both(pci!.absent!.cf8)).toBe(golden.cf8_to_absent)
  expect(both(pci!.ecam!)).toBe(golden.ecam_accesses)
  expect(both(pci!.absent!.ecam)).toBe(golden.ecam_to_absent)
  for (const { reads, writes, registers, byPhase } of pci!.byDevice) {
    expect(Object.values(registers).reduce((sum, group) => sum + both(group), 0)).toBe(reads + writes)
    expect(byPhase.reduce((sum, phase) => sum + both(phase), 0)).toBe(reads + writes)
  }
})

it.each(goldenWith('console_bytes_in_trace'))('%s has the golden console bytes', (trace, golden) => {
  expect(reports.get(trace)!.console?.bytes ?? 0).toBe(golden.console_bytes_in_trace)
})

it.each(goldenWith('phases'))('%s has the golden phases', (trace, golden) => {
  const phases = reports.get(trace)!.phases.map(({ name, accesses }) => [name, accesses])
  expect(Object.fromEntries(phases)).toEqual(golden.phases)
})

describe('the bus scan of q35', () => {
  it('is rebuilt from 0xcf8 alike with and without QEMU’s `empty` events', () => {
    for (const trace of ['q35-7.2.log', 'q35-10.0.log', 'q35-11.1.log']) {
      const { pci } = reports.get(trace)!
      expect(pci?.absent).toMatchObject({ functions: 8191, buses: 256, registers: { '0x0': 8291, '0xa': 27 } })
    }
  })

  it('is the same when pci_cfg was not traced: a function is there if it ever answered', () => {
    const text = new TextDecoder().decode(fixture('q35-7.2-stable.log'))
    const report = reportOf(text.replaceAll(/^pci_cfg_.*\n/gm, ''))
    expect(report.pci).toMatchObject({ source: 'accesses', absent: { reads: 8320, functions: 8191 } })
    expect(report.pci?.byDevice.map(({ bdf }) => bdf)).toEqual([
      '00:00.0',
      '00:01.0',
      '00:02.0',
      '00:03.0',
      '00:04.0',
      '00:1f.0',
      '00:1f.2',
      '00:1f.3',
    ])
    expect(report.findings.map(({ name }) => name)).toContain('config-not-traced')
  })

  it('leaves one ECAM read of a register that a conventional device does not have', () => {
    const { pci } = reports.get('q35-7.2.log')!
    expect(
      pci?.byDevice.filter(({ unanswered }) => unanswered).map(({ bdf, unanswered }) => [bdf, unanswered]),
    ).toEqual([['00:00.0', { reads: 1, writes: 0 }]])
  })
})

describe('the same boot in the words of QEMU 5.2', () => {
  // Decimal slots, no bus, blanks in names of devices, and no names of regions.
  const old = new TextDecoder()
    .decode(fixture('q35-7.2-stable.log'))
    .replaceAll(
      /^(pci_cfg_\w+ )(\S+) 00:(\w\w)\.(\d) /gm,
      (_line, event, device, slot, fn) =>
        `${event}${device.replaceAll('-', ' ')} ${String(Number.parseInt(slot, 16)).padStart(2, '0')}:${fn} `,
    )
    .replaceAll(/ name '.*'$/gm, '')
  const now = reports.get('q35-7.2-stable.log')!
  const devices = ({ pci }: MmioReport): unknown =>
    pci!.byDevice.map(({ bdf, device, reads, writes }) => [bdf, device?.replaceAll('-', ' '), reads, writes])

  it('has the same configuration space, with the buses of both ways to it, and the same phases', () => {
    const report = reportOf(old)
    expect(report.diagnostics.unparsed).toBe(0)
    expect(devices(report)).toEqual(devices(now))
    expect(report.pci?.absent).toMatchObject({ reads: 8320, functions: 8191 })
    expect(report.pci?.cf8).toEqual(now.pci?.cf8)
    // The one ECAM access that has no event does not show without names.
    expect(both(report.pci!.ecam!)).toBe(401)
    expect(report.phases.map(({ name, accesses }) => [name, accesses])).toEqual(
      now.phases.map(({ name, accesses }) => [name, accesses]),
    )
  })

  it('has the names of regions back with a memory map', () => {
    const report = reportOf(old, { map: [memoryMapText('q35')] })
    expect(report.pci?.ecam).toEqual(now.pci?.ecam)
    for (const name of ['serial', 'hpet', 'pci-conf-idx', 'pcie-mmcfg-mmio', 'ioapic', 'i8042-cmd'])
      expect([name, region(report, name).reads]).toEqual([name, region(now, name).reads])
  })
})

describe('a firmware under KVM', () => {
  const report = reports.get('q35-kvm-7.2.log')!

  it('has an exit for every access to memory, and fewer exits than accesses to ports', () => {
    // 1,168 = 1,141 exits + 24 coalesced writes to rtc-index + 3 of a string instruction that reads fw_cfg.
    expect(report.exits).toEqual({
      total: 1604,
      byReason: [
        { reason: 2, name: 'IO', count: 1141 },
        { reason: 6, name: 'MMIO', count: 463 },
      ],
      io: { exits: 1141, accesses: 1168 },
      mmio: { exits: 463, accesses: 463 },
    })
  })

  it('names the kicks that went past the trace', () => {
    const ioeventfd = report.hidden.find(({ name }) => name === 'ioeventfd')
    expect(ioeventfd?.seen).toBe(
      '8 port and 1 memory addresses were given to the kernel; 2 kicks reached their queues (virtio_queue_notify), 0 by a traced write',
    )
    expect(report.hidden.map(({ name }) => name)).toEqual([
      'ioeventfd',
      'irqfd',
      'vhost',
      'in-kernel-irqchip',
      'coalesced',
      'unassigned',
    ])
  })

  it('has one phase, and says why', () => {
    expect(report.phases.map(({ name }) => name)).toEqual(['firmware'])
    expect(report.findings.map(({ name }) => name)).toContain('no-phases')
  })
})

describe('a trace that shares a file with a serial console', () => {
  const { diagnostics } = reports.get('q35-mixed.log')!

  it('gives every event, and counts those with a console byte in front', () => {
    const counts = Object.fromEntries(
      diagnostics.problems.map(({ name, count, severity }) => [name, [count, severity]]),
    )
    expect(counts).toEqual({ glued: [554, 'info'], 'empty-line': [5, 'info'] })
  })
})

describe('four boots of one guest', () => {
  const lines = readFileSync(new URL('./fixtures/four-boots-q35.txt', import.meta.url), 'utf8')
    .trim()
    .split('\n')
  const report = reports.get('q35-7.2-stable.log')!

  it('differ in polled regions only', () => {
    const varying = lines.filter((line) => line.startsWith('VARY')).map((line) => line.split(/[ |]/))
    expect(varying.length).toBe(12)
    for (const [, name = '', direction] of varying) {
      const { polled } = region(report, name)
      expect([name, polled === 'both' || polled === (direction === 'R' ? 'reads' : 'writes')]).toEqual([name, true])
    }
  })

  it('have the counts of this trace in every region that is not polled', () => {
    const same = lines.filter((line) => line.startsWith('SAME')).map((line) => line.split(/[ |]/))
    for (const [, name = '', direction, count] of same) {
      if (name === 'pci_cfg') continue
      const { reads, writes } = region(report, name)
      expect([name, direction === 'R' ? reads : writes]).toEqual([name, Number(count)])
    }
  })
})
