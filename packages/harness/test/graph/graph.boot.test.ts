import { graph } from '@boxlab/probes'
import { describe, expect, test } from 'vitest'
import { traceInputs } from '../../src/graph/tracefs.ts'
import { bootTraceCmdline } from '../../src/index.ts'
import { useBox } from '../../src/vitest/index.ts'

describe('a box whose kernel traces hrtimer_nanosleep', () => {
  const box = useBox({ cpus: 2, cmdline: bootTraceCmdline({ filter: ['hrtimer_nanosleep'], depth: 3 }) })

  test('a sleeping task that taskset moves is one span that began on one CPU and ended on the other', async () => {
    const slept = await box.shell(`
      taskset 1 sleep 1 & pid=$!
      # Asleep, and so in nanosleep: then its CPU is taken away from it.
      sleep 0.3; taskset -p 2 $pid; wait $pid; echo $pid`)
    const pid = slept.stdout.toString().trim().split('\n').at(-1)
    const trace = await box.graph()
    const spans = trace.found ? trace.spans.filter(({ name }) => name === 'hrtimer_nanosleep') : []
    expect(trace).toHaveSpan('hrtimer_nanosleep', { migrated: true })
    const [moved] = spans.filter(({ migrated }) => migrated)
    expect(moved).toMatchObject({ cpuOpen: 0, cpuClose: 1, depth: 0 })
    expect(moved?.task).toMatch(new RegExp(`-${pid}$`))
    // What the kernel measured, which the time between lines of one CPU is not.
    expect(moved?.durationUs).toBeGreaterThan(950_000)
    expect(trace).toHaveNoLostEvents()
  })

  test('tracing goes on behind the question', async () => {
    const before = await box.graph()
    await box.shell('sleep 0.1')
    const after = await box.graph()
    const calls = (result: typeof before): number =>
      result.found ? (result.functions.find(({ name }) => name === 'hrtimer_nanosleep')?.calls ?? 0) : 0
    expect(calls(after)).toBeGreaterThan(calls(before))
  })
})

describe('a box whose tracer is not set', () => {
  const box = useBox()

  test('has no functions, and says why', async () => {
    expect(await box.graph()).toMatchObject({ found: false, reason: 'tracer-not-set' })
  })
})

describe('a boot that is traced from its first calls on', () => {
  // #region live
  const box = useBox({ cmdline: bootTraceCmdline({ filter: ['acpi_init'], depth: 3 }) })

  test('has the time of acpi_init and of what it calls', async () => {
    const trace = await box.graph()
    expect(trace).toHaveSpan('acpi_init', { times: 1, within: '5s' })
    expect(trace).toHaveSpan('acpi_scan_init', { times: 1 })
    expect(trace).toHaveNoLostEvents()
  })
  // #endregion

  test('has in its record what can be asked again', async () => {
    const [asked, again] = [await box.graph(), graph(traceInputs(box.record))]
    expect(again).toEqual(asked)
  })
})

describe('a filter of a function that does not run', () => {
  const box = useBox({ cmdline: bootTraceCmdline({ filter: ['kernel_restart'] }) })

  test('leaves an empty trace, whose reason it is', async () => {
    expect(await box.graph()).toMatchObject({ found: false, reason: 'filter-matched-nothing' })
  })
})
