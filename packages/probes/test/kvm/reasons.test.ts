import { describe, expect, it } from 'vitest'
import { exits, exitsJson, renderExits } from '../../src/index.ts'
import { reportOf } from './recordings.ts'

// Shapes of tables that people paste (perf's builtin-kvm.c, bcc's kvmexit.py, vmtop); the figures are our own.
const PERF = `
Analyze events for all VMs, all VCPUs:

             VM-EXIT    Samples  Samples%     Time%    Min Time    Max Time         Avg time

                 HLT         12    50.00%    99.80%      0.51us   9035.23us    752.10us ( +-   3.57% )
      IO_INSTRUCTION          9    37.50%     0.15%      0.62us      1.20us      0.91us ( +-   1.10% )
       EPT_MISCONFIG          3    12.50%     0.05%      0.40us      0.70us      0.55us ( +-   9.01% )

Total Samples:24, Total events handled time:9043.11us.
`

const read = (text: string): ReturnType<typeof reportOf> => reportOf([{ name: 'dir/table.txt', input: text }])
const reasonsOf = (text: string): (readonly (readonly [string, number])[] | undefined)[] =>
  read(text).phases.map(({ reasons }) => reasons?.map(({ name, count }) => [name, count] as const))

describe('a table of perf kvm stat', () => {
  it('is a phase with the reasons, the most frequent first, and with their sum', () => {
    const report = read(PERF)
    expect(report.phases).toMatchObject([
      {
        name: 'table.txt',
        counters: { HLT: 12, IO_INSTRUCTION: 9, EPT_MISCONFIG: 3 },
        kinds: { total: 24 },
        reasons: [
          { name: 'HLT', count: 12 },
          { name: 'IO_INSTRUCTION', count: 9 },
          { name: 'EPT_MISCONFIG', count: 3 },
        ],
      },
    ])
    expect(report.findings).toEqual([])
    expect(exitsJson(report)).toMatchObject({
      version: 1,
      accel: 'kvm',
      total: { name: 'total', kinds: { total: 24 } },
    })
  })

  it('has none of KVM’s counters: they are absent with the reason', () => {
    const { absent } = read(PERF)
    expect(absent.map(({ name }) => name)).toContain('io_exits')
    expect(absent.map(({ name }) => name)).not.toContain('exits')
    expect(new Set(absent.map(({ why }) => why))).toEqual(new Set(['a table of reasons has none of KVM’s counters']))
  })

  it('is read by its header: other machines and versions have other columns', () => {
    const columns = `
  Event name              Samples   Sample%        Time (ns)     Time%   Max Time (ns)   Min Time (ns)  Mean Time (ns)
  LOAD_GUEST_PAGE_FAULT       400    80.00%          1234567    70.00%            9000             100            3086
  WFI                         100    20.00%           529100    30.00%            8000             200            5291
`
    const moved = `
  Event name     Time%   Samples   Sample%
  DABT_LOW       70.00%      400    80.00%
  WFx            30.00%      100    20.00%
`
    expect(reasonsOf(columns)).toEqual([
      [
        ['LOAD_GUEST_PAGE_FAULT', 400],
        ['WFI', 100],
      ],
    ])
    expect(reasonsOf(moved)).toEqual([
      [
        ['DABT_LOW', 400],
        ['WFx', 100],
      ],
    ])
  })

  it('is one of several where it was refreshed', () => {
    const { phases } = read(PERF + PERF.replace(' 12 ', ' 13 ').replace(':24', ':25'))
    expect(phases.map(({ name, kinds }) => [name, kinds.total])).toEqual([
      ['table.txt', 24],
      ['table.txt 2', 25],
    ])
  })

  it('with codes that perf did not know keeps its sum and not its names', () => {
    const odd = PERF.replace(
      '      IO_INSTR',
      'unknown kvm exit code:62 on VMX\nunknown kvm exit code:9 on VMX\n      IO_INSTR',
    )
    const { phases, findings } = read(odd)
    expect(phases[0]?.kinds.total).toBe(24)
    expect(findings).toEqual([
      {
        name: 'reasons-untrusted',
        message:
          'the reasons in table.txt (perf kvm stat) are not to be trusted, only their sum is: the tool did not know 2 of the exit codes that it met',
      },
    ])
  })

  it('whose rows are not all there says so', () => {
    expect(read(PERF.replace(/^ +HLT.*\n/m, '')).findings).toEqual([
      {
        name: 'total-differs',
        message: 'the rows of table.txt make 12, and perf kvm stat says 24: rows are missing',
      },
    ])
  })

  it('without a row is no table', () => {
    const none = exits([{ name: 'x', input: PERF.split('\n').slice(0, 5).join('\n') }])
    expect(none).toMatchObject({ found: false, reason: 'no-statistics' })
  })
})

describe('a table of kvmexit', () => {
  const rows = [
    'Display kvm exit reasons and statistics for all threads... Hit Ctrl-C to end.',
    'PID      TID      KVM_EXIT_REASON                     COUNT',
    '^C1273551  1273568  EXIT_REASON_MSR_WRITE               6',
    '1273551  1273568  EXIT_REASON_HLT                     4',
    '1273551  1273569  EXIT_REASON_MSR_WRITE               5',
  ]

  it('adds up the threads, with what ended the tool glued to the first row', () => {
    expect(reasonsOf(rows.join('\n'))).toEqual([
      [
        ['MSR_WRITE', 11],
        ['HLT', 4],
      ],
    ])
  })

  it('has the reason alone where it was of one thread', () => {
    expect(reasonsOf('KVM_EXIT_REASON                     COUNT\nEXIT_REASON_HLT  4\n48  2\n')).toEqual([
      [
        ['HLT', 4],
        ['48', 2],
      ],
    ])
  })

  it('that was read with the wrong field is not believed', () => {
    const { findings } = read([...rows, '1273551  1273569  EXIT_REASON_VMLAUNCH   9'].join('\n'))
    expect(findings.map(({ message }) => message)).toEqual([
      'the reasons in table.txt (kvmexit) are not to be trusted, only their sum is: VMLAUNCH would be exits of a guest that is a hypervisor, or of firmware',
    ])
  })
})

describe('the exits of vmtop', () => {
  it('are a list that may be wrapped, without the reasons of 0', () => {
    const text = '17,web,2,0.52,33.1\nexception_nmi: 0, hlt: 12, cpuid: 0,\nmsr_write: 33\n'
    expect(reasonsOf(text)).toEqual([
      [
        ['msr_write', 33],
        ['hlt', 12],
      ],
    ])
    expect(read(text).phases[0]?.kinds.total).toBe(45)
  })

  it('of a second row are a second table', () => {
    const text = 'hlt: 1, msr_write: 2\nhlt: 3, msr_write: 4\n'
    expect(read(text).phases.map(({ kinds }) => kinds.total)).toEqual([3, 7])
  })

  it('are no single pair: that is a line of anything', () => {
    expect(exits([{ name: 'x', input: 'pages: 7\n' }]).found).toBe(false)
  })
})

it('counters of KVM go before tables in the same input, and that is said', () => {
  const { phases, findings } = reportOf([
    { name: 'a', input: 'exits (cumulative): 7\n' },
    { name: 'b', input: PERF },
  ])
  expect(phases.map(({ name, reasons }) => [name, reasons])).toEqual([['a', undefined]])
  expect(findings.at(-1)).toEqual({
    name: 'tables-left-out',
    message: 'b has a table of reasons, which is left out beside counters of KVM: give it alone',
  })
})

it('is printed as a table a reason, with its share', () => {
  expect(renderExits(read(PERF))).toBe(`exits by reason · accelerator kvm · as another tool counted them

  table.txt       exits     %
  HLT                12  50.0
  IO_INSTRUCTION      9  37.5
  EPT_MISCONFIG       3  12.5
  total              24
`)
})
