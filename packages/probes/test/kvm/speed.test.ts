import { expect, it } from 'vitest'
import { exits } from '../../src/index.ts'
import { countersFile, onHardware } from './a-record.ts'

function fastestMs(work: () => unknown): number {
  const times = Array.from({ length: 5 }, () => {
    const from = performance.now()
    work()
    return performance.now() - from
  })
  return Math.min(...times)
}

it.each([
  [
    'samples',
    (size: number) =>
      countersFile(
        Array.from({ length: size / 8 }, (_, n) => ({ atMs: n, marks: [`user:${n}`], vcpus: [onHardware(n)] })),
      ).input,
  ],
  ['braces that nothing closes', (size: number) => '{ "a": [\n'.repeat(size)],
  ['brackets in one line', (size: number) => '['.repeat(size * 10)],
  ['values that are no JSON', (size: number) => '{\nx\n}\n'.repeat(size)],
  ['lines of another tool', (size: number) => `vcpu.${'a.'.repeat(40)}=\u001b\n`.repeat(size)],
  ['lines of flags', (size: number) => `${'w'.repeat(60)} flags=0x0 ${'x=y '.repeat(20)}\n`.repeat(size)],
] as const)('%s take time linear in their size', (_name, make) => {
  const [once, fourTimes] = [2000, 8000].map((size) => {
    const input = make(size)
    return fastestMs(() => exits([{ name: 'x', input }]))
  })
  // Quadratic work would be 16 times as much; a floor keeps the noise of a few milliseconds out.
  expect(fourTimes).toBeLessThan(9 * Math.max(once ?? 0, 8))
})
