import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { exits, readStats, renderExits } from '../../src/index.ts'
import { fixture, phase, recorded, reportOf } from './recordings.ts'

describe('statistics that QEMU 7.2 gave over QMP', () => {
  const report = reportOf([recorded('qmp-stats-kvm-q35-7.2.json')])

  it('are all 0 before the machine runs', () => {
    const { counters } = phase(report, 'paused_vm')
    expect(Object.values(counters).every((value) => value === 0)).toBe(true)
    expect(counters).toMatchObject({ exits: 0, mmio_exits: 0, remote_tlb_flush: 0 })
  })

  it('have the figures of each vCPU, whichever QEMU named first', () => {
    const { vcpus, kinds } = phase(report, 'run_vm')
    expect(vcpus.map(({ id }) => id)).toEqual(['vcpu 0', 'vcpu 1'])
    expect(vcpus[0]?.counters).toMatchObject({ exits: 7014, mmio_exits: 379, halt_exits: 86, irq_window_exits: 20 })
    expect(vcpus[1]?.counters).toMatchObject({ exits: 23, mmio_exits: 0, halt_exits: 1, signal_exits: 2 })
    expect(kinds).toMatchObject({ total: 7037, mmio: 379, halt: 87, windows: 20, signal: 3, irq: 0, hypercalls: 0 })
  })

  it('say what this host cannot measure, and give no 0 for it', () => {
    const names = report.absent.map(({ name }) => name)
    expect(names).toEqual(
      expect.arrayContaining(['io_exits', 'pf_taken', 'pf_fixed', 'pages_4k', 'pages_2m', 'pages_1g']),
    )
    expect(report.absent[0]?.why).toContain('the host emulates guest code')
    expect(report.absent[0]?.why).toContain('insn_emulation rose to 5610567 over 7037 exits while pf_taken stayed 0')
    const { counters, kinds, faults, ram, atEnd } = phase(report, 'run_vm')
    for (const name of names) {
      expect(counters).not.toHaveProperty(name)
      expect(atEnd).not.toHaveProperty(name)
    }
    expect([kinds.io, faults, ram]).toEqual([undefined, {}, undefined])
    expect(renderExits(report)).toMatch(/run_vm +7037 +- +379 /)
  })

  it('have type and unit of their schema: nanoseconds are seconds with an exponent, booleans and histograms stay what they are', () => {
    expect(report.schema).toHaveLength(47 + 16)
    const byName = new Map(report.schema.map((stat) => [stat.name, stat]))
    expect(byName.get('halt_wait_ns')).toMatchObject({ type: 'cumulative', unit: 'seconds', base: 10, exponent: -9 })
    expect(byName.get('guest_mode')).toMatchObject({ type: 'instant', unit: 'boolean', target: 'vcpu' })
    expect(byName.get('pages_2m')).toMatchObject({ type: 'instant', target: 'vm' })
    const { counters, histograms, atEnd } = phase(report, 'run_vm')
    expect(counters['halt_wait_ns']).toBe(4_842_210_549 + 3_617_624_688)
    expect(histograms['halt_wait_hist']).toHaveLength(32)
    expect(atEnd['guest_mode']).toBe(0)
  })

  it('say that QEMU 7.2 interrupts the vCPUs to answer', () => {
    expect(report).toMatchObject({ engine: '7.2.22', sampling: { kicks: true } })
    expect(report.findings.map(({ name }) => name)).toEqual(['rest-holds-io', 'kicks'])
  })

  it('name what was refused, what was answered with nothing, and the filtered sample that lacks a vCPU', () => {
    const problems = report.diagnostics.problems.map(({ name, count, about }) => [name, count, about])
    expect(problems).toEqual([
      ['refused', 1, ['bad_prov']],
      ['empty-reply', 2, ['bad_name', 'bad_vcpu']],
      ['partial-sample', 1, ['filtered']],
    ])
  })
})

it('statistics of QEMU 10.0 are the same 63, without those of cryptodev, and interrupt nobody', () => {
  const report = reportOf([recorded('qmp-stats-kvm-trixie.json')])
  expect(report).toMatchObject({ engine: '10.0.13', sampling: { samples: 1, kicks: false } })
  expect(report.schema).toHaveLength(63)
  expect(report.phases.map(({ kinds }) => kinds.total)).toEqual([0])
})

describe('statistics of KVM_GET_STATS_FD', () => {
  const vm = recorded('kvm-stats-fd-vm.bin')
  const vcpu = recorded('kvm-stats-fd-vcpu.bin')

  it.each([
    ['vm first', [vm, vcpu]],
    ['vcpu first', [vcpu, vm]],
  ])('are one sample of one VM, %s', (_name, inputs) => {
    const report = reportOf(inputs)
    expect(report.phases).toHaveLength(1)
    const [only] = report.phases
    expect(only?.vcpus.map(({ id }) => id)).toEqual(['vcpu 0'])
    expect(only?.counters).toMatchObject({ exits: 151, mmio_exits: 50, halt_exits: 1, insn_emulation: 305 })
    expect(only?.counters).toMatchObject({ mmu_cache_miss: 4 })
    expect(only?.counters).not.toHaveProperty('io_exits')
    expect(report.schema).toHaveLength(16 + 47)
    expect(report.diagnostics.problems).toEqual([])
  })

  it('have the values that another decoder found, though their offsets are not in the order of the descriptors', () => {
    const [binary, text] = [readStats([vm, vcpu]), readStats([recorded('kvm-stats-fd-decoded.txt')])]
    const plain = ({ samples }: typeof binary): unknown =>
      samples.map((sample) =>
        [sample.vm, ...sample.vcpus.map(({ values }) => values)].map((values) =>
          Object.fromEntries([...values].filter(([, value]) => !Array.isArray(value))),
        ),
      )
    expect(plain(text)).toEqual(plain(binary))
    expect(binary.samples[0]?.vcpus[0]?.values.get('halt_wait_hist')).toHaveLength(32)
  })

  it('with values outside the file are damaged, and not read from elsewhere', () => {
    const cut = fixture('kvm-stats-fd-vcpu.bin').slice(0, 3200)
    const result = exits([{ name: 'cut.bin', input: cut }])
    expect(result.diagnostics.problems.map(({ name }) => name)).toEqual(['damaged'])
    expect(JSON.stringify(result)).not.toContain('"exits":')
  })
})

describe('the record of a boot sector that reads the HPET 40 times', () => {
  const files = {
    marks: fixture('boot-sector.marks.jsonl'),
    boot: readFileSync(new URL('./fixtures/boot-sector.boot.json', import.meta.url), 'utf8'),
  }
  const report = reportOf([recorded('boot-sector.counters.jsonl')], files)

  it('has those reads as exits for MMIO in the phase that they were in, and no others', () => {
    expect(report.phases.map(({ name, kinds }) => [name, kinds.mmio])).toEqual([
      ['firmware', 0],
      ['user:console:count', 40],
      ['idle', 0],
    ])
  })

  it('is printed as the documentation shows it', () => {
    const shown = readFileSync(new URL('./fixtures/boot-sector.exits.txt', import.meta.url), 'utf8')
    expect(renderExits(report)).toBe(shown)
  })
})
