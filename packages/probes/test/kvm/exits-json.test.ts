import { describe, expect, it } from 'vitest'
import { exits, exitsJson, exitsOverBoots, renderExits } from '../../src/index.ts'
import { problemsOf } from '../schema/problems-of.ts'
import { countersFile, marksFile, onHardware } from './a-record.ts'
import { recorded, reportOf } from './recordings.ts'

const problems = problemsOf('exits-v1')

const boot = (kernelExits: number): ReturnType<typeof reportOf> =>
  reportOf(
    [
      countersFile([
        {
          atMs: 203,
          marks: ['kernel-first-line'],
          vcpus: [onHardware(100)],
          vm: { pages_4k: 1, pages_2m: 0, pages_1g: 0 },
        },
        { atMs: 303, marks: ['init-run', 'user:x'], vcpus: [onHardware(100 + kernelExits)] },
      ]),
    ],
    marksFile({ 'kernel-first-line': 200, 'init-run': 300 }),
  )

describe('the JSON of exits', () => {
  it.each([
    ['QEMU 7.2', exits([recorded('qmp-stats-kvm-q35-7.2.json')])],
    ['QEMU 10.0', exits([recorded('qmp-stats-kvm-trixie.json')])],
    ['KVM_GET_STATS_FD', exits([recorded('kvm-stats-fd-vm.bin'), recorded('kvm-stats-fd-vcpu.bin')])],
    ['a record', boot(50)],
    ['five boots', exitsOverBoots([50, 60, 70, 80, 90].map(boot))],
    ['a table of another tool', exits([{ name: 'x', input: 'hlt: 1, cpuid: 2\n' }])],
    ['nothing', exits([{ name: 'x', input: 'foo' }])],
  ])('fits its schema for %s', (_name, result) => {
    expect(problems(exitsJson(result))).toEqual([])
  })

  it('does not fit its schema with a counter that is none, a field too much or another version', () => {
    const json = exitsJson(boot(50))
    const wrong = [
      { ...json, phases: [{ ...json.phases[0], counters: { exits: null } }] },
      { ...json, surprise: 1 },
      { ...json, version: 2 },
      { ...json, phases: [] },
    ]
    expect(wrong.map((one) => problems(one).length > 0)).toEqual([true, true, true, true])
  })

  it('has phases, absent and diagnostics also where there is no answer', () => {
    const json = exitsJson(exits([{ name: 'x', input: '' }]))
    expect(json).toMatchObject({ format: 'boxlab-exits', version: 1, found: false, phases: [] })
    expect(json.absent.length).toBeGreaterThan(10)
  })
})

describe('exits over boots', () => {
  const over = exitsOverBoots([70, 50, 90, 60, 80].map(boot))

  it('have p50, least and most of each counter', () => {
    const kernel = over.phases.find(({ name }) => name === 'kernel')
    expect(kernel?.ranges['exits']).toEqual({ n: 5, min: 50, median: 70, max: 90, p50: 70 })
    expect(kernel?.kinds.total).toBe(70)
    expect(renderExits(over)).toContain('p50 of the boots, with the least and the most · n=5')
  })

  it('withhold p50 of fewer than five', () => {
    const few = exitsOverBoots([50, 60, 90].map(boot))
    expect(few.phases[1]?.ranges['exits']).toEqual({ n: 3, min: 50, median: 60, max: 90 })
    expect(renderExits(few)).toContain('median of the boots')
  })
})
