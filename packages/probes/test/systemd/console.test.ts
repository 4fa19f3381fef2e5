import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readSystemd, waits } from '../../src/index.ts'
import type { SystemdUnit } from '../../src/systemd/model.ts'
import { aBoot, MANAGER_TIMES, showManager, showUnits, type UnitSpec } from './a-systemd.ts'
import { fixture, recording, reportOf } from './recordings.ts'

const MESSAGES = [
  '[   12.345678] random: crng init done',
  '[    4.000001] systemd[1]: Id=fake.service After=x.service',
  '<6>[    4.000001][    T1] ActiveEnterTimestampMonotonic=1',
  '[  OK  ] Started ssh.service - OpenBSD Secure Shell server.',
  '[\u001b[0;32m  OK  \u001b[0m] Reached target \u001b[0;1;39mmulti-user.target\u001b[0m.',
]
const text = fixture('b12x-nasty.show.txt')

/** A unit without what no figure is based on. */
function timed(unit: SystemdUnit | undefined): Partial<SystemdUnit> {
  const { fragmentPath: _, ...rest } = unit ?? {}
  return rest
}

const whole = readSystemd([{ name: 'show', input: text }]).state

/** The text with console messages written into it at some offsets, each with its line end. */
function interrupted(into: string, at: readonly (readonly [number, string])[]): string {
  return at
    .map(([offset, message]) => [offset % (into.length + 1), message] as const)
    .toSorted(([a], [b]) => b - a)
    .reduce((written, [offset, message]) => `${written.slice(0, offset)}${message}\r\n${written.slice(offset)}`, into)
}

const interruptions = (count: number): fc.Arbitrary<[number, string][]> =>
  fc.array(fc.tuple(fc.nat(), fc.constantFrom(...MESSAGES)), { minLength: 1, maxLength: count })

describe('a serial console', () => {
  it.each(['show.txt', 'dump.txt'])(
    'changes nothing with CRLF, escape codes and messages between the lines of %s',
    (file) => {
      const clean = fixture(`b12x-nasty.${file}`)
      const noisy = clean
        .split('\n')
        .map(
          (line, index) =>
            `${index % 7 === 0 ? `${MESSAGES[index % MESSAGES.length]}\r\n` : ''}${line}${index % 5 === 0 ? '\u001b[0m' : ''}\r`,
        )
        .join('\n')
      const read = readSystemd([{ name: 'console', input: noisy }])
      expect(read.state).toEqual(readSystemd([{ name: 'file', input: clean }]).state)
      expect(read.diagnostics.map(({ name }) => name)).toEqual(['console-line'])
    },
  )

  it('never changes a unit with a message in the middle of a line: the unit is whole, or it is said to be damaged', () => {
    fc.assert(
      fc.property(interruptions(30), (at) => {
        const { state, diagnostics } = readSystemd([{ name: 'console', input: interrupted(text, at) }])
        for (const unit of state?.units.values() ?? []) expect(timed(unit)).toEqual(timed(whole?.units.get(unit.id)))
        const lost = [...(whole?.units.keys() ?? [])].filter((id) => state?.units.has(id) !== true)
        const said = diagnostics.filter(({ severity }) => severity === 'data-loss')
        expect(lost.length === 0 || said.length > 0).toBe(true)
      }),
      { numRuns: 25 },
    )
  })

  it('never changes a unit of a dump either', () => {
    const dump = fixture('b12-midboot.dump.txt')
    const clean = readSystemd([{ name: 'dump', input: dump }]).state
    fc.assert(
      fc.property(interruptions(30), (at) => {
        const { state } = readSystemd([{ name: 'console', input: interrupted(dump, at) }])
        // A torn stamp of the kernel's start moves the zero of the clock; the units are then of another clock.
        fc.pre(state?.manager?.times['userspace'] === clean?.manager?.times['userspace'])
        for (const unit of state?.units.values() ?? []) expect(timed(unit)).toEqual(timed(clean?.units.get(unit.id)))
      }),
      { numRuns: 25 },
    )
  })

  it('never changes a unit where the text is cut off', () => {
    fc.assert(
      fc.property(fc.nat(), (cut) => {
        const { state } = readSystemd([{ name: 'console', input: text.slice(0, cut % text.length) }])
        for (const unit of state?.units.values() ?? []) expect(timed(unit)).toEqual(timed(whole?.units.get(unit.id)))
      }),
      { numRuns: 60 },
    )
  })

  it('names the unit and the line of what was lost, and which path it may be missing on', () => {
    const units: readonly UnitSpec[] = [
      { id: 'slow.service', at: [1_600_000, 1_610_000, 5_000_000] },
      { id: 'fast.service', at: [1_600_000, 1_610_000, 1_700_000] },
      { id: 'multi-user.target', after: ['slow.service', 'fast.service'], at: [5_000_100, 5_000_200, 5_000_200] },
    ]
    const torn = showUnits(units)
      .replace('Monotonic=5000000', 'Monotonic=50[    5.1] x: up\r\n00000')
      .replace('[    5.1]', '[    5.100000]')
    const report = reportOf([
      { name: 'console', input: torn },
      { name: 'manager', input: showManager() },
    ])
    expect(report.diagnostics.damagedUnits).toEqual(['slow.service'])
    expect(report.diagnostics.problems.map(({ name, lines, about }) => [name, lines, about])).toEqual([
      ['torn-line', [6, 7], []],
      ['damaged-unit', [1], ['slow.service']],
    ])
    expect(report.notWaitedFor).toEqual([{ unit: 'multi-user.target', after: 'slow.service', reason: 'damaged' }])
    expect(report.findings.map(({ name }) => name)).toEqual(['damaged-units'])
  })

  it('does not lose the first line of a block to a message', () => {
    const restarted: UnitSpec = { id: 'a.service', at: [1_600_000, 1_700_000, 1_800_000] }
    const input = `NRestarts=1[    3.000000] x\r\n2\r\n${showUnits([restarted])}`
    expect(readSystemd([{ name: 'console', input }]).state).toBeUndefined()
    expect(
      readSystemd([{ name: 'file', input: `NRestarts=12\n${showUnits([restarted])}` }]).state?.units.get('a.service')
        ?.restarts,
    ).toBe(12)
  })

  it.each([
    [
      'two messages in one line',
      'Activ[    3.000000] x\r\neEnterTime[    3.000001] y\r\nstampMonotonic=7',
      'torn-line',
    ],
    ['a message without a stamp', 'NRestarandom: crng init done\r\nts=12', 'unparsed'],
    ['a lost blank line', 'Id=b.service', 'no-id'],
  ])('%s costs the unit, and nothing is read from the pieces', (_name, inserted, diagnostic) => {
    const block = showUnits([{ id: 'a.service', at: [2e6, 2e6, 3e6] }])
    const { state, diagnostics } = readSystemd([
      { name: 'console', input: block.replace('ActiveExit', `${inserted}\r\nActiveExit`) },
    ])
    expect(state?.units.get('a.service')).toBeUndefined()
    expect(diagnostics.map(({ name }) => name)).toContain(diagnostic)
  })

  it('does not take the rest of a line that two messages broke for a property', () => {
    const block = showUnits([{ id: 'a.service', at: [2e6, 2e6, 3e6] }])
    const torn = 'Description=x[    3.000000] one\r\n y[    3.000001] two\r\nNRestarts=12\r\n'
    const { state } = readSystemd([{ name: 'console', input: `${torn}${block}` }])
    expect(state?.units.get('a.service')?.restarts).toBe(0)
  })

  it('takes both outputs from one capture with prompts around them', () => {
    const [units, manager] = recording('b12-plain')
    const input = `root@vm:~# systemctl show\r\n${manager.input}\r\nroot@vm:~# systemctl show --all '*'\r\n${units.input}root@vm:~# `
    const { diagnostics, ...one } = reportOf([{ name: 'capture', input }])
    const { diagnostics: _, ...two } = reportOf(recording('b12-plain'))
    expect(one).toEqual(two)
    expect(diagnostics.unparsed).toBe(2)
    expect(diagnostics.damagedUnits).toEqual([])
  })
})

describe('two captures of one boot', () => {
  it('give the latest state of each unit and of PID 1, in either order', () => {
    const early = aBoot(
      [
        { id: 'a.service', at: [2e6, 2e6] },
        { id: 'b.service', at: [2e6, 2e6, 3e6] },
      ],
      { ...MANAGER_TIMES, Finish: 0 },
    )
    const late = aBoot([
      { id: 'a.service', at: [2e6, 2e6, 7e6] },
      { id: 'b.service', at: [2e6, 2e6, 3e6] },
    ])
    const report = reportOf([...early, ...late], { target: 'a.service' })
    expect(report).toMatchObject({ totalUs: 6e6, findings: [] })
    expect(report.diagnostics.problems.map(({ name, count }) => [name, count])).toEqual([['seen-twice', 1]])
    expect(reportOf([...late, ...early], { target: 'a.service' })).toMatchObject({ totalUs: 6e6, findings: [] })
  })
})

describe('foreign text', () => {
  const { message: _, ...nothing } = { found: false, target: 'multi-user.target', reason: 'no-units', message: '' }

  it.each([
    ['nothing', ''],
    ['half a block', 'Id=multi-user.target\nNames=multi-user.target\n'],
    ['another tool’s output', 'UNIT LOAD ACTIVE SUB DESCRIPTION\nssh.service loaded active running OpenBSD\n'],
    ['JSON', '[{"unit":"ssh.service","after":["a=b"]}]'],
    [
      'a localized dump',
      '-> Unit multi-user.target:\n\tBeschreibung: Mehrbenutzer\n\tActive Enter Timestamp: Mo 2026-11-30 21:22:39 MEZ\n',
    ],
    ['only PID 1', showManager()],
  ])('%s is no answer, with a sentence', (_name, input) => {
    const result = waits([{ name: 'pasted', input }])
    expect(result).toMatchObject(nothing)
    expect(result.found ? '' : result.message).toMatch(/^[a-z].{30,}/)
  })

  it('never makes it throw', () => {
    const piece = fc.constantFrom(
      'Id=',
      'a.service',
      '\n',
      '\n\n',
      '\t',
      '-> Unit ',
      ':',
      '=',
      'After=',
      'n/a',
      '[    1.000000] ',
      '\r',
      ...text.split('\n').slice(0, 60),
    )
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string()), { maxLength: 80 }), (pieces) => {
        expect(waits([{ name: 'x', input: pieces.join('') }]).diagnostics.lines).toBeGreaterThanOrEqual(0)
      }),
      { numRuns: 300 },
    )
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), (bytes) => {
        expect(waits([{ name: 'x', input: bytes }]).found).toBe(false)
      }),
    )
  })

  it('a line of 100 MB is dropped, and the rest is read', () => {
    const boot = aBoot([{ id: 'multi-user.target', at: [1_600_000, 1_600_000, 1_600_000] }])
    const report = reportOf([...boot, { name: 'long', input: 'x'.repeat(100 * 1024 * 1024) }])
    expect(report.totalUs).toBe(600_000)
    expect(report.diagnostics.problems.map(({ name, count }) => [name, count])).toEqual([['line-too-long', 1]])
  })

  it('the manager of a user is no boot, by its group and by its unit files', () => {
    const units = showUnits([
      { id: 'default.target', at: [1, 1, 1], more: { FragmentPath: '/usr/lib/systemd/user/default.target' } },
    ])
    const byFiles = waits([{ name: 'u', input: units }], { target: 'default.target' })
    const byGroup = waits(
      [
        ...aBoot([{ id: 'default.target', at: [1, 1, 1] }]),
        {
          name: 'm',
          input: `${showManager({ Userspace: 5, Finish: 9, UnitsLoad: 7, InitRD: 4, SecurityStart: 5, SecurityFinish: 5, GeneratorsStart: 5, GeneratorsFinish: 5, UnitsLoadStart: 5, UnitsLoadFinish: 5 })}ControlGroup=/user.slice/user-0.slice/user@0.service\n`,
        },
      ],
      { target: 'default.target' },
    )
    expect([byFiles, byGroup]).toMatchObject([{ reason: 'not-a-boot' }, { reason: 'not-a-boot' }])
  })
})
