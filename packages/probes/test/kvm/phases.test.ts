import { describe, expect, it } from 'vitest'
import { exits } from '../../src/index.ts'
import { countersFile, marksFile, onHardware } from './a-record.ts'
import { phase, reportOf } from './recordings.ts'

const at = (atMs: number, marks: readonly string[], exitCount: number): Parameters<typeof countersFile>[0][number] => ({
  atMs,
  marks,
  vcpus: [onHardware(exitCount)],
})

describe('the phases of a record', () => {
  const samples = [
    at(103, ['vm-start'], 10),
    at(203, ['kernel-first-line'], 1000),
    at(303, ['init-run'], 5000),
    at(353, ['agent-ready'], 5200),
    at(403, ['switch-root'], 5600),
    at(903, ['ready'], 9000),
    at(1903, ['stop-begin'], 9100),
  ]
  const marks = {
    'vm-start': 100,
    'kernel-first-line': 200,
    'init-run': 300,
    'switch-root': 400,
    ready: 900,
    'stop-begin': 1900,
  }

  it('of an image are firmware, kernel, initrd, userspace and idle, and the first begins at the start of the VM', () => {
    const report = reportOf([countersFile(samples)], marksFile(marks))
    expect(report.phases.map(({ name, to, kinds }) => [name, to, kinds.total])).toEqual([
      ['firmware', 'kernel-first-line', 1000],
      ['kernel', 'init-run', 4000],
      ['initrd', 'switch-root', 600],
      ['userspace', 'ready', 3400],
      ['idle', 'stop-begin', 100],
    ])
    expect(report.total?.kinds.total).toBe(9100)
  })

  it('have the first login between what came before it and the idle time after it', () => {
    const logins = [...samples, at(1003, ['first-login-begin'], 9010), at(1503, ['first-login-end'], 9080)]
    const times = { ...marks, 'first-login-begin': 1000, 'first-login-end': 1500 }
    const report = reportOf([countersFile(logins)], marksFile(times))
    expect(report.phases.slice(3).map(({ name, to, kinds }) => [name, to, kinds.total])).toEqual([
      ['userspace', 'ready', 3400],
      ['before login', 'first-login-begin', 10],
      ['first login', 'first-login-end', 70],
      ['idle', 'stop-begin', 20],
    ])
    expect(report.findings).toEqual([])
  })

  it('of a box at which somebody knocked as soon as it was ready have no time before the login', () => {
    const marksAtOnce = { ...marks, 'first-login-begin': 901, 'first-login-end': 1500 }
    const [first, last] = [samples.slice(0, -2), samples.slice(-1)]
    const atOnce = [
      ...first,
      at(903, ['ready', 'first-login-begin'], 9000),
      at(1503, ['first-login-end'], 9080),
      ...last,
    ]
    const report = reportOf([countersFile(atOnce)], marksFile(marksAtOnce))
    expect(report.phases.slice(3).map(({ name, kinds }) => [name, kinds.total])).toEqual([
      ['userspace', 3400],
      ['first login', 80],
      ['idle', 20],
    ])
    expect(report.findings.map(({ message }) => message)).toEqual([
      'before login ended before its beginning was sampled: its exits count to userspace',
    ])
  })

  it('do not depend on the order of the lines', () => {
    const turned = reportOf([countersFile(samples.toReversed())], marksFile(marks))
    expect(turned.phases).toEqual(reportOf([countersFile(samples)], marksFile(marks)).phases)
  })

  it('tell how long after its mark a sample came, and what the samples cost', () => {
    const report = reportOf([countersFile(samples)], marksFile({ ...marks, 'init-run': 290 }))
    expect(report.phases.map(({ lagUs }) => lagUs)).toEqual([3000, 13_000, 3000, 3000, 3000])
    expect(report.findings).toEqual([
      {
        name: 'lag',
        message: 'the sample at init-run came 13.0 ms after its mark: exits of that time count to kernel',
      },
    ])
    expect(report.sampling).toEqual({ samples: 7, costUs: 14_000 })
  })

  it('of a bare box have the time from its agent to what it waits for as userspace', () => {
    const bare = [...samples.slice(1, 4), ...samples.slice(5)]
    const report = reportOf([countersFile(bare)], marksFile({ ...marks, 'agent-ready': 350 }))
    expect(report.phases.map(({ name, kinds }) => [name, kinds.total])).toEqual([
      ['firmware', 1000],
      ['kernel', 4000],
      ['initrd', 200],
      ['userspace', 3800],
      ['idle', 100],
    ])
  })

  it('of a firmware box are cut by texts on its console; that its machine runs is no phase', () => {
    const file = countersFile([
      at(101, ['ready'], 5),
      at(203, ['user:console:reads'], 500),
      at(303, ['user:console:done'], 900),
      at(903, ['stop-begin'], 910),
    ])
    const report = reportOf([file], marksFile({ 'vm-start': 100, ready: 100, 'user:console:reads': 200 }))
    expect(report.phases.map(({ name, kinds }) => [name, kinds.total])).toEqual([
      ['firmware', 500],
      ['user:console:reads', 400],
      ['user:console:done', 10],
    ])
  })

  it('know that `ready` and the mark it stands for are one instant', () => {
    const file = countersFile([
      at(203, ['user:console:done'], 500),
      at(204, ['ready'], 501),
      at(903, ['stop-begin'], 910),
    ])
    const report = reportOf([file], marksFile({ 'vm-start': 100, 'user:console:done': 200, ready: 200 }))
    expect(report.phases.map(({ name, kinds }) => [name, kinds.total])).toEqual([
      ['firmware', 500],
      ['idle', 410],
    ])
  })

  it('that one sample ends together are not told apart, and the report says so', () => {
    const file = countersFile([at(303, ['kernel-first-line', 'init-run'], 5000), at(903, ['stop-begin'], 9000)])
    const report = reportOf([file])
    expect(report.phases.map(({ name }) => name)).toEqual(['firmware', 'initrd'])
    expect(report.findings.map(({ message }) => message)).toEqual([
      'kernel ended before its beginning was sampled: its exits count to firmware',
    ])
  })

  it('without a sampled end have no row: a killed box has not idled 0 times', () => {
    const report = reportOf([countersFile(samples.slice(0, -1))])
    expect(report.phases.map(({ name }) => name)).not.toContain('idle')
    expect(report.findings.map(({ name }) => name)).toEqual(['open-phase'])
  })

  it('of a boot that died in its firmware are what was sampled of that', () => {
    const report = reportOf([countersFile(samples.slice(0, 1))], marksFile({ 'vm-start': 100, ready: 100 }))
    expect(report.phases.map(({ name, to, kinds }) => [name, to, kinds.total])).toEqual([['firmware', 'vm-start', 10]])
    expect(report.findings.map(({ name }) => name)).toContain('open-phase')
  })

  it('end now where somebody asked for the counters of now', () => {
    const file = countersFile([...samples.slice(0, 6), { atMs: 1500, vcpus: [onHardware(9050)] }])
    const report = reportOf([file])
    expect(phase(report, 'idle')).toMatchObject({ to: 'now', kinds: { total: 50 } })
  })
})

describe('what a phase holds', () => {
  const vm = { pages_4k: 300, pages_2m: 20, pages_1g: 0, nx_lpage_splits: 1, remote_tlb_flush: 4 }
  const file = countersFile([
    { atMs: 200, marks: ['kernel-first-line'], vcpus: [onHardware(1000), onHardware(100)], vm },
    {
      atMs: 300,
      marks: ['init-run'],
      vcpus: [onHardware(1500, { mmio_exits: 57, pf_taken: 90, pf_fixed: 70 }), onHardware(130)],
      vm: { ...vm, pages_4k: 812, remote_tlb_flush: 9 },
    },
  ])
  const boot = JSON.stringify({ version: 1, plan: { memoryMib: 64 }, accelerator: { proved: 'kvm' } })

  it('is the sum over its vCPUs, and each of them on demand', () => {
    const { kinds, vcpus } = phase(reportOf([file]), 'kernel')
    expect(kinds).toMatchObject({ total: 530, io: 265, mmio: 50, halt: 0, windows: 0, rest: 215 })
    expect(vcpus.map((one) => [one.id, one.kinds.total, one.kinds.mmio])).toEqual([
      ['vcpu 0', 500, 50],
      ['vcpu 1', 30, 0],
    ])
  })

  it('has the faults by outcome, the RAM that is mapped as bytes and share of the guest’s, and flushes', () => {
    const { faults, ram, counters } = phase(reportOf([file], { boot }), 'kernel')
    expect(faults).toEqual({ taken: 50, fixed: 40, emulated: 0, spurious: 0, fast: 0, mmioSpteCreated: 0 })
    const bytes = 812 * 4096 + 20 * 2 ** 21
    expect(ram).toEqual({ bytes, bytes4k: 812 * 4096, bytes2m: 20 * 2 ** 21, bytes1g: 0, ofGuestRam: bytes / 2 ** 26 })
    expect(counters['remote_tlb_flush']).toBe(5)
    expect(phase(reportOf([file]), 'kernel').ram).not.toHaveProperty('ofGuestRam')
  })

  it('lacks a counter that went down, and says which', () => {
    const turned = countersFile([
      { atMs: 200, marks: ['kernel-first-line'], vcpus: [onHardware(1000)] },
      { atMs: 300, marks: ['init-run'], vcpus: [onHardware(900)] },
    ])
    const report = reportOf([turned])
    expect(phase(report, 'kernel').counters).not.toHaveProperty('exits')
    expect(phase(report, 'kernel').kinds).not.toHaveProperty('total')
    expect(report.diagnostics.problems.map(({ name, about }) => [name, about])).toEqual([
      ['decreased', ['exits', 'io_exits']],
    ])
  })

  it('lacks `rest` where exits that count twice make the kinds more than all, and says why', () => {
    const twice = countersFile([
      { atMs: 200, marks: ['kernel-first-line'], vcpus: [onHardware(10, { signal_exits: 9 })] },
    ])
    const report = reportOf([twice])
    expect(phase(report, 'firmware').kinds).not.toHaveProperty('rest')
    expect(report.findings.find(({ name }) => name === 'kinds-overlap')?.message).toContain('firmware has no rest')
  })
})

describe('a record without counters', () => {
  it.each([
    [
      'says that TCG has none',
      [{ kind: 'kvm-none', atNs: 1, why: 'the accelerator is tcg: no exits' }],
      { accelerator: { proved: 'tcg' } },
      { accel: 'tcg', reason: 'tcg' },
    ],
    ['says so of a box that nobody asked to count', [], { accelerator: { proved: 'kvm' } }, { reason: 'not-recorded' }],
    [
      'has the engine’s words where it refused',
      [{ kind: 'kvm-none', atNs: 1, why: 'the engine refused `query-stats`: not found' }],
      { accelerator: { proved: 'kvm' } },
      { reason: 'refused' },
    ],
  ])('%s, and every counter of the table is absent', (_name, lines, boot, expected) => {
    const result = exits([countersFile([], lines)], { boot: JSON.stringify({ version: 1, ...boot }) })
    expect(result).toMatchObject({ found: false, ...expected })
    expect(result.absent.map(({ name }) => name)).toEqual(expect.arrayContaining(['exits', 'io_exits', 'pages_4k']))
  })
})
