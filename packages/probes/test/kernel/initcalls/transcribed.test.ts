import { describe, expect, it } from 'vitest'
import { KERNELS, recorded, reportOf } from './logs.ts'

/** The recorded logs as other consoles, journals and kernels would have had them. */

describe.each(KERNELS)('the log of Linux %s', (kernel) => {
  const original = recorded(kernel).toString()
  const report = reportOf(original)
  const lines = (change: (line: string) => string): string => original.split('\n').map(change).join('\n')

  it.each([
    [
      'PRINTK_CALLER',
      lines((line) => line.replace(/^(\[ *\d+\.\d{6}\]) (calling {2}|initcall |probe of )/, '$1[    T1] $2')),
    ],
    ['journald before the stamp', lines((line) => `3月 06 13:18:23 guest kernel: ${line}`)],
    ['escape codes in each line', lines((line) => `\u001b[32m${line.replace('] ', '] \u001b[0m')}`)],
    ['a second console', lines((line) => (line.startsWith('[') ? `${line}\n${line}` : line))],
    ['the text once more behind it', `${original}${original.slice(original.indexOf('\n') + 1)}`],
  ])('with %s has the same calls', (_name, log) => {
    const { calls, summary, clock } = reportOf(log)
    expect(summary).toEqual(report.summary)
    const facts = ({ name, occurrence, returned, durationUs, source, startUs }: (typeof calls)[number]): unknown[] => [
      name,
      occurrence,
      returned,
      durationUs,
      source,
      startUs,
    ]
    expect(calls.map(facts)).toEqual(report.calls.map(facts))
    expect(clock.exactFromPair).toBe(report.clock.exactFromPair)
  })

  it('without stamps has the kernel’s figures, and whole ticks up to the same pair', () => {
    const { calls, clock, gaps } = reportOf(lines((line) => line.replace(/^\[ *\d+\.\d{6}\] /, '')))
    expect(calls.map(({ name, usecs, returned }) => [name, usecs, returned])).toEqual(
      report.calls.map(({ name, usecs, returned }) => [name, usecs, returned]),
    )
    expect(clock).toMatchObject({ exactFromPair: report.clock.exactFromPair, tickUs: 4000, unitNs: 1000 })
    expect(calls.filter(({ quantised }) => quantised)).toHaveLength((report.clock.exactFromPair ?? 0) - 1)
    expect(gaps).toEqual([])
  })

  it('without the line of the switch has the same durations, by the call that makes it', () => {
    const { calls, clock } = reportOf(lines((line) => (line.includes('clocksource: Switched to') ? '' : line)))
    expect(clock).toMatchObject({ exactBy: 'clocksource_done_booting', exactFromPair: report.clock.exactFromPair })
    expect(calls.map(({ durationUs }) => durationUs)).toEqual(report.calls.map(({ durationUs }) => durationUs))
  })

  it('of a kernel that prints ns >> 10 has the same durations, to the microsecond or two that the shift loses', () => {
    const old = lines((line) =>
      line.replace(
        /^(.*initcall .* returned -?\d+ after )(\d+)( usecs)/,
        (_, lead: string, usecs: string, tail: string) => `${lead}${Math.floor((Number(usecs) * 1000) / 1024)}${tail}`,
      ),
    ).replace(/Linux version \d+\.\d+/, 'Linux version 5.10')
    const { calls, clock } = reportOf(old)
    expect(clock).toMatchObject({ unitNs: 1024, unitBy: 'ticks', tickUs: 4000 })
    expect(calls.map(({ source }) => source)).toEqual(report.calls.map(({ source }) => source))
    const off = calls.map(({ durationUs = NaN }, place) =>
      Math.abs(durationUs - (report.calls[place]?.durationUs ?? NaN)),
    )
    expect(Math.max(...off)).toBeLessThanOrEqual(2)
  })

  it('that was cut at any line is read to there, and what was open is unfinished', () => {
    const all = original.split('\n')
    for (let cut = 50; cut < all.length; cut += 97) {
      const text = `${all.slice(0, cut).join('\n')}\n`
      const begun = [...text.matchAll(/^\[ *\d+\.\d+\] calling {2}/gm)].length
      const ended = [...text.matchAll(/^\[ *\d+\.\d+\] initcall \S+(?: \[\w+\])? returned/gm)].length
      if (begun === 0) continue
      expect(reportOf(text).summary).toMatchObject({ count: begun, unfinished: begun - ended })
    }
  })
})
