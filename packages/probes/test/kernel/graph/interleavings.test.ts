import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { graph, graphJson, renderGraph } from '../../../src/index.ts'
import { isPrintedTrue, print, record, type Step, taskName } from './kernel-printer.ts'
import { HEADER, recording, reportOf, section } from './traces.ts'

const HEADER_PROC = '# CPU  TASK/PID         DURATION                  FUNCTION CALLS\n'

/**
 * Tasks that call, return, and are moved about: a CPU runs one task, a task runs on one CPU. With few tasks and no idle ones
 * there are CPUs on which one task alone was traced, so that no switch line names it.
 */
const lives = fc
  .record({
    tasks: fc.integer({ min: 1, max: 4 }),
    idle: fc.boolean(),
    choices: fc.array(
      fc.record({
        cpu: fc.nat({ max: 2 }),
        move: fc.nat({ max: 3 }),
        task: fc.nat({ max: 11 }),
        call: fc.option(fc.constantFrom('nap', 'schedule', 'work [m]'), { nil: undefined }),
      }),
      { maxLength: 120, size: 'max' },
    ),
  })
  .map(({ tasks, idle, choices }): readonly Step[] => {
    const running = new Map<number, number>()
    const depths = new Map<number, number>()
    const steps: Step[] = []
    for (const { cpu, move, task, call } of choices) {
      if (move === 0 || !running.has(cpu)) {
        const next = 1 + (task % tasks)
        const [other] = [...running].find(([where, who]) => where !== cpu && who === next) ?? []
        // Taken from its CPU, or left there: pids below 0 are the idle tasks, one a CPU, all printed as `<idle>-0`.
        if (other !== undefined && idle) running.set(cpu, -1 - cpu)
        else {
          if (other !== undefined) running.delete(other)
          running.set(cpu, next)
        }
      }
      const pid = running.get(cpu) ?? 1
      const depth = depths.get(pid) ?? 0
      const calls = call !== undefined && depth < 4
      if (!calls && depth === 0) continue
      depths.set(pid, depth + (calls ? 1 : -1))
      steps.push({ cpu, pid, ...(calls ? { call } : {}) })
    }
    return steps
  })

const seen = (text: string): readonly object[] =>
  text === ''
    ? []
    : reportOf(text)
        .spans.map(({ name, task, depth, cpuOpen, cpuClose, durationUs }) => ({
          name,
          task,
          depth,
          cpuOpen,
          cpuClose,
          us: durationUs,
        }))
        .toSorted((a, b) => (a.us ?? 0) - (b.us ?? 0))

it('with the task column every interleaving gives back its true spans', () => {
  fc.assert(
    fc.property(lives, (steps) => {
      const { events, spans } = record(steps)
      fc.pre(isPrintedTrue(events))
      const text = events.length === 0 ? '' : HEADER_PROC + print(events, { proc: true })
      expect(seen(text)).toEqual(spans.map(({ pid, ...span }) => ({ ...span, task: taskName(pid) })))
    }),
    { numRuns: 300 },
  )
})

it('without it no span is untrue, and none is left out but where the trace does not tell whose it is', () => {
  fc.assert(
    fc.property(lives, (steps) => {
      const { events, spans } = record(steps)
      fc.pre(isPrintedTrue(events))
      if (events.length === 0) return
      const report = reportOf(HEADER + print(events))
      const truth = new Map(spans.map((span) => [span.us, span]))
      for (const { name, task, depth, cpuOpen, cpuClose, durationUs } of report.spans) {
        const { pid, ...span } = truth.get(durationUs ?? 0) ?? { pid: 0 }
        expect({ name, depth, cpuOpen, cpuClose, us: durationUs }).toEqual(span)
        expect([undefined, taskName(pid)]).toContain(task)
      }
      const untold = report.findings.some(({ name }) => name === 'ambiguous-close')
      expect(untold || report.summary.frames === spans.length).toBe(true)
    }),
    { numRuns: 300 },
  )
})

it('a trace that begins in the middle has no untrue span, and says what returned without its call', () => {
  fc.assert(
    fc.property(lives, fc.nat({ max: 60 }), (steps, cut) => {
      const { events, spans } = record(steps)
      fc.pre(isPrintedTrue(events))
      const rest = events.slice(cut)
      if (rest.length === 0) return
      const { spans: found, summary } = reportOf(HEADER_PROC + print(rest, { proc: true }))
      // The duration of a span is one more than the place of its return among the events.
      const callsBefore = new Map(spans.map((span) => [span.us, span]))
      for (const { name, durationUs } of found) expect(callsBefore.get(durationUs ?? 0)?.name).toBe(name)
      expect(summary.frames + summary.unopened).toBe(rest.filter(({ kind }) => kind === 'return').length)
    }),
    { numRuns: 200 },
  )
})

const EXCERPT = section(recording('6.1.0-57-smp2-all-options.txt'), 'R with sched_switch events').slice(0, 12_000)

it('the result does not depend on how the input was cut into chunks', () => {
  const bytes = new TextEncoder().encode(EXCERPT)
  const whole = graph([{ name: 'x', input: EXCERPT }])
  fc.assert(
    fc.property(fc.array(fc.nat({ max: bytes.length }), { maxLength: 8 }), (cuts) => {
      const ends = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
      const input = ends.slice(1).map((end, index) => bytes.subarray(ends[index], end))
      expect(graph([{ name: 'x', input }])).toEqual(whole)
    }),
    { numRuns: 30 },
  )
})

it('foreign text never throws, and what was read of it is counted', () => {
  const lines = EXCERPT.split('\n')
  const line = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.constantFrom(...lines),
    fc.tuple(fc.constantFrom(...lines), fc.nat({ max: 80 })).map(([text, at]) => text.slice(0, at)),
    fc.constantFrom(
      '# tracer: nop',
      '# CPU  DURATION   FUNCTION CALLS',
      '# FUNCTION CALLS',
      'CPU:9 [LOST EVENTS]',
      '}',
      ' 0) }',
    ),
  )
  fc.assert(
    fc.property(fc.array(line, { maxLength: 40, size: 'max' }), (texts) => {
      const result = graph([{ name: 'x', input: texts.join('\n') }])
      expect(result.diagnostics.unparsed).toBeLessThanOrEqual(result.diagnostics.lines)
      expect(renderGraph(result)).not.toBe('')
      expect(JSON.parse(JSON.stringify(graphJson(result)))).toMatchObject({ version: 1 })
    }),
    { numRuns: 300 },
  )
})
