import { describe, expect, it } from 'vitest'
import { readSystemd, waits } from '../../src/index.ts'
import { fixture, GOLDEN, recording, reportOf } from './recordings.ts'

const dump = (boot: string): { readonly name: string; readonly input: string } => ({
  name: 'dump',
  input: fixture(`${boot}.dump.txt`),
})

describe('systemd-analyze dump', () => {
  it('says that it has whole seconds, and sums them exactly', () => {
    const report = reportOf([dump('b12x-nasty')])
    expect(report).toMatchObject({ source: 'dump', resolution: 'second', totalUs: 12_000_000, origin: 'pid1' })
    expect(report.findings.map(({ name }) => name)).toContain('whole-seconds')
    expect(report.parts.reduce((sum, { startUs, endUs }) => sum + endUs - startUs, 0)).toBe(12_000_000)
    expect(report.parts.at(-1)).toEqual({
      kind: 'activating',
      unit: 'n-long.service',
      startUs: 5_000_000,
      endUs: 12_000_000,
    })
  })

  it('lists all units that ended in one second', () => {
    expect(reportOf([dump('b12x-nasty')]).ties.at(-1)).toEqual({
      unit: 'n-long.service',
      atUs: 4_000_000,
      chosen: 'basic.target',
      others: ['sysinit.target'],
    })
  })

  it('agrees with the properties of the same boot to the second', () => {
    const seconds = readSystemd([dump('b12x-nasty')]).state
    const exact = readSystemd(recording('b12x-nasty')).state
    expect(seconds?.units.size).toBe(201)
    for (const [id, unit] of seconds?.units ?? []) {
      if (id.startsWith('session-')) continue
      const other = exact?.units.get(id)
      expect(unit.names).toEqual(other?.names)
      // The dump came from an earlier login: sessions differ.
      const stable = (names: readonly string[] | undefined): string[] =>
        (names ?? []).filter((name) => !/^session-|^systemd-hostnamed/.test(name))
      expect(stable(unit.after)).toEqual(stable(other?.after))
      if (/^n-loop|hostnamed/.test(id)) continue
      expect(Math.abs((unit.activeEnterUs ?? 0) - (other?.activeEnterUs ?? 0))).toBeLessThanOrEqual(1_000_000)
      expect(Math.abs((unit.conditionUs ?? 0) - (other?.conditionUs ?? 0))).toBeLessThanOrEqual(1_000_000)
    }
  })

  it('reads units with the glyph arrow of systemd 257, and jobs are no units', () => {
    const { state, diagnostics } = readSystemd([dump('t13-rec')])
    expect(fixture('t13-rec.dump.txt')).toContain('→ Unit multi-user.target:')
    expect(state?.units.size).toBe(186)
    expect(diagnostics).toEqual([])
    const midboot = readSystemd([dump('b12-midboot')])
    expect(midboot.state?.units.size).toBe(152)
    expect(midboot.diagnostics).toEqual([])
  })

  it('of a boot that is not finished, says so for the target', () => {
    expect(waits([dump('b12-midboot')])).toMatchObject({ found: false, reason: 'not-reached' })
    expect(
      reportOf([dump('b12-midboot')], { target: 'systemd-journald.socket' }).findings.map(({ name }) => name),
    ).toContain('not-finished')
  })

  it('is not used where the properties are there too', () => {
    const report = reportOf([dump('b12x-nasty'), ...recording('b12x-nasty')])
    expect(report.totalUs).toBe(GOLDEN['b12x-nasty']?.paths['multi-user.target']?.totalUs)
    expect(report.findings).toEqual([
      { name: 'input-not-used', message: expect.stringContaining('dump was not used') as string },
    ])
  })

  it('without its head counts from nothing, and refuses', () => {
    const input = fixture('b12x-nasty.dump.txt')
    const result = waits([{ name: 'dump', input: input.slice(input.indexOf('-> Unit')) }])
    expect(result).toMatchObject({
      found: false,
      reason: 'no-units',
      message: expect.stringContaining('give it with its head') as string,
    })
  })

  it('counts from PID 1 where the kernel’s start is not in it, and says so', () => {
    const input = fixture('b12x-nasty.dump.txt').replace(/^Timestamp kernel: .*\n/m, '')
    const report = reportOf([{ name: 'dump', input }], { fromKernel: true })
    expect(report).toMatchObject({ origin: 'pid1', totalUs: 12_000_000 })
    expect(report.findings.map(({ name }) => name)).toEqual(['whole-seconds', 'no-kernel-start'])
  })

  it('counts from kernel start where PID 1’s is not in it, and says so', () => {
    const input = fixture('b12x-nasty.dump.txt').replace(/^Timestamp userspace: .*\n/m, '')
    const report = reportOf([{ name: 'dump', input }])
    expect(report).toMatchObject({ origin: 'kernel', totalUs: 14_000_000 })
    expect(report.findings.map(({ name }) => name)).toEqual(['whole-seconds', 'no-manager'])
  })

  it('does not mix two time zones', () => {
    const input = fixture('b12x-nasty.dump.txt').replace(
      /(Unit n-long\.service:\n(?:\t.*\n)*?\tInactive Enter Timestamp: .*) UTC\n/,
      '$1 CET\n',
    )
    const report = reportOf([{ name: 'dump', input }])
    expect(report.diagnostics.damagedUnits).toEqual(['n-long.service'])
    expect(report.diagnostics.problems.map(({ name }) => name)).toContain('other-zone')
  })
})
