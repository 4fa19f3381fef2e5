import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  compareInitcalls,
  drawInitcalls,
  initcalls,
  initcallsComparisonJson,
  initcallsJson,
  initcallsOverBoots,
  initcallsOverBootsJson,
  renderInitcalls,
} from '../../../src/index.ts'
import { problemsOf } from '../../schema/problems-of.ts'
import { at, KERNELS, linux, pair, recorded, reportOf, switched } from './logs.ts'

const problems = problemsOf('initcalls-v1')

const PANIC = `${linux('6.1.0')}${pair('a', 1000, 1200, 0)}${switched(2000)}${at(3000)}calling  bad+0x0/0x4 [m] @ 90\n${at(4000)}Kernel panic - not syncing: no\n`

describe('the JSON of initcalls', () => {
  it.each<readonly [string, Uint8Array | string]>([
    ...KERNELS.map((kernel) => [`Linux ${kernel}`, recorded(kernel)] as const),
    ['a panic', PANIC],
    ['no stamps', 'initcall x+0x0/0x4 returned 0 after 4000 usecs\n'],
    ['two boots', PANIC + PANIC],
    ['nothing', 'hello\n'],
  ])('fits its schema for %s', (_name, log) => {
    expect(problems(initcallsJson(initcalls(log)))).toEqual([])
  })

  it('fits its schema for a comparison, and for several boots', () => {
    const [a, b] = [reportOf(recorded('6.1')), reportOf(recorded('7.2'))]
    expect(problems(initcallsComparisonJson(compareInitcalls([a, a], [b])))).toEqual([])
    expect(problems(initcallsOverBootsJson(initcallsOverBoots([a, a, a, a, a])))).toEqual([])
  })

  it('does not fit its schema with a time that is none, an unknown source or a field too much', () => {
    const json = initcallsJson(reportOf(PANIC))
    const [first, ...rest] = 'calls' in json ? json.calls : []
    const wrong = [
      { ...json, calls: [{ ...first, durationUs: 1.5 }, ...rest] },
      { ...json, calls: [{ ...first, source: 'guess' }] },
      { ...json, calls: [{ ...first, name: undefined }] },
      { ...json, surprise: 1 },
      { ...json, version: 2 },
    ]
    expect(wrong.map((one) => problems(one).length > 0)).toEqual([true, true, true, true, true])
  })

  it('has the fields of the contract', () => {
    expect(initcallsJson(reportOf(PANIC))).toMatchObject({
      version: 1,
      calls: [
        { name: 'a', returned: 0, startUs: 1000, durationUs: 200, source: 'timestamps' },
        { name: 'bad', module: 'm', startUs: 3000, unfinished: true },
      ],
      summary: { count: 2, nonZero: 0, unfinished: 1 },
      diagnostics: { unparsed: 0 },
    })
  })
})

describe('the table of initcalls', () => {
  it('is the one of the documentation', () => {
    const expected = readFileSync(new URL('./fixtures/linux-6.12.initcalls.txt', import.meta.url), 'utf8')
    expect(renderInitcalls(reportOf(recorded('6.12')))).toBe(expected)
  })

  it('begins with what the kernel panicked in', () => {
    const text = renderInitcalls(reportOf(PANIC))
    expect(text).toMatch(/^Linux 6\.1\.0 · 2 initcalls · 1 of modules · 0 returned no 0 · 1 unfinished/)
    expect(text.replace(/\n */g, ' ')).toContain(
      'unfinished-at-panic: the kernel panicked in bad (line 5), which did not return',
    )
    expect(text).toContain('not finished: bad [m] (line 5)')
  })

  it('marks what is no better than a tick', () => {
    expect(renderInitcalls(reportOf('initcall x+0x0/0x4 returned 0 after 4000 usecs\n'))).toMatch(/^ +~4\.000 .* x$/m)
  })

  it('has prose that keeps to the width', () => {
    const lines = renderInitcalls(reportOf(recorded('7.2')), { width: 60 }).split('\n')
    expect(lines.filter((line) => line.length > 60 && !line.startsWith('  ') && line.includes(' '))).toEqual([])
  })

  it('of no answer is a sentence', () => {
    expect(renderInitcalls(initcalls('hello\n'))).toMatch(
      /^no initcalls: the log has no initcall: boot with `initcall_debug`/,
    )
  })
})

describe('the waterfall of initcalls', () => {
  const report = reportOf(recorded('7.2'))
  const bars = [...drawInitcalls(report, 10).matchAll(/<title>([^<]*)<\/title><\/rect>/g)].map(
    ([, title = '']) => title,
  )

  it('has a bar for each of the longest calls, for their probes and for the gaps', () => {
    const longest = report.calls.toSorted((a, b) => (b.durationUs ?? 0) - (a.durationUs ?? 0)).slice(0, 10)
    const probes = longest.flatMap((call) => call.probes ?? [])
    const gaps = report.gaps.filter(({ userspace }) => !userspace)
    expect(bars).toHaveLength(longest.length + probes.length + gaps.length)
    expect(bars).toContain('load_system_certificate_list, 241.147 ms from 2039.403 ms on')
  })

  it('has a call that did not finish up to the panic', () => {
    const svg = drawInitcalls(reportOf(PANIC))
    expect(svg).toContain('bad [m] not finished, 1.000 ms from 3.000 ms on')
    expect(svg).not.toMatch(/NaN|Infinity|undefined/)
  })
})
