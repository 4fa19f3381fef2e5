import { describe, expect, it } from 'vitest'
import { exits, readStats } from '../../src/index.ts'
import { recorded, reportOf } from './recordings.ts'

const stats = (exitCount: number, path = '/machine/unattached/device[0]'): object => ({
  return: [
    {
      provider: 'kvm',
      'qom-path': path,
      stats: [
        { name: 'exits', value: exitCount },
        { name: 'pf_taken', value: 1 },
      ],
    },
  ],
})

function totals(text: string): (number | undefined)[] {
  return reportOf([{ name: 'pasted', input: text }]).phases.map(({ kinds }) => kinds.total)
}

describe('replies of query-stats', () => {
  it.each([
    ['a reply', JSON.stringify(stats(7))],
    ['a reply over many lines', JSON.stringify(stats(7), null, 2)],
    ['only what was returned', JSON.stringify((stats(7) as { return: unknown }).return)],
    ['a line of a record’s qmp.jsonl', JSON.stringify({ atNs: 1, dir: 'in', message: stats(7) })],
    ['a line behind a shell’s prompt', `(QEMU) {"execute":"query-stats"}\n${JSON.stringify(stats(7))}\n`],
    ['text around it', `Here is what I got:\n\n${JSON.stringify(stats(7), null, 1)}\n\nregards\n`],
    ['Windows line ends', JSON.stringify(stats(7), null, 2).replaceAll('\n', '\r\n')],
  ])('are read as %s', (_name, text) => {
    expect(totals(text)).toEqual([7])
  })

  it('one after another are samples, and their differences are phases', () => {
    expect(totals([7, 10, 40].map((count) => JSON.stringify(stats(count), null, 2)).join('\n'))).toEqual([7, 3, 30])
  })

  it('of vCPUs with gaps in their numbers are joined with query-cpus-fast, before or after it', () => {
    const cpus = { return: [4, 12, 0].map((n) => ({ 'cpu-index': n, 'qom-path': `/cpu[${n}]`, 'thread-id': 9 })) }
    const reply = { return: [12, 0, 4].flatMap((n) => (stats(n, `/cpu[${n}]`) as { return: unknown[] }).return) }
    for (const order of [
      [cpus, reply],
      [reply, cpus],
    ]) {
      const { samples } = readStats([{ name: 'x', input: order.map((one) => JSON.stringify(one)).join('\n') }])
      expect(samples[0]?.vcpus.map(({ id }) => id)).toEqual(['vcpu 0', 'vcpu 4', 'vcpu 12'])
    }
  })

  it('of TCG are empty, and of QEMU 6.2 an error: neither is 0', () => {
    const empty = exits([{ name: 'x', input: '{"return": []}\n{"return": {"enabled": false, "present": true}}' }])
    expect(empty).toMatchObject({ found: false, accel: 'tcg', reason: 'tcg' })
    const desc = 'The command query-stats has not been found'
    const old = exits([{ name: 'x', input: JSON.stringify({ error: { class: 'CommandNotFound', desc } }) }])
    expect(old).toMatchObject({ found: false, reason: 'refused' })
    expect(old.found ? '' : old.message).toContain('query-stats came with QEMU 7.1')
  })

  it('that are cut off are counted as torn and not guessed at', () => {
    const text = JSON.stringify(stats(7), null, 2).slice(0, -20)
    const { diagnostics } = exits([{ name: 'x', input: text }])
    expect(diagnostics.problems.map(({ name, lines }) => [name, lines])).toEqual([['torn-tail', [1]]])
  })

  it('with values that no statistic has lack those, and the others stay', () => {
    const reply = {
      return: [
        {
          provider: 'kvm',
          'qom-path': 'x',
          stats: [
            { name: 'exits', value: 'many' },
            { name: 'io_exits', value: 4 },
            { name: 'pf_taken', value: 4 },
          ],
        },
      ],
    }
    const report = reportOf([{ name: 'x', input: JSON.stringify(reply) }])
    expect(report.phases[0]?.counters).toEqual({ io_exits: 4, pf_taken: 4 })
    expect(report.absent.map(({ name }) => name)).toContain('exits')
    expect(report.diagnostics.problems.map(({ name, about }) => [name, about])).toEqual([['bad-value', ['exits']]])
  })
})

describe('what virsh domstats prints', () => {
  // The shape of public threads: shuffled, gaps in the numbers, booleans in the reader's language.
  const domain = (name: string, lines: readonly string[]): string =>
    [`Domain: '${name}'`, ...lines.map((line) => `  ${line}`), ''].join('\n')
  const guest = domain('guest', [
    'vcpu.current=2',
    'vcpu.maximum=8',
    'vcpu.4.exits.sum=587',
    'vcpu.4.guest_mode.cur=non',
    'vcpu.4.pf_taken.sum=20',
    'vcpu.0.state=1',
    'vcpu.0.time=120000000',
    'vcpu.0.exits.sum=1000',
    'vcpu.0.guest_mode.cur=oui',
    'vcpu.0.pf_taken.sum=12',
    'vm.pages_4k.cur=70',
    'vm.max_mmu_rmap_size.max=3',
  ])

  it('is read in any order, with gaps between vCPUs and booleans in French', () => {
    const report = reportOf([{ name: 'domstats.txt', input: guest }])
    expect(report.phases.map(({ name, kinds }) => [name, kinds.total])).toEqual([['guest', 1587]])
    expect(report.phases[0]?.vcpus.map(({ id }) => id)).toEqual(['vcpu 0', 'vcpu 4'])
    expect(report.phases[0]?.atEnd).toEqual({ guest_mode: 1, max_mmu_rmap_size: 3, pages_4k: 70 })
    expect(report.diagnostics.problems).toEqual([])
  })

  it('makes no difference between two domains, and one between two readings of the same', () => {
    const other = domain('other', ['vcpu.0.exits.sum=5', 'vcpu.0.pf_taken.sum=1'])
    const later = domain('other', ['vcpu.0.exits.sum=9', 'vcpu.0.pf_taken.sum=1'])
    const report = reportOf([{ name: 'domstats.txt', input: `${guest}\n${other}\n${later}` }])
    expect(report.phases.map(({ name, kinds }) => [name, kinds.total])).toEqual([
      ['guest', 1587],
      ['other', 5],
      ['other', 4],
    ])
    expect(report.total).toBeUndefined()
  })

  it('leaves out a boolean in a language that nobody taught it, by name', () => {
    const report = reportOf([
      { name: 'd', input: 'vcpu.0.exits.sum=3\nvcpu.0.guest_mode.cur=kyllä\nvcpu.0.pf_taken.sum=1\n' },
    ])
    expect(report.phases[0]?.atEnd).toEqual({})
    expect(report.diagnostics.problems.map(({ name, about }) => [name, about])).toEqual([
      ['localised-value', ['vcpu.0.guest_mode.cur']],
    ])
  })
})

it('what HMP’s `info stats` prints is read with its units, and has no number of its vCPU', () => {
  const text = `provider: kvm\r
    guest_mode (instant, boolean): no\r
    exits (cumulative): 70\r
    pf_taken (cumulative): 3\r
    halt_wait_ns (cumulative, ns): 900\r
    halt_wait_hist (log2-histogram, ns): [1]=0 [2]=4 [3]=1 \r
provider: kvm\r
    pages_4k (instant): 12\r
`
  const report = reportOf([{ name: 'hmp.txt', input: text }])
  expect(report.phases[0]).toMatchObject({
    counters: { exits: 70, halt_wait_ns: 900 },
    atEnd: { guest_mode: 0, pages_4k: 12 },
    histograms: { halt_wait_hist: [0, 4, 1] },
  })
  expect(report.schema.find(({ name }) => name === 'halt_wait_ns')).toMatchObject({ unit: 'seconds', exponent: -9 })
  expect(report.diagnostics.problems).toEqual([])
})

it('files of one moment are one sample: the VM of one, the vCPU of the other', () => {
  const inputs = [recorded('kvm-stats-fd-vcpu.bin'), recorded('kvm-stats-fd-vm.bin')]
  expect(readStats(inputs).samples).toHaveLength(1)
})
