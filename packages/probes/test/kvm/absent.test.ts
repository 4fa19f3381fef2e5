import { expect, it } from 'vitest'
import { renderExits } from '../../src/index.ts'
import { type Counted, countersFile, onHardware } from './a-record.ts'
import { phase, reportOf } from './recordings.ts'

const firmware = (values: Counted) =>
  reportOf([countersFile([{ atMs: 200, marks: ['kernel-first-line'], vcpus: [values] }])])

it('on hardware no exit for a port is a 0, since its memory was faulted in', () => {
  const report = firmware({ ...onHardware(100), io_exits: 0 })
  expect(phase(report, 'firmware').kinds.io).toBe(0)
  expect(report.absent.map(({ name }) => name)).not.toContain('io_exits')
})

it('where instructions are emulated and nothing faults, the same 0 is absent', () => {
  const report = firmware({ ...onHardware(100), io_exits: 0, pf_taken: 0, pf_fixed: 0 })
  expect(phase(report, 'firmware').kinds).not.toHaveProperty('io')
  expect(renderExits(report)).toContain('rest-holds-io')
})

it('a kernel before 5.19 has no pf_taken: there pf_fixed decides', () => {
  const old = { exits: 100, io_exits: 0, insn_emulation: 50, pf_guest: 0 }
  expect(firmware({ ...old, pf_fixed: 9 }).absent.map(({ name }) => name)).not.toContain('io_exits')
  expect(firmware({ ...old, pf_fixed: 0 }).absent.map(({ name }) => name)).toContain('io_exits')
})

it('a counter that the host does not have is absent with that reason', () => {
  const report = firmware({ exits: 100, pf_taken: 3 })
  expect(report.absent.find(({ name }) => name === 'mmio_exits')?.why).toContain('no such counter')
  expect(phase(report, 'firmware').kinds).toEqual({ total: 100, rest: 100 })
})
