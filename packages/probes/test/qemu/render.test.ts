import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { mmio, renderMmio } from '../../src/index.ts'
import { access, config, fixture, memoryMapText, reportOf } from './traces.ts'

describe('the table', () => {
  it('of a recorded boot is the documented one', () => {
    const documented = readFileSync(new URL('./fixtures/q35-7.2-stable.mmio.txt', import.meta.url), 'utf8')
    expect(renderMmio(reportOf(fixture('q35-7.2-stable.log')), { listRegionsFrom: 100 })).toBe(documented)
  })

  it('has the device beside the region where a memory map tells', () => {
    const text = renderMmio(reportOf(fixture('q35-7.2.log'), { map: [memoryMapText('q35')] }))
    expect(text).toMatch(/msix-table +virtio-net-pci 00:02\.0 +memory +16 +44 +240/)
  })

  it('has polled regions apart from the others', () => {
    const text = renderMmio(reportOf(access('read', 'pit', 0x40) + access('read', 'rtc', 0x71)), { listRegionsFrom: 0 })
    const [steady = '', polled = ''] = text.split('regions that are polled')
    expect([steady.includes('rtc'), steady.includes('pit'), polled.includes('pit')]).toEqual([true, false, true])
  })

  it('says how accesses relate to exits, and what a trace cannot show', () => {
    const text = renderMmio(reportOf(fixture('q35-kvm-7.2.log')))
    expect(text).toContain('of vCPUs, to ports: 1141 for 1168 accesses; to memory: 463 for 463 accesses\n')
    for (const name of ['ioeventfd', 'irqfd', 'vhost', 'in-kernel-irqchip', 'coalesced', 'unassigned'])
      expect(text).toContain(`\n- ${name}: `)
  })

  it('has no row of absent functions where there were none, and one where there were', () => {
    const known = config('read', [0, 1, 0, 0], { event: 'rng 00:01.0 @0x0 -> 0x1af4' })
    expect(renderMmio(reportOf(known))).not.toMatch(/^ {2}absent/m)
    const scanned = known + config('read', [0, 2, 0, 0], { value: 0xffffffff })
    expect(renderMmio(reportOf(scanned))).toMatch(/^ {2}absent +1 on 1 bus +1 +0$/m)
  })

  it('is a sentence where there is no answer', () => {
    expect(renderMmio(mmio(''))).toMatch(/^no accesses: the trace is empty/)
  })

  it('keeps prose to the width, and never cuts a row', () => {
    const lines = renderMmio(reportOf(fixture('q35-7.2-stable.log')), { width: 60 }).split('\n')
    expect(lines.filter((line) => line.length > 60 && !line.startsWith('  '))).toEqual([])
  })
})
