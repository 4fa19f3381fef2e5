import { describe, expect, it } from 'vitest'
import { jobs } from '../../../src/index.ts'
import { fixture } from '../recordings.ts'
import { queueOf, text } from './queues.ts'

interface GoldenTable {
  readonly jobs: number
  readonly running: readonly string[]
  readonly waiting: number
  readonly list: readonly {
    readonly id: number
    readonly unit: string
    readonly type: string
    readonly state: string
    readonly waitingFor: readonly number[]
    readonly blocking: readonly number[]
  }[]
}

const GOLDEN = (JSON.parse(fixture('jobs-golden.json')) as { readonly 'b12-midboot': { [file: string]: GoldenTable } })[
  'b12-midboot'
]

const table = (lines: string): { readonly name: string; readonly input: string } => ({ name: 'list', input: lines })

describe.each(Object.keys(GOLDEN).filter((file) => file.startsWith('list-jobs')))(
  '%s of a boot in its middle',
  (file) => {
    const golden = GOLDEN[file] as GoldenTable
    const report = queueOf([text(`b12-midboot.${file}`)])

    it('has the golden rows', () => {
      expect(report.jobs.map(({ id, unit, type, state }) => ({ id, unit, type, state }))).toEqual(
        golden.list.map(({ id, unit, type, state }) => ({ id, unit, type, state })).toSorted((a, b) => a.id - b.id),
      )
      expect(report.queued.length).toBe(golden.jobs)
      expect(report.jobs.filter(({ state }) => state === 'waiting').length).toBe(golden.waiting)
      expect(report.diagnostics).toMatchObject({ unparsed: 0, problems: [] })
    })

    it('has the golden relations, each seen from both ends', () => {
      const pairs = golden.list.flatMap(({ id, waitingFor, blocking }) => [
        ...waitingFor.map((on) => `${id} on ${on}`),
        ...blocking.map((other) => `${other} on ${id}`),
      ])
      const said = [...new Set(pairs)].toSorted()
      expect(report.jobs.flatMap(({ id, waitedOn }) => waitedOn.map((on) => `${id} on ${on}`)).toSorted()).toEqual(said)
      expect(report.jobs.flatMap(({ id, blocking }) => blocking.map((one) => `${one} on ${id}`)).toSorted()).toEqual(
        said,
      )
    })
  },
)

describe('relations', () => {
  it('that contradict each other are kept and named: systemctl asks job by job while they end', () => {
    const { relations, jobs: all, findings } = queueOf([text('b12-midboot.list-jobs-both.0')])
    expect(relations).toEqual({
      waitingFor: 71,
      blocking: 72,
      contradicting: [
        { id: 6, on: 27, saidBy: 'blocking' },
        { id: 20, on: 27, saidBy: 'blocking' },
        { id: 31, on: 27, saidBy: 'blocking' },
        { id: 35, on: 29, saidBy: 'waiting' },
        { id: 46, on: 29, saidBy: 'waiting' },
      ],
    })
    expect(all.find(({ id }) => id === 20)?.waitedOn).toContain(27)
    expect(findings.map(({ name }) => name)).toEqual(['relations-contradict'])
  })

  it('mean what their words say: 247 prints under --after what 252 prints under --before', () => {
    const rows = (words: string, first: number, second: number): string =>
      `JOB UNIT TYPE STATE\n${first} a.service start waiting\n└─  \t${words} job ${second} (b.service/start) -     -\n${second} b.service start waiting\n\n2 jobs listed.\n`
    const waits = queueOf([table(rows('waiting for', 1, 2))]).jobs.map(({ id, waitedOn }) => [id, waitedOn])
    const blocks = queueOf([table(rows('blocking', 1, 2))]).jobs.map(({ id, waitedOn }) => [id, waitedOn])
    expect(waits).toEqual([
      [1, [2]],
      [2, []],
    ])
    expect(blocks).toEqual([
      [1, []],
      [2, [1]],
    ])
  })

  it('are read with the glyphs of an ASCII locale', () => {
    const ascii = fixture('b12-midboot.list-jobs-both.0').replaceAll('└─', '`-')
    const { diagnostics: _, ...report } = queueOf([table(ascii)])
    const { diagnostics: __, ...golden } = queueOf([text('b12-midboot.list-jobs-both.0')])
    expect(report).toEqual(golden)
  })

  it('may name a job without a row, such as with a pattern', () => {
    const { jobs: all, findings } = queueOf([
      table('97 ssh.service start waiting\n└─ \twaiting for job 77 (network.target/start) -     -\n'),
    ])
    expect(all).toMatchObject([
      { id: 77, unit: 'network.target', state: 'unknown', blocking: [97] },
      { id: 97, waitedOn: [77] },
    ])
    expect(findings.map(({ name }) => name)).toEqual(['named-only'])
  })

  it('come from After= where the table has none, and from nowhere where the units are not there either', () => {
    const both = queueOf([text('b12-midboot.list-jobs.1'), text('b12-rec.show.txt')])
    expect(both.jobs.map(({ unit, waitedOn }) => [unit, waitedOn])).toEqual([
      ['graphical.target', [2]],
      ['multi-user.target', [87]],
      ['systemd-update-utmp-runlevel.service', [1, 2]],
      ['e2scrub_reap.service', []],
    ])
    expect(queueOf([text('b12-midboot.list-jobs.1')]).findings.map(({ name }) => name)).toEqual(['no-after'])
  })
})

describe('a table as a terminal has it', () => {
  const plain =
    'JOB  UNIT             TYPE  STATE\n1332 late.service     start waiting\n1272 slow.service     start running\n\n2 jobs listed.\n'

  it.each([
    [
      '252',
      '\u001b[0m\u001b[0;4mJOB\u001b[0m\u001b[0m\u001b[0;4m UNIT\u001b[0m\u001b[0m\u001b[0;4m TYPE \u001b[0m\u001b[0m\u001b[0;4m STATE  \u001b[0m\n1332 late.service     start waiting\n1272 \u001b[0;1;39mslow.service    \u001b[0m start \u001b[0;1;39mrunning\u001b[0m\n\n\u001b[0;1;39m2 jobs listed\u001b[0m.\n',
    ],
    [
      '262',
      '\u001b[4mJOB\u001b[0m\u001b[4m \u001b[0m\u001b[4mUNIT\u001b[0m\u001b[4m \u001b[0m\u001b[4mTYPE\u001b[0m\u001b[4m  \u001b[0m\u001b[4mSTATE\u001b[0m\n1332 late.service     start waiting\n1272 \u001b[0;1;39mslow.service\u001b[0m     start \u001b[0;1;39mrunning\u001b[0m\n\n\u001b[1m2\u001b[0m jobs listed.\n',
    ],
    ['a serial line', plain.replaceAll('\n', '\r\n')],
    ['a console that the kernel writes to', plain.replaceAll('\n', '\n[   12.345678] random: crng init done\n')],
    ['a paste without its last newline', plain.trimEnd()],
    [
      '--no-legend, pasted without its last newline',
      '1332 late.service start waiting\n1272 slow.service start running',
    ],
  ])('of %s has the same jobs', (_name, input) => {
    const report = queueOf([table(input)])
    expect(report.jobs).toEqual(queueOf([table(plain)]).jobs)
    expect(report.diagnostics.problems.filter(({ severity }) => severity === 'data-loss')).toEqual([])
  })

  it('keeps jobs whose names it cut, and completes them from another input', () => {
    const cut = '1332 systemd-net…online.service start running\n'
    const alone = queueOf([table(cut)])
    expect(alone.jobs).toMatchObject([{ id: 1332, unit: 'systemd-net…online.service', cut: true, state: 'running' }])
    expect(alone.diagnostics.problems).toMatchObject([{ name: 'cut-name', severity: 'info', lines: [1] }])
    const whole = table('1332 systemd-networkd-wait-online.service start running\n')
    for (const inputs of [
      [table(cut), { ...whole, name: 'whole' }],
      [{ ...whole, name: 'whole' }, table(cut)],
    ])
      expect(queueOf(inputs).jobs).toMatchObject([{ unit: 'systemd-networkd-wait-online.service' }])
    const other = queueOf([table(cut), { name: 'other', input: '1332 ssh.service start running\n' }])
    expect(other.diagnostics.problems.map(({ name }) => name)).toEqual(['cut-name', 'other-unit'])
  })

  it('loses what a message broke, with its line, and no relation moves to another row', () => {
    const { jobs: all, diagnostics } = queueOf([
      table(
        '1 a.service start running\n2 b.ser[   12.345678] usb 1-1: new\nvice start waiting\n└─ \twaiting for job 3 (c.service/start) -     -\n3 c.service start running\n3 jobs listed.\n',
      ),
    ])
    expect(all.map(({ id, waitedOn }) => [id, waitedOn])).toEqual([
      [1, []],
      [3, []],
    ])
    expect(diagnostics.problems.map(({ name, lines, about }) => [name, lines, about])).toEqual([
      ['torn-line', [2, 3], []],
      ['lost-relation', [4], []],
      ['count-differs', [6], ['3 listed, 2 read']],
    ])
  })

  it('does not take the end of a row that a message without a stamp broke for a row', () => {
    const broken =
      '1 a.service start running\n13random: crng init done\n32 b.service start waiting\n3 c.service start waiting\n'
    const { jobs: all, diagnostics } = queueOf([table(broken)])
    expect(all.map(({ id }) => id)).toEqual([1, 3])
    expect(diagnostics.problems.map(({ name, lines }) => [name, lines])).toEqual([
      ['unparsed', [2]],
      ['torn-row', [3]],
    ])
  })
})

describe('no queue', () => {
  it.each(['No jobs running.\n', 'No jobs listed.\n', '\u001b[0;1;32mNo jobs running.\u001b[0m\n', 'No jobs running.'])(
    '%j is an answer: no job',
    (input) => {
      expect(queueOf([table(input)])).toMatchObject({ jobs: [], queued: [], sources: ['list-jobs'] })
    },
  )

  it.each([
    ['nothing at all', ''],
    ['a localised table', 'AUFTRAG EINHEIT TYP STATUS\n12 ssh.service starten wartend\n'],
    ['other systemctl output', 'UNIT LOAD ACTIVE SUB DESCRIPTION\nssh.service loaded active running OpenBSD\n'],
    ['ps', 'PID TTY STAT TIME\n1 ? Ss 0:01 /sbin/init\n'],
  ])('%s is none, with a sentence', (_name, input) => {
    const result = jobs([table(input)])
    expect(result).toMatchObject({ found: false, reason: 'no-jobs' })
    expect(result.found ? '' : result.message).toMatch(/^nothing in the input tells of jobs; give /)
    expect(result.diagnostics.unparsed).toBe(input.split('\n').length - 1)
  })

  it('counts a row with words that systemd does not have', () => {
    const { jobs: all, diagnostics } = queueOf([
      table('JOB UNIT TYPE STATE\n1 a.service start running\n2 b.service starten wartend\n0 c.service start waiting\n'),
    ])
    expect(all.map(({ id }) => id)).toEqual([1])
    expect(diagnostics.problems.map(({ name, count, lines }) => [name, count, lines])).toEqual([['bad-row', 2, [3, 4]]])
  })
})
