import { describe, expect, it } from 'vitest'
import { initcalls } from '../../../src/index.ts'
import { at, callOf, linux, pair, recorded, reportOf, switched } from './logs.ts'

const LOG = `${linux('6.1.0')}${pair('early_init', 100_000, 102_500, 4000)}${switched(200_000)}${pair('late_init', 300_000, 300_080, 50, { returned: -19 })}`

/** The same facts, whatever stands before each line. */
const FACTS = [
  ['early_init', 0, 2500, 'timestamps'],
  ['late_init', -19, 50, 'usecs'],
]

function facts(log: string): unknown[] {
  return reportOf(log).calls.map(({ name, returned, durationUs, source }) => [name, returned, durationUs, source])
}

function everyLine(change: (line: string) => string): string {
  return LOG.trimEnd().split('\n').map(change).join('\n').concat('\n')
}

describe('a log is read', () => {
  it.each([
    ['as dmesg prints it', LOG],
    ['with levels, as dmesg --raw prints it', everyLine((line) => `<7>${line}`)],
    ['from a serial console', everyLine((line) => `${line}\r`)],
    [
      'with escape codes, such as those of firmware before the first line',
      `\u001bc\u001b[?7l\u001b[2J${everyLine((line) => `\u001b[0m${line}\u001b[K`)}`,
    ],
    ['with PRINTK_CALLER', everyLine((line) => line.replace('] ', '][    T1] '))],
    ['with PRINTK_CALLER and a thread of five digits', everyLine((line) => line.replace('] ', '][T12345] '))],
    ['with the step that dmesg --show-delta adds', everyLine((line) => line.replace('] ', ' <    0.000012>] '))],
    ['from journald, with the kernel’s stamp', everyLine((line) => `Mar 06 13:18:23 guest kernel: ${line}`)],
    ['from journald in another language', everyLine((line) => `6. März 13:18:23 gast kernel: ${line}`)],
    ['from journald with monotonic stamps', everyLine((line) => line.replace('] ', '] guest kernel: '))],
    ['from the journal of a VM’s service', everyLine((line) => `Mar 06 13:18:23 host microvm@a[812]: ${line}`)],
    ['of a container’s log', everyLine((line) => `vm_1  | ${line}`)],
    [
      'from /dev/kmsg',
      everyLine((line) =>
        line.replace(/^\[ *(\d+)\.(\d{6})\] /, (_, s: string, us: string) => `7,12,${Number(s) * 1e6 + Number(us)},-;`),
      ),
    ],
    [
      'from /dev/kmsg with callers',
      everyLine((line) =>
        line.replace(
          /^\[ *(\d+)\.(\d{6})\] /,
          (_, s: string, us: string) => `7,12,${Number(s) * 1e6 + Number(us)},-,caller=T1;`,
        ),
      ),
    ],
    ['where user space had left its line open', everyLine((line) => `insmod virtio ok${line}`)],
  ])('%s', (_name, log) => {
    expect(facts(log)).toEqual(FACTS)
  })

  it.each([
    ['without stamps (printk.time=0)', (line: string) => line.replace(/^\[[^\]]*\] /, '')],
    [
      'from journald without the kernel’s stamp',
      (line: string) => line.replace(/^\[[^\]]*\] /, 'Mar 06 13:18:23 guest kernel: '),
    ],
    [
      'with wall-clock times of dmesg --ctime',
      (line: string) => line.replace(/^\[[^\]]*\] /, '[Mon Mar  6 13:18:23 2023] '),
    ],
    [
      'with times of dmesg --time-format=iso',
      (line: string) => line.replace(/^\[[^\]]*\] /, '2023-03-06T13:18:23,170841+01:00 '),
    ],
  ])('%s: whole ticks before the switch, which are called that', (_name, change) => {
    const report = reportOf(everyLine(change))
    expect(report.calls).toMatchObject([
      { name: 'early_init', durationUs: 4000, source: 'usecs', quantised: true, errorUs: 4000 },
      { name: 'late_init', durationUs: 50, source: 'usecs' },
    ])
    expect(report.calls[1]).not.toHaveProperty('quantised')
    expect(report.calls[0]).not.toHaveProperty('startUs')
    expect(report.summary).not.toHaveProperty('inCallsUs')
    expect(report.findings.map(({ name }) => name)).toContain('no-stamps')
  })
})

describe('what says `calling` and is no initcall', () => {
  it('is a fixup of a device, with its own time', () => {
    const fixup = `${at(150_000)}pci 0000:00:1f.0: calling  quirk_ich7_lpc+0x0/0xc0 @ 1\n${at(150_700)}pci 0000:00:1f.0: quirk_ich7_lpc+0x0/0xc0 took 3906 usecs\n`
    const late = `${at(400_000)}pci 0000:00:1f.2: calling  quirk_sata+0x0/0xc0 @ 1\n${at(402_100)}pci 0000:00:1f.2: quirk_sata+0x0/0xc0 took 2000 usecs\n`
    const { calls, fixups, summary } = reportOf(LOG.replace(at(200_000), fixup + at(200_000)) + late)
    expect(calls).toHaveLength(2)
    expect(summary).toMatchObject({ unfinished: 0, fixups: 2 })
    expect(fixups).toMatchObject([
      { device: '0000:00:1f.0', name: 'quirk_ich7_lpc', durationUs: 700, source: 'timestamps' },
      // ns >> 10 on every kernel.
      { device: '0000:00:1f.2', name: 'quirk_sata', durationUs: 2048, source: 'usecs' },
    ])
  })

  it('is a fixup too where nothing stamps the line', () => {
    const log = 'Mar 06 13:18:23 guest kernel: pci 0000:00:1f.0: calling  quirk_ich7_lpc+0x0/0xc0 @ 1\n'
    const { calls, fixups } = reportOf(
      everyLine((line) => line.replace(/^\[[^\]]*\] /, 'Mar 06 13:18:23 guest kernel: ')) + log,
    )
    expect([calls.length, fixups.length]).toEqual([2, 1])
  })

  it('is suspend or shutdown', () => {
    const others = `${at(500_000)}PM: Calling i8259A_shutdown+0x0/0x20\n${at(500_100)}calling  0000:00:1f.2+ @ 123, parent: pci0000:00\n`
    const { summary, diagnostics } = reportOf(LOG + others)
    expect(summary).toMatchObject({ count: 2, unfinished: 0 })
    expect(diagnostics.problems).toMatchObject([{ name: 'other-calling', count: 2, lines: [7, 8] }])
  })

  it('is not mistaken for one by a word that ends like it', () => {
    const name = 'deferred_probe_initcall'
    const report = reportOf(LOG + pair(name, 400_000, 400_100, 90))
    expect(callOf(report, name)).toMatchObject({ durationUs: 90, returned: 0 })
    expect(report.diagnostics.unparsed).toBe(0)
  })
})

describe('names', () => {
  it('of clang’s LTO, and without a symbol table, are read as they are', () => {
    const report = reportOf(
      `${LOG}${at(400_000)}calling  __initstub__kmod_core__420_2134_regulator_init1+0x0/0x8 @ 1\n${at(400_100)}initcall __initstub__kmod_core__420_2134_regulator_init1+0x0/0x8 returned 0 after 70 usecs\n${at(400_200)}calling  0xffffffff81a2b3c4 @ 1\n${at(400_300)}initcall 0xffffffff81a2b3c4 returned 0 after 60 usecs\n`,
    )
    expect(callOf(report, '__initstub__kmod_core__420_2134_regulator_init1').durationUs).toBe(70)
    expect(callOf(report, '0xffffffff81a2b3c4').durationUs).toBe(60)
  })

  it('that repeat are kept apart, each with its own return', () => {
    const report = reportOf(
      LOG + pair('init', 400_000, 400_010, 5) + pair('init', 400_020, 401_020, 990, { returned: 62 }),
    )
    expect([callOf(report, 'init').durationUs, callOf(report, 'init', 2).durationUs]).toEqual([5, 990])
  })

  it('of one function in two modules are two calls, whichever returns first', () => {
    const report = reportOf(
      `${LOG}${at(400_000)}calling  init+0x0/0x40 [a] @ 10\n${at(400_010)}calling  init+0x0/0x40 [b] @ 11\n${at(400_500)}initcall init+0x0/0x40 [a] returned 0 after 480 usecs\n${at(409_010)}initcall init+0x0/0x40 [b] returned 0 after 9000 usecs\n`,
    )
    expect(report.calls.slice(2).map(({ module, durationUs }) => [module, durationUs])).toEqual([
      ['a', 500],
      ['b', 9000],
    ])
  })

  it('of modules have no level, and calls behind a level line have it', () => {
    const log = `${linux('6.17.0')}${at(0)}entering initcall level: core\n${pair('a', 1000, 1100, 0)}${at(1200)}entering initcall level: late\n${pair('b', 1300, 1400, 0)}${pair('c', 1500, 1600, 0, { module: 'm', pid: 90 })}${at(2000)}Run /init as init process\n${pair('d', 2500, 2600, 0, { pid: 91 })}`
    expect(reportOf(log).calls.map(({ name, level }) => [name, level])).toEqual([
      ['a', 'core'],
      ['b', 'late'],
      ['c', undefined],
      ['d', undefined],
    ])
  })
})

describe('a call without its return', () => {
  it('is unfinished and has no duration, and is the one that a panic came in', () => {
    const log = `${LOG}${at(400_000)}calling  bad_init+0x0/0x40 @ 1\n${at(400_100)}some other line\n${at(400_200)}Kernel panic - not syncing: Fatal exception\n`
    const report = reportOf(log)
    expect(callOf(report, 'bad_init')).toMatchObject({ unfinished: true, unknown: 'unfinished' })
    expect(callOf(report, 'bad_init')).not.toHaveProperty('durationUs')
    expect(report.panic).toMatchObject({ call: 2, line: 9, text: 'Kernel panic - not syncing: Fatal exception' })
    expect(report.findings.find(({ name }) => name === 'unfinished-at-panic')?.message).toContain(
      'panicked in bad_init',
    )
  })

  it('of the thread that panicked is the one, where threads are told', () => {
    const log = `${at(0)}[    T0] Linux version 6.1.0 x\n[    0.400000][    T1] calling  mine_init+0x0/0x4 @ 1\n[    0.410000][   T90] calling  other_init+0x0/0x4 [m] @ 90\n[    0.420000][    T1] Kernel panic - not syncing: VFS\n`
    const report = reportOf(log)
    expect(report.calls[report.panic?.call ?? -1]?.name).toBe('mine_init')
  })

  it('when no panic came is the one that the log ends in', () => {
    const report = reportOf(`${LOG}${at(400_000)}calling  slow_init+0x0/0x40 @ 1\n`)
    expect(report).not.toHaveProperty('panic')
    expect(report.findings.find(({ name }) => name === 'unfinished-at-end')?.message).toContain('slow_init')
  })

  it('has none to blame when the kernel panicked between calls', () => {
    const report = reportOf(`${LOG}${at(400_000)}Kernel panic - not syncing: VFS: Unable to mount root fs\n`)
    expect(report.panic).not.toHaveProperty('call')
    expect(report.summary.unfinished).toBe(0)
  })

  it('has returned all the same when its thread made another call: the line was lost', () => {
    const log = `${LOG}${at(400_000)}calling  lost_init+0x0/0x40 @ 1\n${pair('next_init', 401_000, 401_100, 90)}`
    const report = reportOf(log)
    expect(callOf(report, 'lost_init')).toMatchObject({ unknown: 'return-lost' })
    expect(callOf(report, 'lost_init')).not.toHaveProperty('unfinished')
    expect(report.summary).toMatchObject({ unfinished: 0, count: 4, paired: 3 })
    expect(report.diagnostics.problems).toMatchObject([{ name: 'return-lost', about: ['lost_init'] }])
  })

  it('and a return without its call, in a log whose beginning is gone, has no start', () => {
    const report = reportOf(
      `${at(100)}initcall first_init+0x0/0x40 returned 0 after 123 usecs\n${pair('b', 200, 300, 77)}`,
    )
    expect(callOf(report, 'first_init')).toMatchObject({ returned: 0, durationUs: 123, source: 'usecs' })
    expect(callOf(report, 'first_init')).not.toHaveProperty('startUs')
    expect(report.findings.map(({ name }) => name)).toContain('begins-late')
  })

  it('is torn where the log is cut within the line', () => {
    const report = reportOf(`${LOG}${at(400_000)}calling  cut_in`)
    expect(report.summary).toMatchObject({ count: 2, unfinished: 0 })
    expect(report.diagnostics.problems).toMatchObject([{ name: 'torn-tail', lines: [7] }])
  })
})

describe('several boots in one log', () => {
  const other = `${linux('5.10.1')}${pair('old_init', 1000, 1100, 0)}`
  it('are told apart, and the last one is used', () => {
    const report = reportOf(other + LOG)
    expect(report).toMatchObject({ kernel: '6.1.0', boot: { number: 2, of: 2 } })
    expect(report.diagnostics.problems).toMatchObject([{ name: 'other-boot', count: 1 }])
  })

  it('can be asked for by number', () => {
    expect(reportOf(other + LOG, { boot: 1 }).kernel).toBe('5.10.1')
    expect(initcalls(LOG, { boot: 2 })).toMatchObject({ found: false, message: expect.stringContaining('has 1 boots') })
  })

  it('are not what a program that prints /proc/version makes', () => {
    expect(reportOf(`${LOG}Linux version 9.9.9 (a@b)\n${pair('c', 900_000, 900_100, 90)}`)).toMatchObject({
      kernel: '6.1.0',
      summary: { count: 3 },
    })
  })

  it('are not what two consoles print of one', () => {
    const twice = everyLine((line) => `${line}\n${line}`)
    expect(facts(twice)).toEqual(FACTS)
    expect(reportOf(twice).diagnostics.problems).toMatchObject([{ name: 'seen-twice', count: 4 }])
    // The whole log once more, as a console that is switched on later prints it.
    const again = LOG.split('\n').slice(1).join('\n')
    expect(facts(LOG + again)).toEqual(FACTS)
  })
})

describe('the times', () => {
  it('of a clock that stood are known no better than the step that ends it', () => {
    const log = `${linux('6.1.0')}${pair('a', 1000, 1000, 0)}${pair('b', 1000, 1000, 0)}${pair('c', 1000, 3500, 4000)}${switched(9000)}${pair('d', 9100, 9200, 80)}`
    const { calls, diagnostics } = reportOf(log)
    expect(calls.map(({ durationUs, errorUs, source }) => [durationUs, errorUs, source])).toEqual([
      [0, 2500, 'timestamps'],
      [0, 2500, 'timestamps'],
      [2500, 2500, 'timestamps'],
      [80, undefined, 'usecs'],
    ])
    expect(diagnostics.problems).toMatchObject([{ name: 'stamps-stuck', count: 3, severity: 'info' }])
  })

  it('of a stamp that goes back are the kernel’s own ticks', () => {
    const { calls } = reportOf(
      `${linux('6.1.0')}${pair('a', 9000, 5000, 4000)}${switched(9000)}${pair('d', 9100, 9200, 80)}`,
    )
    expect(calls[0]).toMatchObject({ durationUs: 4000, source: 'usecs', quantised: true })
  })

  it('that disagree by more than 1 ms are flagged, and those by less are not', () => {
    const { calls, findings, summary } = reportOf(
      LOG + pair('x', 400_000, 405_000, 3999) + pair('y', 410_000, 415_000, 4000),
    )
    expect(calls.slice(2).map(({ disagreementUs }) => disagreementUs)).toEqual([-1001, undefined])
    // The early one is a tick, which is no news.
    expect(summary.disagreements).toBe(2)
    expect(findings.find(({ name }) => name === 'disagreements')?.message).toMatch(
      /^1 exact figure differs from its stamps by more than 1 ms: x -1\.001 ms$/,
    )
  })

  it('of a call in which another one began are stamps, since the kernel has one clock for all', () => {
    const report = reportOf(
      `${LOG}${at(400_000)}calling  outer+0x0/0x4 [a] @ 10\n${pair('inner', 406_000, 407_000, 990, { module: 'b', pid: 11 })}${at(409_000)}initcall outer+0x0/0x4 [a] returned 0 after 2990 usecs\n`,
    )
    expect(callOf(report, 'outer')).toMatchObject({ durationUs: 9000, source: 'timestamps', overlapped: true })
    expect(callOf(report, 'inner')).toMatchObject({ durationUs: 990, source: 'usecs' })
    expect(report.summary.inCallsUs).toBe(2500 + 80 + 9000)
    expect(report.findings.map(({ name }) => name)).toContain('overlapping-calls')
  })

  it('without the line of the switch are exact from the return of clocksource_done_booting on', () => {
    const { clock, calls } = reportOf(
      LOG.replace(switched(200_000), pair('clocksource_done_booting', 199_000, 200_000, 354)),
    )
    expect(clock).toMatchObject({ exactBy: 'clocksource_done_booting', exactFromPair: 2 })
    expect(calls.map(({ source }) => source)).toEqual(['timestamps', 'usecs', 'usecs'])
  })

  it('without either are exact from the first figure on that is no whole tick', () => {
    const log = [0, 4000, 0, 8000, 4000, 191, 4000]
      .map((usecs, index) => pair(`f${index}`, index * 10_000, index * 10_000 + 500, usecs))
      .join('')
    const { clock, calls, findings } = reportOf(log)
    expect(clock).toMatchObject({ exactBy: 'values', exactFromPair: 6, tickUs: 4000, unitNs: 1000 })
    expect(calls.map(({ source }) => source)).toEqual([
      ...Array.from({ length: 5 }, () => 'timestamps'),
      'usecs',
      'usecs',
    ])
    expect(findings.map(({ name }) => name)).toContain('no-switch-line')
  })

  it('that are whole ticks of some kernel are not taken for exact, even one alone', () => {
    const { calls, clock } = reportOf(`${pair('a', 1000, 4906, 3906)}${pair('b', 5000, 5050, 0)}`)
    expect(calls.map(({ durationUs, source }) => [durationUs, source])).toEqual([
      [3906, 'timestamps'],
      [50, 'timestamps'],
    ])
    expect(clock).toEqual({})
  })

  it('that are one whole tick, which its stamps deny, tell the tick', () => {
    const { calls, clock } = reportOf(`${pair('a', 1000, 1191, 3906)}${pair('b', 2000, 173_050, 167_033)}`)
    expect(clock).toMatchObject({ unitNs: 1024, unitBy: 'ticks', exactFromPair: 2 })
    expect(calls.map(({ durationUs, source }) => [durationUs, source])).toEqual([
      [191, 'timestamps'],
      [171_042, 'usecs'],
    ])
  })

  it.each([
    [100, 10_000, 9765],
    [250, 4000, 3906],
    [300, 3333, 3255],
    [1000, 1000, 976],
  ])('of a kernel with HZ=%i tell both its tick and its unit', (_hz, us, old) => {
    const log = (usecs: number): string =>
      `${linux('x')}${pair('a', 1000, 1100, usecs)}${switched(2000)}${pair('b', 3000, 3100, 100)}`
    expect(reportOf(log(us)).clock).toMatchObject({ unitNs: 1000, tickUs: us, unitBy: 'ticks' })
    expect(reportOf(log(old)).clock).toMatchObject({ unitNs: 1024, tickUs: us, unitBy: 'ticks' })
    expect(callOf(reportOf(log(old)), 'b').durationUs).toBe(102)
  })

  it('have a unit by the kernel’s version where no tick tells it, or by long calls, or none', () => {
    const log = (version: string): string => `${version}${switched(2000)}${pair('b', 3000, 3100, 100)}`
    expect(reportOf(log(linux('5.10.0'))).clock).toMatchObject({ unitNs: 1024, unitBy: 'version' })
    expect(reportOf(log(linux('6.1.0'))).clock).toMatchObject({ unitNs: 1000, unitBy: 'version' })
    const long = [50_000, 70_000, 90_000]
      .map((usecs, index) => pair(`l${index}`, 1e6 * (index + 1), 1e6 * (index + 1) + Math.round(usecs * 1.024), usecs))
      .join('')
    expect(reportOf(log('') + long).clock).toMatchObject({ unitNs: 1024, unitBy: 'stamps' })
    const unknown = reportOf(log(''))
    expect(unknown.clock).not.toHaveProperty('unitNs')
    expect(unknown.calls[0]).toMatchObject({ durationUs: 100, errorUs: 4 })
    expect(unknown.findings.map(({ name }) => name)).toContain('unit-unknown')
  })
})

describe('gaps', () => {
  it('of 1 ms or more are rows, with what was said in them', () => {
    const log = `${LOG}${at(310_000)}smp: Bringing up secondary CPUs ...\n${at(320_000)}smp: Brought up\n${pair('next', 330_000, 330_100, 90)}${at(350_000)}Run /init as init process\n${at(360_000)}hello\n${pair('m', 390_000, 390_100, 90, { module: 'm', pid: 80 })}`
    expect(reportOf(log).gaps).toEqual([
      {
        startUs: 0,
        endUs: 100_000,
        durationUs: 100_000,
        before: 0,
        messages: 1,
        first: 'Linux version 6.1.0 (maker@example) #1 SMP',
      },
      {
        startUs: 102_500,
        endUs: 300_000,
        durationUs: 197_500,
        after: 0,
        before: 1,
        messages: 1,
        first: 'clocksource: Switched to clocksource tsc',
      },
      {
        startUs: 300_080,
        endUs: 330_000,
        durationUs: 29_920,
        after: 1,
        before: 2,
        messages: 2,
        first: 'smp: Bringing up secondary CPUs ...',
      },
      {
        startUs: 330_100,
        endUs: 350_000,
        durationUs: 19_900,
        after: 2,
        messages: 1,
        first: 'Run /init as init process',
      },
      { startUs: 350_000, endUs: 390_000, durationUs: 40_000, before: 3, messages: 1, first: 'hello', userspace: true },
    ])
  })
})

describe('a log without initcalls', () => {
  it.each([[''], ['root:x:0:0\n'], [`${linux('6.1.0')}${at(5)}hello\n`]])(
    'is no answer and says how to get one',
    (log) => {
      const result = initcalls(log)
      expect(result).toMatchObject({ found: false, message: expect.stringContaining('boot with `initcall_debug`') })
    },
  )

  it('counts what looks like one and cannot be read', () => {
    const { diagnostics } = initcalls(`${at(1)}initcall a+0x0/0x4 returned nonsense\n${at(2)}calling  b\n`)
    expect(diagnostics).toMatchObject({
      lines: 2,
      unparsed: 2,
      problems: [{ name: 'unreadable', count: 2, lines: [1, 2] }],
    })
  })
})

it('says that a console was written while the calls ran', () => {
  expect(reportOf(recorded('6.1')).findings.map(({ name }) => name)).toContain('console-in-intervals')
  expect(reportOf(LOG).findings.map(({ name }) => name)).toEqual([])
})

it('keeps what a call is warned of', () => {
  const log = `${LOG}${at(400_000)}calling  w+0x0/0x4 @ 1\n${at(400_100)}initcall w+0x0/0x4 returned 0 after 90 usecs\n${at(400_110)}initcall w+0x0/0x4 returned with preemption imbalance \n`
  expect(callOf(reportOf(log), 'w')).toMatchObject({ returned: 0, warning: 'preemption imbalance' })
})
