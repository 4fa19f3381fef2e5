import { describe, expect, it } from 'vitest'
import { drawGraph, graphJson, graphPerfetto, graphStacks, renderGraph } from '../../../src/index.ts'
import { problemsOf } from '../../schema/problems-of.ts'
import { graphOf, HEADER, recording, reportOf, section } from './traces.ts'

const problems = problemsOf('graph-v1')

const BOOT = recording('6.17-boot-acpi_init-depth3-smp2.txt')
const OLD = recording('6.1.0-57-smp2-all-options.txt')

describe('the JSON of a trace', () => {
  it.each([
    ['a boot', BOOT],
    ['every option of 6.1', OLD],
    ['every option of 6.17', recording('6.17-smp2-all-options.txt')],
    ['lost events', ' 0)   1.000 us    |  f();\nCPU:0 [LOST 3 EVENTS]\n'],
    ['no function', HEADER],
    ['nothing', ''],
  ] as const)('fits its schema for %s', (_name, input) => {
    expect(problems(graphJson(graphOf(input)))).toEqual([])
  })

  it('keeps the contract: a span with its CPUs, depth and time', () => {
    const json = graphJson(graphOf(` 0)               |  f() {\n 0)   1.500 us    |  }\n`))
    expect(json).toMatchObject({
      format: 'boxlab-graph',
      version: 1,
      found: true,
      spans: [{ name: 'f', cpuOpen: 0, cpuClose: 0, depth: 0, durationUs: 1.5, migrated: false }],
      summary: { frames: 1, migrated: 0, unopened: 0, unclosed: 0, lost: 0 },
    })
  })

  it('does not fit its schema with a time below 0, a word for a CPU or a field too much', () => {
    const json = graphJson(reportOf(' 0)   1.000 us    |  f();\n'))
    const span = 'spans' in json ? json.spans[0] : undefined
    const wrong = [
      { ...json, spans: [{ ...span, durationUs: -1 }] },
      { ...json, spans: [{ ...span, cpuOpen: 'one' }] },
      { ...json, surprise: 1 },
      { ...json, version: 2 },
    ]
    expect(wrong.map((one) => problems(one).length > 0)).toEqual([true, true, true, true])
  })
})

describe('other forms', () => {
  it('the text of a boot is what the documentation shows', async () => {
    await expect(renderGraph(graphOf(BOOT), { rows: 5, levels: 3 })).toMatchFileSnapshot('fixtures/6.17-boot.graph.txt')
  })

  it('foreign names put nothing on a terminal but text', () => {
    const text = renderGraph(graphOf(' 0)   1.000 us    |  f\u001b[31m\u0007();\n 0)   1.000 us    |  g();\n'))
    // oxlint-disable-next-line no-control-regex
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/)
  })

  it('stacks for flame graphs have the time of their own in ns, which adds up to the whole', () => {
    const report = reportOf(BOOT)
    const stacks = graphStacks(report).trimEnd().split('\n')
    expect(stacks).toContain('acpi_init;acpi_bus_init;acpi_load_tables 125268100')
    const sum = stacks.reduce((all, line) => all + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
    const whole = report.tree.reduce((all, { totalUs = 0 }) => all + totalUs, 0)
    expect(sum / 1000).toBeCloseTo(whole, 0)
  })

  it('Perfetto gets spans where the trace has times, and nothing where it has none', () => {
    const timed = graphPerfetto(reportOf(section(OLD, 'D proc+abstime+tail+overrun')))
    expect(timed?.traceEvents[0]).toEqual({
      name: 'hrtimer_nanosleep',
      ph: 'X',
      ts: 7_805_889,
      dur: 55_363.25,
      pid: 1,
      tid: 'busybox-131',
      args: { depth: 0, cpuOpen: 1, cpuClose: 0, migrated: true },
    })
    expect(graphPerfetto(reportOf(BOOT))).toBeUndefined()
  })

  it('the drawing has a row a level, whose bars lie under those that called them', () => {
    const svg = drawGraph(reportOf(BOOT))
    expect(svg).toContain('acpi_init: 1 calls, 436.687 ms, 0.814 ms of its own, 1 migrated')
    expect(svg.match(/depth \d/g)).toEqual(['depth 0', 'depth 1', 'depth 2'])
  })
})
