import { graph } from '@boxlab/probes'
import { expect, test } from 'vitest'
import { graphMatchers } from '../../src/vitest/index.ts'

expect.extend(graphMatchers)

const of = (...texts: readonly string[]): ReturnType<typeof graph> =>
  graph(texts.map((input, index) => ({ name: `in${index}`, input })))

const TRACE = `# CPU  TASK/PID         DURATION                  FUNCTION CALLS
 1)      a-7      |               |  nap() {
 0)      a-7      | * 55363.25 us |  } /* nap */
 0)      b-8      | * 20000.00 us |  nap();
 0)      b-8      |               |  forever() {
`
const trace = of(TRACE)

test('a function is there, so often, in so much time, on so many CPUs', () => {
  expect(trace).toHaveSpan('nap')
  expect(trace).toHaveSpan('nap', { within: '56ms', times: 2, migrated: true })
  expect(trace).toHaveSpan('nap', { task: 'b-8', within: 20, times: 1, migrated: false })
  expect(trace).not.toHaveSpan('nap', { within: '55ms' })
  expect(trace).not.toHaveSpan('nap', { task: 'b-8', migrated: true })
  expect(trace).not.toHaveSpan('walk')
})

test('the message says what is', () => {
  expect(() => expect(trace).toHaveSpan('nap', { within: '55ms' })).toThrow(
    'nap has 2 calls: the longest took 55.363 ms (n=2), and the bound is 55 ms',
  )
  expect(() => expect(trace).toHaveSpan('forever')).toThrow(
    'no whole call of forever; it was called and did not return in the trace',
  )
  expect(() => expect(of(' 0)   1.000 us    |  } /* f */\n')).toHaveSpan('f')).toThrow(
    'it returned, and was called before the trace begins',
  )
})

test('what the trace does not say is an error, also behind `not`', () => {
  const untimed = of('# CPU  TASK/PID       FUNCTION CALLS\n 0)      a-7      | f();\n')
  expect(untimed).toHaveSpan('f')
  expect(() => expect(untimed).not.toHaveSpan('f', { within: '1ms' })).toThrow('the trace has no durations')
  const nowhere = of(
    '#  TASK/PID         DURATION                  FUNCTION CALLS\n    a-7      |               |  f() {\n    a-7      |   2.000 us    |  }\n',
  )
  expect(() => expect(nowhere).not.toHaveSpan('f', { migrated: true })).toThrow('whether f migrated is not known')
  expect(() => expect(trace).toHaveNoLostEvents()).toThrow('does not say whether events were lost')
  expect(() => expect(trace).not.toHaveNoLostEvents()).toThrow('does not say whether events were lost')
})

test('lost events are those of the stats beside the trace, or of trace_pipe', () => {
  const stats = (overrun: number): string => `entries: 1\noverrun: ${overrun}\ndropped events: 0\n`
  expect(of(TRACE, stats(0))).toHaveNoLostEvents()
  expect(of(TRACE, stats(3))).not.toHaveNoLostEvents()
  expect(() => expect(of(TRACE, stats(3))).toHaveNoLostEvents()).toThrow('3 events of the trace were lost')
  expect(of('CPU:0 [LOST EVENTS]\n 0)   1.000 us    |  f();\n')).not.toHaveNoLostEvents()
})

test('anything else than a trace with functions is an error', () => {
  expect(() => expect(of('')).not.toHaveSpan('f')).toThrow('nothing in the input is of function_graph')
  expect(() => expect('text').not.toHaveSpan('f')).toThrow(TypeError)
  expect(() => expect({ found: true, diagnostics: {} }).not.toHaveNoLostEvents()).toThrow(TypeError)
})
