import { describe, expect, it } from 'vitest'
import { at, callOf, linux, pair, reportOf, switched } from './logs.ts'

/** The shapes of logs that people have asked about in public, in words and figures of our own. */

describe('a guest of a 5.x kernel that prints ns >> 10', () => {
  const probes = [
    ['0000:00:01.0', 1_005_000, 40_000],
    ['0000:00:02.0', 1_050_000, 41_000],
    ['0000:00:03.0', 1_095_000, 42_000],
  ] as const
  const log = `${linux('5.4.60')}${pair('a_init', 100_000, 100_191, 3906)}${pair('b_init', 110_000, 110_020, 0)}${pair('c_init', 120_000, 131_718, 11718)}${switched(200_000)}${at(1_000_000)}calling  virtio_pci_driver_init+0x0/0x20 @ 1
${probes.map(([device, from, took]) => `${at(from + took - 1000)}ACPI: PCI Interrupt Link [LNKC] enabled at IRQ 11\n${at(from + took)}probe of ${device} returned 1 after ${took} usecs\n`).join('')}${at(1_137_240)}initcall virtio_pci_driver_init+0x0/0x20 returned 0 after 134000 usecs
`
  const report = reportOf(log)

  it('has its unit told by its ticks, and said', () => {
    expect(report.clock).toMatchObject({ unitNs: 1024, unitBy: 'ticks', tickUs: 4000 })
    expect(report.findings.find(({ name }) => name === 'old-unit')?.message).toBe(
      'this kernel prints ns >> 10 as usecs (a tick of 4000 us is printed as 3906): its figures are multiplied by 1.024 here, those of probes are true microseconds',
    )
  })

  it('has a tick for what took 191 us, which the stamps tell', () => {
    expect(callOf(report, 'a_init')).toMatchObject({
      usecs: 3906,
      durationUs: 191,
      source: 'timestamps',
      disagreementUs: 3809,
    })
  })

  it('has a call that is longer than its probes together, as the raw figures would have it too but for the unit', () => {
    const call = callOf(report, 'virtio_pci_driver_init')
    expect(call).toMatchObject({ usecs: 134_000, durationUs: 137_216, source: 'usecs', selfUs: 137_216 - 123_000 })
    expect(call.probes?.map(({ outcome, durationUs }) => [outcome, durationUs])).toEqual([
      ['bound', 40_000],
      ['bound', 41_000],
      ['bound', 42_000],
    ])
  })

  it('has probes that 0 says were not bound', () => {
    const { calls } = reportOf(log.replace('0000:00:03.0 returned 1', '0000:00:03.0 returned 0'))
    expect(calls.at(-1)?.probes?.at(-1)).toMatchObject({ returned: 0, outcome: 'not-bound' })
  })
})

describe('a journal of a desktop, with its months in Portuguese and no stamps of the kernel', () => {
  const line = (text: string): string => `mar 06 13:18:23 maquina kernel: ${text}\n`
  const call = (name: string, usecs: number, returned = 0): string =>
    line(`calling  ${name}+0x0/0x1d @ 1`) + line(`initcall ${name}+0x0/0x1d returned ${returned} after ${usecs} usecs`)
  const report = reportOf(
    call('first_init', 0, -19) + call('second_init', 3421) + line('usb 1-1: new device') + call('third_init', 17, -19),
  )

  it('has order and figures', () => {
    expect(report.calls.map(({ name, usecs, returned, source }) => [name, usecs, returned, source])).toEqual([
      ['first_init', 0, -19, 'usecs'],
      ['second_init', 3421, 0, 'usecs'],
      ['third_init', 17, -19, 'usecs'],
    ])
    expect(report.calls.every((one) => one.startUs === undefined)).toBe(true)
    expect(report.gaps).toEqual([])
    expect(report.summary).toMatchObject({ nonZero: 2, unfinished: 0 })
  })

  it('says that it has no stamps, and that its unit is not known', () => {
    expect(report.findings.map(({ name }) => name)).toEqual([
      'unit-unknown',
      'no-switch-line',
      'no-stamps',
      'begins-late',
    ])
  })
})

describe('a boot that ends in a panic, with other lines inside a call', () => {
  const log = `${linux('4.17.3')}${pair('ok_init', 1_000_000, 1_004_000, 3906)}${switched(1_005_000)}${at(1_100_000)}calling  drm_driver_init+0x0/0x1000 [drm_driver] @ 210
${at(1_110_000)}[drm] loading firmware
${at(1_120_000)}BUG: unable to handle kernel paging request at 0000000000001000
${at(1_130_000)}Call Trace:
${at(1_130_010)} ? do_one_initcall+0x46/0x1c3
${at(1_140_000)}Kernel panic - not syncing: Fatal exception in interrupt
${at(1_150_000)}---[ end Kernel panic - not syncing: Fatal exception in interrupt ]---
`
  it('has the last open call as the one that the panic came in: unfinished, and not 0', () => {
    const report = reportOf(log)
    const call = callOf(report, 'drm_driver_init')
    expect(call).toMatchObject({ module: 'drm_driver', unfinished: true, unknown: 'unfinished' })
    expect(call).not.toHaveProperty('durationUs')
    expect(report.calls[report.panic?.call ?? -1]).toBe(call)
    expect(report.findings[0]?.message).toBe(
      'the kernel panicked in drm_driver_init (line 5), which did not return: Kernel panic - not syncing: Fatal exception in interrupt',
    )
    expect(report.diagnostics.unparsed).toBe(0)
  })
})

describe('asynchronous and deferred probes', () => {
  const thread = (us: number, caller: string, text: string): string =>
    `${at(us).trimEnd()}[${caller.padStart(5)}] ${text}\n`
  const log = `${thread(0, 'T0', 'Linux version 6.8.0 x')}${thread(1000, 'T1', 'clocksource: Switched to clocksource tsc')}
${thread(10_000, 'T1', 'calling  virtio_blk_init+0x0/0x40 @ 1')}${thread(10_320, 'T1', 'initcall virtio_blk_init+0x0/0x40 returned 0 after 300 usecs')}
${thread(10_400, 'T1', 'calling  other_init+0x0/0x40 @ 1')}${thread(12_000, 'T1', 'probe of other0 returned 517 after 900 usecs')}
${thread(43_300, 'T24', 'probe of virtio0 returned 0 after 33144 usecs')}${thread(50_000, 'T1', 'initcall other_init+0x0/0x40 returned 0 after 39500 usecs')}
${thread(60_000, 'T1', 'calling  deferred_probe_initcall+0x0/0x40 @ 1')}${thread(62_000, 'T1', 'probe of other0 returned 0 after 1800 usecs')}${thread(62_100, 'T1', 'initcall deferred_probe_initcall+0x0/0x40 returned 0 after 2050 usecs')}`
  const report = reportOf(log)

  it('are under the call in which they began, not under the one in which they ended', () => {
    expect(callOf(report, 'virtio_blk_init')).toMatchObject({
      durationUs: 300,
      probes: [{ device: 'virtio0', durationUs: 33_144, asynchronous: true }],
    })
    expect(callOf(report, 'virtio_blk_init')).not.toHaveProperty('selfUs')
  })

  it('are counted by attempt, and a deferred one is no failure', () => {
    expect(callOf(report, 'other_init').probes).toMatchObject([
      { device: 'other0', outcome: 'deferred', attempt: 1, by: 'thread' },
    ])
    expect(callOf(report, 'other_init').selfUs).toBe(39_500 - 900)
    expect(callOf(report, 'deferred_probe_initcall').probes).toMatchObject([
      { device: 'other0', outcome: 'bound', attempt: 2 },
    ])
  })

  it('are under their driver where its messages name it, however late they begin', () => {
    const late = `${log}${thread(70_000, 'T30', 'virtio_blk virtio1: 1/0/0 default/read/poll queues')}${thread(72_000, 'T30', 'probe of virtio1 returned 0 after 3000 usecs')}`
    expect(callOf(reportOf(late), 'virtio_blk_init').probes?.at(-1)).toMatchObject({
      device: 'virtio1',
      driver: 'virtio_blk',
      by: 'driver',
      asynchronous: true,
    })
  })

  it('of which nobody knows where they belong stand alone', () => {
    const late = `${log}${thread(172_000, 'T30', 'probe of usb1 returned 0 after 3000 usecs')}`
    const { otherProbes, diagnostics } = reportOf(late)
    expect(otherProbes).toMatchObject([{ device: 'usb1', outcome: 'bound' }])
    expect(diagnostics.problems).toMatchObject([{ name: 'probe-unplaced', severity: 'info' }])
  })

  it('that lie within one another are not taken off twice', () => {
    const nested = `${log}${thread(80_000, 'T1', 'calling  serial_init+0x0/0x4 @ 1')}${thread(83_000, 'T1', 'probe of p:0 returned 0 after 1000 usecs')}${thread(84_000, 'T1', 'probe of p returned 0 after 3500 usecs')}${thread(85_000, 'T1', 'initcall serial_init+0x0/0x4 returned 0 after 4900 usecs')}`
    expect(callOf(reportOf(nested), 'serial_init').selfUs).toBe(1400)
  })

  it('that cross one another ran in two threads, so what is left of the call is not known', () => {
    const crossed = `${linux('6.1.0')}${switched(10)}${at(80_000)}calling  x_init+0x0/0x4 @ 1\n${at(83_000)}probe of a returned 0 after 2000 usecs\n${at(84_000)}probe of b returned 0 after 2500 usecs\n${at(85_000)}initcall x_init+0x0/0x4 returned 0 after 4900 usecs\n`
    const call = callOf(reportOf(crossed), 'x_init')
    expect(call.probes).toHaveLength(2)
    expect(call).not.toHaveProperty('selfUs')
  })
})
