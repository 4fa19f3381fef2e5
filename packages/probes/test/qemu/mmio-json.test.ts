import { describe, expect, it } from 'vitest'
import { mmio, mmioJson } from '../../src/index.ts'
import { problemsOf } from '../schema/problems-of.ts'
import { access, fixture, GOLDEN, memoryMapText } from './traces.ts'

const problems = problemsOf('mmio-v1')

describe('the JSON of accesses', () => {
  it.each(Object.keys(GOLDEN))('fits its schema for %s', (trace) => {
    expect(problems(mmioJson(mmio(fixture(trace))))).toEqual([])
    expect(problems(mmioJson(mmio(fixture(trace), { map: [memoryMapText('q35')] })))).toEqual([])
  })

  it('fits its schema for other events, old forms, and without an answer', () => {
    const inputs = [
      'vfio_pci_read_config  (a b, @0x0, len=0x2) 0x1\nvfio_region_write  (a b:region1+0x0, 0x1, 4)\n',
      'virtio_mmio_read offset 0x70\nvirtio_queue_notify vdev 0x1 n 0 vq 0x2\n',
      `pci_cfg_read ICH9 SMB 31:3 @0x0 -> 0x8086\n${access('read', '', 0x3f8)}memory_region_subpage_read cpu 0 mr 0x1 offset 0x0 value 0x0 size 4\n`,
      `kvm_run_exit cpu_index 0, reason 99\n${access('write', 'x', 1)}`,
      '',
      'foreign\n',
      'kvm_run_exit cpu_index 0, reason 5\n',
    ]
    expect(inputs.map((input) => problems(mmioJson(mmio(input))))).toEqual(inputs.map(() => []))
  })

  it('does not fit its schema with a count that is none or a field too much', () => {
    const json = mmioJson(mmio(access('read', 'rtc', 0x71)))
    expect(problems(json)).toEqual([])
    const wrong = [
      { ...json, lines: -1 },
      { ...json, surprise: 1 },
      { ...json, version: 2 },
      { ...json, hidden: undefined },
    ]
    expect(wrong.map((one) => problems(one).length > 0)).toEqual([true, true, true, true])
  })
})
