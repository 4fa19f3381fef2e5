import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { recording, reportOf, section, graphOf } from './traces.ts'

interface Golden {
  readonly columns: readonly string[]
  readonly leaves?: number
  readonly opens?: number
  readonly closes?: number
  readonly closes_with_name?: number
  readonly pairs?: number
  readonly closes_without_open?: number
  readonly open_at_end?: number
  readonly pairs_over_an_unknown_task?: number
  readonly switch_lines?: number
  readonly event_comments?: number
  readonly cut_lines?: number
  readonly longest_us: number | null
  readonly migrated?: readonly {
    readonly function: string
    readonly depth: number
    readonly opens_on: number
    readonly closes_on: number
    readonly us: number
    readonly task: string
  }[]
}

const golden = JSON.parse(readFileSync(new URL('fixtures/golden.json', import.meta.url), 'utf8')) as {
  readonly [file: string]: { readonly [section: string]: Golden | number }
}

const sections = Object.entries(golden).flatMap(([file, of]) =>
  Object.entries(of).flatMap(([name, want]) => (typeof want === 'number' ? [] : [{ file, name, want }])),
)

describe('a recording has the golden figures', () => {
  it.each(sections.filter(({ want }) => want.closes !== undefined))('$file, $name', ({ file, name, want }) => {
    const whole = recording(`${file}.txt`)
    const report = reportOf(name === 'whole file' ? whole : section(whole, name))
    const { summary, spans, threshold } = report
    const { leaves = 0, pairs = 0 } = want
    expect(summary).toMatchObject({
      frames: threshold ? want.closes : leaves + pairs,
      leaves,
      pairs,
      opens: want.opens ?? 0,
      closes: want.closes,
      namedCloses: want.closes_with_name ?? 0,
      unopened: want.closes_without_open ?? 0,
      unclosed: want.open_at_end ?? 0,
      migrated: want.migrated?.length ?? 0,
      overUnnamedTask: want.pairs_over_an_unknown_task ?? 0,
      switches: want.switch_lines ?? 0,
      events: want.event_comments ?? 0,
    })
    expect(report.columns).toEqual(want.columns)
    expect(report.diagnostics.unparsed).toBe(want.cut_lines ?? 0)
    const migrated = spans.filter((span) => span.migrated)
    const key = ({ durationUs = 0 }: { readonly durationUs?: number | undefined }): number => durationUs
    expect(
      migrated
        .map(({ name: f, depth, cpuOpen, cpuClose, durationUs, task }) => ({
          f,
          depth,
          cpuOpen,
          cpuClose,
          durationUs,
          task,
        }))
        .toSorted((a, b) => key(a) - key(b)),
    ).toEqual(
      (want.migrated ?? [])
        .map((frame) => ({
          f: frame.function,
          depth: frame.depth,
          cpuOpen: frame.opens_on,
          cpuClose: frame.closes_on,
          durationUs: frame.us,
          // The golden figures call a CPU's task without a name `?cpu0`.
          task: frame.task.startsWith('?') ? undefined : frame.task,
        }))
        .toSorted((a, b) => key(a) - key(b)),
    )
    const times = [...spans.filter(({ leaf }) => !leaf), ...report.unopened].flatMap(
      ({ durationUs }) => durationUs ?? [],
    )
    expect(times.length === 0 ? null : Math.max(...times)).toBe(want.longest_us)
  })

  it('each section is there', () => expect(sections).toHaveLength(36))
})

it('the spin bug: a function that closes on another CPU is one span', () => {
  const { spans } = reportOf(recording('6.17-boot-acpi_init-depth3-smp2.txt'))
  expect(spans.filter(({ name }) => name === 'acpi_init' || name === 'inet_init')).toEqual([
    expect.objectContaining({ name: 'acpi_init', cpuOpen: 1, cpuClose: 0, durationUs: 436_686.6, migrated: true }),
    expect.objectContaining({ name: 'inet_init', cpuOpen: 0, cpuClose: 1, durationUs: 280_247.1, migrated: true }),
  ])
})

it('a filter that matched nothing leaves a header, which is no answer', () => {
  expect(graphOf(recording('6.1-boot-acpi_init-depth3-smp2.txt'))).toMatchObject({
    found: false,
    reason: 'empty',
    spans: [],
    summary: { traces: 1, frames: 0, lost: 0, lossTold: false },
  })
})

describe('times of their own', () => {
  it('and the times of what was called add up to the time of the function', () => {
    const { tree } = reportOf(recording('6.17-boot-acpi_init-depth3-smp2.txt'))
    const acpi = tree.find(({ name }) => name === 'acpi_init')
    const called = (acpi?.children ?? []).reduce((sum, { totalUs = 0 }) => sum + totalUs, 0)
    expect((acpi?.selfUs ?? 0) + called).toBeCloseTo(436_686.6, 3)
  })

  it('hold what the depth limit hides', () => {
    const { functions } = reportOf(recording('6.17-boot-acpi_init-depth3-smp2.txt'))
    expect(functions.find(({ name }) => name === 'ip_rt_init')).toEqual({
      name: 'ip_rt_init',
      calls: 1,
      totalUs: 265_249.8,
      selfUs: 265_249.8,
      longestUs: 265_249.8,
      migrated: 1,
    })
  })
})

it('a file with many traces is read trace by trace, and other tracers are passed over', () => {
  const report = reportOf(recording('6.17-smp2-all-options.txt'))
  expect(report.summary).toMatchObject({ traces: 19, migrated: 22 })
  const diagnostics = new Map(report.diagnostics.problems.map(({ name, count }) => [name, count]))
  // Section T is of the function tracer, with what `options` and `uname` say behind it.
  expect(diagnostics.get('other-tracer')).toBe(44)
  expect(report.spans.at(-1)?.trace).toBe(19)
})

it('without the CPU column nobody knows what migrated', () => {
  const report = reportOf(section(recording('6.1.0-57-smp2-all-options.txt'), 'E nocpu proc abstime tail overrun'))
  expect(report.spans.filter(({ leaf }) => !leaf).every(({ migrated }) => migrated === undefined)).toBe(true)
  expect(report.findings.map(({ name }) => name)).toContain('cpu-not-told')
})

it('without durations there are calls and no times', () => {
  const report = reportOf(section(recording('6.1.0-57-smp2-all-options.txt'), 'F noduration'))
  expect(report.spans.every(({ durationUs, selfUs }) => durationUs === undefined && selfUs === undefined)).toBe(true)
  expect(report.findings.map(({ name }) => name)).toContain('no-durations')
  expect(report.deepest).toBeDefined()
})

it('a trace that lost its beginning keeps what returned then, with its duration', () => {
  const report = reportOf(section(recording('6.1.0-57-smp2-all-options.txt'), 'S tiny buffer overrun (lost events)'))
  expect(report.unopened).toContainEqual(
    expect.objectContaining({ name: 'rcu_gp_fqs_loop', depth: 0, cpuClose: 1, durationUs: 25_237.88 }),
  )
  expect(report.summary.lossTold).toBe(false)
  expect(report.findings.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['loss-not-told', 'starts-mid-stack', 'still-open']),
  )
})

it('the latency format says in its header how many events it kept of those written', () => {
  const text = section(recording('6.1.0-57-smp2-all-options.txt'), 'H latency-format')
  expect(reportOf(text).summary).toMatchObject({ lost: 0, lossTold: true })
  expect(reportOf(text.replace('#2148/2148', '#2148/3000')).summary).toMatchObject({ lost: 852, lossTold: true })
})
