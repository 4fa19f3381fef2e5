import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { Initcall } from '../../../src/index.ts'
import { KERNELS, recorded, reportOf } from './logs.ts'

interface Golden {
  readonly lines: number
  readonly calling_lines: number
  readonly paired: number
  readonly returns_without_call: number
  readonly pci_fixup_calling_lines: number
  readonly module_initcalls: number
  readonly duplicate_names: Readonly<Record<string, number>>
  readonly nonzero_returns: number
  readonly nonzero_by_code: Readonly<Record<string, number>>
  readonly nonzero_not_minus_19: readonly (readonly [string, number])[]
  readonly initcall_levels: readonly string[]
  readonly clocksource_switch_line: number
  readonly paired_before_switch: number
  readonly paired_after_switch: number
  readonly usecs_values_before_switch: Readonly<Record<string, number>>
  readonly first_pair_with_exact_usecs: {
    readonly pair_number: number
    readonly line: number
    readonly name: string
    readonly usecs: number
  }
  readonly sum_usecs_all_pairs: number
  readonly top5_by_usecs: readonly (readonly [string, number])[]
  readonly top5_by_stamps_us: readonly (readonly [string, number])[]
  readonly usecs_and_stamps_differ_more_than_1ms: number
  readonly probe_lines: number
  readonly probe_by_code: Readonly<Record<string, number>>
  readonly probes_seen_more_than_once: Readonly<Record<string, number>>
}

const golden = JSON.parse(readFileSync(new URL('./fixtures/golden.json', import.meta.url), 'utf8')) as Record<
  string,
  Golden
>

function tally(values: readonly (string | number)[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}

function top5(calls: readonly Initcall[], of: (call: Initcall) => number): [string, number][] {
  return calls
    .toSorted((a, b) => of(b) - of(a))
    .slice(0, 5)
    .map((call) => [call.name, of(call)])
}

describe.each(KERNELS)('the recorded log of Linux %s', (kernel) => {
  const expected = golden[kernel]!
  const report = reportOf(recorded(kernel))
  const { calls, clock, summary, diagnostics } = report
  const probes = [...calls.flatMap((call) => call.probes ?? []), ...report.otherProbes]
  const stampsUs = ({ startUs = NaN, endUs = NaN }: Initcall): number => endUs - startUs

  it('has every call with its return', () => {
    expect(diagnostics).toMatchObject({ lines: expected.lines, unparsed: 0 })
    expect(diagnostics.problems.map(({ name }) => name)).not.toContain('return-without-call')
    expect(summary).toMatchObject({
      count: expected.calling_lines,
      paired: expected.paired,
      unfinished: 0,
      modules: expected.module_initcalls,
      nonZero: expected.nonzero_returns,
      fixups: expected.pci_fixup_calling_lines,
      probes: expected.probe_lines,
      disagreements: expected.usecs_and_stamps_differ_more_than_1ms,
    })
    expect(calls.reduce((sum, { usecs = NaN }) => sum + usecs, 0)).toBe(expected.sum_usecs_all_pairs)
  })

  it('has the values that they returned, and tells which', () => {
    const odd = calls.filter(({ returned }) => returned !== 0)
    expect(tally(odd.map(({ returned = NaN }) => returned))).toEqual(expected.nonzero_by_code)
    expect(odd.filter(({ returned }) => returned !== -19).map(({ name, returned }) => [name, returned])).toEqual(
      expected.nonzero_not_minus_19,
    )
  })

  it('keeps names that repeat apart', () => {
    const repeated = tally(calls.map(({ name }) => name))
    expect(Object.fromEntries(Object.entries(repeated).filter(([, count]) => count > 1))).toEqual(
      expected.duplicate_names,
    )
    for (const [name, count] of Object.entries(expected.duplicate_names)) {
      const same = calls.filter((call) => call.name === name)
      expect(same.map(({ occurrence }) => occurrence)).toEqual(Array.from({ length: count }, (_, index) => index + 1))
    }
  })

  it('has stamps up to the switch of the clocksource, and the kernel’s figures from then on', () => {
    const first = expected.first_pair_with_exact_usecs
    expect(clock).toMatchObject({
      unitNs: 1000,
      unitBy: 'ticks',
      tickUs: 4000,
      exactBy: 'switch',
      switchLine: expected.clocksource_switch_line,
      exactFromPair: first.pair_number,
      exactFromLine: first.line,
    })
    const before = calls.filter(({ returnedLine = 0 }) => returnedLine < expected.clocksource_switch_line)
    const after = calls.filter(({ returnedLine = 0 }) => returnedLine > expected.clocksource_switch_line)
    expect(before.map(({ source }) => source)).toEqual(before.map(() => 'timestamps'))
    expect(after.map(({ source }) => source)).toEqual(after.map(() => 'usecs'))
    expect([before.length, after.length]).toEqual([expected.paired_before_switch, expected.paired_after_switch])
    // Of the values the golden figures have the six most frequent ones.
    expect(tally(before.map(({ usecs = NaN }) => usecs))).toMatchObject(expected.usecs_values_before_switch)
    expect(before.every(({ usecs = NaN }) => usecs % 4000 === 0)).toBe(true)
    expect(before.every((call) => call.durationUs === stampsUs(call))).toBe(true)
    expect(after.every(({ durationUs, usecs }) => durationUs === usecs)).toBe(true)
    // It began on the clock of jiffies: its figure may be wrong by a tick.
    expect(after[0]).toMatchObject({ name: first.name, usecs: first.usecs, errorUs: 4000 })
  })

  it('has the longest calls by both clocks', () => {
    expect(top5(calls, ({ usecs = NaN }) => usecs)).toEqual(expected.top5_by_usecs)
    expect(top5(calls, stampsUs)).toEqual(expected.top5_by_stamps_us)
  })

  it('has its probes, each under the call of its driver', () => {
    expect(tally(probes.map(({ returned }) => returned))).toEqual(expected.probe_by_code)
    const repeated = tally(probes.map(({ device }) => device))
    expect(Object.fromEntries(Object.entries(repeated).filter(([, count]) => count > 1))).toEqual(
      expected.probes_seen_more_than_once,
    )
    // A workqueue attaches what is on the PS/2 ports, and of a mouse that is none no message names the driver.
    expect(new Set(report.otherProbes.map(({ device, outcome }) => `${device} ${outcome}`))).toEqual(
      new Set(['serio1 declined']),
    )
    expect(probes.map(({ outcome }) => outcome === (outcome === 'bound' ? 'bound' : 'declined'))).toEqual(
      probes.map(() => true),
    )
    for (const [name, driver, count] of [
      ['virtio_pci_driver_init', 'virtio-pci', 4],
      ['virtio_blk_init', 'virtio_blk', 1],
    ] as const) {
      const found = calls.find((call) => call.name === name)?.probes ?? []
      expect(found.map((probe) => [probe.driver, probe.by])).toEqual(
        Array.from({ length: count }, () => [driver, 'driver']),
      )
    }
    expect(calls.find(({ name }) => name === 'atkbd_init')?.probes).toMatchObject([
      { device: 'serio0', driver: 'atkbd', asynchronous: true },
    ])
  })

  it('has its levels, where the kernel tells them', () => {
    const levels = report.levels.map(({ level }) => level)
    expect(levels).toEqual(expected.initcall_levels)
    const builtIn = calls.filter(({ module }) => module === undefined)
    expect(builtIn.filter(({ level }) => level !== undefined)).toHaveLength(levels.length === 0 ? 0 : builtIn.length)
    expect(report.levels.reduce((sum, one) => sum + one.calls, 0)).toBe(levels.length === 0 ? 0 : builtIn.length)
  })

  it('has gaps that, with the calls, make up the time from the first to the last', () => {
    const [from, to] = [calls[0]?.startUs ?? NaN, calls.at(-1)?.endUs ?? NaN]
    const inGaps = report.gaps.filter(({ after }) => after !== undefined)
    const shortUs = to - from - (summary.inCallsUs ?? NaN) - inGaps.reduce((sum, { durationUs }) => sum + durationUs, 0)
    // What is left are gaps of less than 1 ms, and the one behind init's start.
    expect(shortUs).toBeGreaterThan(0)
    expect(shortUs).toBeLessThan(calls.length * 1000)
    expect(report.gaps.some(({ userspace }) => userspace)).toBe(true)
  })

  it('gives the same when the console had no carriage returns', () => {
    const plain = reportOf(
      gunzipSync(readFileSync(new URL(`./fixtures/linux-${kernel}.log.gz`, import.meta.url)))
        .toString()
        .replaceAll('\r', ''),
    )
    expect(plain).toEqual(report)
  })
})
