import { expect, it } from 'vitest'
import { drawGraph, graph, graphJson, graphStacks, renderGraph } from '../../../src/index.ts'
import { HEADER, switchBlock } from './traces.ts'

const times = (size: number, line: (at: number) => string): string =>
  Array.from({ length: size }, (_, at) => line(at)).join('')

const open = (cpu: number, name: string): string => ` ${cpu})               |  ${name}() {\n`
const close = (cpu: number, name: string): string => ` ${cpu})   1.000 us    |  } /* ${name} */\n`

const inputs: readonly (readonly [string, (size: number) => string])[] = [
  [
    'calls in calls',
    (size) => HEADER + times(size, (at) => (at % 40 < 20 ? open(0, `f${at % 7}`) : close(0, `f${at % 7}`))),
  ],
  ['opens at one depth that never close', (size) => HEADER + times(size, (at) => open(0, `f${at}`))],
  [
    'closes that match the first open',
    (size) => HEADER + times(size, (at) => open(0, `f${at}`)) + times(size, (at) => close(0, `f${at}`)),
  ],
  [
    'closes at one depth, the last first,',
    (size) => HEADER + times(size, (at) => open(0, `f${at}`)) + times(size, (at) => close(0, `f${size - at - 1}`)),
  ],
  [
    'CPUs without a name, each in the same function',
    (size) =>
      HEADER +
      times(size, (at) => open(at % 4096, 'f')) +
      switchBlock(9999, 'a-1', 'b-2') +
      times(size, () => close(9999, 'f')),
  ],
  [
    'CPUs that turn out to be one task, one by one',
    (size) =>
      HEADER +
      switchBlock(9999, 'a-1', 'b-2') +
      times(size, (at) => open(at % 4096, `f${at}`)) +
      times(size, (at) => close(9999, `f${at}`)),
  ],
  [
    'switches',
    (size) =>
      HEADER + times(size, (at) => switchBlock(at % 3, `a-${(at % 50) + 1}`, `b-${(at % 50) + 2}`) + open(at % 3, 'f')),
  ],
  [
    'lines that are almost of a trace',
    (size) => times(size, () => ` 0) ${' '.repeat(60)}|${'|'.repeat(60)} f(${'('.repeat(60)}\n`),
  ],
  ['one line of bars', (size) => `# TASK/PID FUNCTION CALLS\n${'a-|'.repeat(40 * size)}`],
  ['one line of paths', (size) => '/sys/kernel/tracing/'.repeat(5 * size)],
  ['one line of blanks', (size) => `${HEADER} 0) ${' '.repeat(60 * size)}`],
]

/** In ms of the processor: on a busy host a long piece of work is always interrupted, and a short one is not. */
function fastestMs(work: () => unknown): number {
  const runs = Array.from({ length: 4 }, () => {
    const from = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(from)
    return (user + system) / 1000
  })
  return Math.min(...runs)
}

it.each(inputs)('%s take time linear in their number', (_name, make) => {
  const [once, fourTimes] = [2500, 10_000].map((size) => {
    const input = make(size)
    return fastestMs(() => {
      const result = graph([{ name: 'x', input }])
      renderGraph(result)
      JSON.stringify(graphJson(result))
      if (result.found) graphStacks(result)
      if (result.found) drawGraph(result)
    })
  })
  // Quadratic work would be 16 times as much; a floor keeps the noise of short runs out.
  expect(fourTimes).toBeLessThan(10 * Math.max(once ?? 0, 12))
})
