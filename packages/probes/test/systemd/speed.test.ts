import { expect, it } from 'vitest'
import { waits } from '../../src/index.ts'
import { aBoot, showManager } from './a-systemd.ts'
import { dumpOf } from './large-dump.ts'
import { fastestMs } from '../fastest.ts'

/** One target after all units, which end in the same microsecond: the most ties that there can be. */
function tiedShow(units: number): ReturnType<typeof aBoot> {
  const ids = Array.from({ length: units }, (_, index) => `u${index}.service`)
  return aBoot([
    ...ids.map((id, index) => ({ id, after: ids.slice(Math.max(0, index - 3), index), at: [2e6, 2e6, 3e6] as const })),
    { id: 'multi-user.target', after: ids, at: [4e6, 4e6, 4e6] },
  ])
}

it.each([
  ['a dump', (size: number) => [{ name: 'dump', input: dumpOf(size) }], 'u%.service'],
  ['units that all tie', tiedShow, 'multi-user.target'],
  [
    'console noise',
    (size: number) => [
      { name: 'm', input: showManager() },
      { name: 'noise', input: '\u001b[0m[\u001b[0;32m x '.repeat(size * 20) },
    ],
    'x.target',
  ],
  [
    'lines of another tool',
    (size: number) => [{ name: 'noise', input: 'A'.repeat(50).concat('=\u001b\n').repeat(size) }],
    'x.target',
  ],
] as const)('%s takes time linear in its size', (_name, make, target) => {
  const [once, twice, fourTimes] = [1500, 3000, 6000].map((size) => {
    const inputs = make(size)
    return fastestMs(() => waits(inputs, { target: target.replace('%', String(size - 1)) }))
  })
  // Quadratic work would be 16 times as much; a floor keeps the noise of a few milliseconds out.
  expect(fourTimes).toBeLessThan(8 * Math.max(once ?? 0, 3))
  expect(fourTimes).toBeLessThan(5 * Math.max(twice ?? 0, 3))
})
