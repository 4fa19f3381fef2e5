import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { initcalls, type InitcallsReport, type InitcallsResult } from '@boxlab/probes'
import { beforeAll, describe, expect, test } from 'vitest'
import { Box, readInitcalls, useBox } from '../../src/vitest/index.ts'
import { runBoxlab } from '../cli/run-boxlab.ts'

function reportOf(result: InitcallsResult): InitcallsReport {
  if (!result.found) throw new Error(result.message)
  return result
}

describe('a bare box with `record: { initcalls: true }`', () => {
  const box = useBox({ record: { initcalls: true } })
  let report: InitcallsReport
  beforeAll(async () => {
    report = reportOf(await box.initcalls())
  })

  test('has every call of its kernel with its return, from the log’s first line on', () => {
    const { summary, clock, findings, diagnostics } = report
    expect(report.kernel).toMatch(/^\d+\.\d+/)
    expect(summary.count).toBeGreaterThan(400)
    expect(summary).toMatchObject({ paired: summary.count, unfinished: 0 })
    expect(diagnostics.unparsed).toBe(0)
    expect(clock).toMatchObject({ unitNs: 1000, exactBy: 'switch' })
    expect(findings.map(({ name }) => name)).not.toContain('begins-late')
    expect(findings.map(({ name }) => name)).not.toContain('console-in-intervals')
  })

  test('has its probes under the driver’s call, and exact figures behind the switch', () => {
    const virtio = report.calls.find(({ name }) => name === 'virtio_pci_driver_init')
    expect(virtio?.probes?.map(({ outcome }) => outcome)).toContain('bound')
    expect(virtio?.selfUs).toBeLessThan(virtio?.durationUs ?? 0)
    const switchLine = report.clock.switchLine ?? Number.NaN
    for (const { source, returnedLine = 0 } of report.calls) {
      expect(source).toBe(returnedLine < switchLine ? 'timestamps' : 'usecs')
    }
  })

  test('printed nothing while its calls ran', () => {
    const [first, last] = [report.calls[0], report.calls.findLast(({ module }) => module === undefined)]
    const printed = readFileSync(join(box.record, 'console.bin'), 'latin1')
      .matchAll(/\[ *(\d+)\.(\d{6})\]/g)
      .map(([, seconds, us]) => Number(seconds) * 1e6 + Number(us))
      .filter((us) => us >= (first?.startUs ?? 0) && us <= (last?.endUs ?? 0))
    expect([...printed]).toEqual([])
  })

  test('tells the same from its record, as a table and as JSON', async () => {
    const json = await runBoxlab(['initcalls', '--json', '--from', box.record])
    expect(json.code).toBe(0)
    expect(JSON.parse(json.stdout)).toMatchObject({ version: 1, kernel: report.kernel, summary: report.summary })
    const text = await runBoxlab(['initcalls', '--from', box.record])
    expect(text.stdout).toContain(`${report.summary.count} initcalls`)
    const same = await runBoxlab(['initcalls', '--compare', box.record, box.record])
    expect(same.stdout).toContain('0 appeared · 0 vanished · 0 moved')
  })

  test('is compared with a kernel that is booted for it', async () => {
    const { code, stdout } = await runBoxlab(['initcalls', '--compare', box.record, 'debian:linux-image-cloud-amd64'])
    expect(code).toBe(0)
    expect(stdout).toContain('one boot each: what moved may be chance')
    expect(stdout).toContain('0 appeared · 0 vanished · ')
  })

  test('is asked by matchers', async () => {
    // #region matchers
    await expect(box).toHaveNoUnfinishedInitcalls()
    await expect(box).toHaveInitcall('acpi_init', { within: '30s', returned: 0 })
    await expect(box).not.toHaveInitcall('no_such_init')
    // #endregion
    await expect(expect(box).toHaveInitcall('acpi_init', { within: 0.001 })).rejects.toThrow(
      /^acpi_init \(line \d+\) took \d+\.\d{3} ms \(n=1\), and the bound is 0\.001 ms$/,
    )
  })

  test('tells it too where the guest has no dmesg', async () => {
    await box.exec(['rm', '/bin/dmesg'])
    await expect(box.exec(['dmesg'])).rejects.toMatchObject({ code: 'ERR_BOX_REFUSED' })
    expect(reportOf(await box.initcalls()).summary).toEqual(report.summary)
  })
})

test('a kernel that panics in an initcall leaves a record that names it', async () => {
  // Without the bus there is nothing for the call that registers its slots to hang them on.
  const box = new Box({ cmdline: 'initcall_blacklist=pci_driver_init', record: { initcalls: true } })
  await expect(box.boot()).rejects.toThrow(/panicked/)
  const report = reportOf(readInitcalls(box.record))
  const culprit = report.calls[report.panic?.call ?? -1]
  expect(culprit).toMatchObject({ unfinished: true, unknown: 'unfinished' })
  expect(report.summary.unfinished).toBe(1)
  expect(report.summary.count).toBeGreaterThan(50)
  expect(report.findings.map(({ name }) => name)).toContain('unfinished-at-panic')
  await expect(expect(report).toHaveNoUnfinishedInitcalls()).rejects.toThrow(`the kernel panicked in ${culprit?.name}`)
})

test('a box that has ended is asked by its record, and says so when that is gone', async () => {
  const box = new Box({ record: { initcalls: true } })
  await box.boot()
  await box.stop()
  expect(reportOf(await box.initcalls()).summary.unfinished).toBe(0)
  rmSync(box.record, { recursive: true })
  await expect(box.initcalls()).rejects.toThrow(
    'the box is stopped and its record has no kernel log: ask while it runs',
  )
})

test('without initcall_debug there is no answer, and how to get one', () => {
  expect(initcalls('[    0.000000] Linux version 6.1.0\n')).toMatchObject({
    found: false,
    message: expect.stringContaining('boot with `initcall_debug`'),
  })
})
