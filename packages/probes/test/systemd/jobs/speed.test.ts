import { expect, it } from 'vitest'
import { jobs, type NamedInput } from '../../../src/index.ts'
import { showUnits } from '../a-systemd.ts'
import { jobNew, jobRemoved, jobState, list, recording, unitChange } from './queues.ts'
import { fastestMs } from '../../fastest.ts'

const ids = (size: number): readonly number[] => Array.from({ length: size }, (_, index) => index + 1)

/** A boot in which each unit waits for some before it. */
function boot(size: number): readonly NamedInput[] {
  const all = ids(size)
  const messages = all.flatMap((id) => [
    unitChange(`u${id}.service`, 1000 + id, 1001 + id, 1001 + id),
    jobState(id, 'running'),
    jobRemoved(id, `u${id}.service`),
  ])
  const units = all.map((id) => ({
    id: `u${id}.service`,
    after: [1, 7, 31, 101].filter((back) => back < id).map((back) => `u${id - back}.service`),
  }))
  return [
    { name: 'rec', input: recording(list(...all.map((id) => [id, `u${id}.service`] as const)), ...messages) },
    { name: 'show', input: showUnits(units) },
  ]
}

/** One unit that is restarted again and again, beside another one that is ordered after it and does the same. */
function loops(size: number): readonly NamedInput[] {
  const messages = ids(size).flatMap((round) => [
    jobNew(2 * round, 'a.service'),
    jobNew(2 * round + 1, 'b.service'),
    unitChange('b.service', 1000 + 4 * round, 1000 + 4 * round, 1000 + 4 * round),
    jobRemoved(2 * round, 'a.service'),
    jobRemoved(2 * round + 1, 'b.service'),
  ])
  return [
    { name: 'rec', input: recording(list(), ...messages) },
    { name: 'show', input: showUnits([{ id: 'a.service' }, { id: 'b.service', after: ['a.service'] }]) },
  ]
}

function table(size: number): readonly NamedInput[] {
  const rows = ids(size).map(
    (id) =>
      `${id} u${id}.service start waiting\n└─ \twaiting for job ${id === 1 ? size : id - 1} (u${id === 1 ? size : id - 1}.service/start) -     -\n`,
  )
  return [{ name: 'list', input: rows.join('') }]
}

it.each([
  ['a recorded boot', boot],
  ['two restart loops', loops],
  ['a table with relations', table],
  [
    'lines that are almost rows',
    (size: number) => [{ name: 'x', input: '12 └─ \t a...b c (((((((\n'.repeat(10 * size) }],
  ],
  [
    'lines of nothing known',
    (size: number) => [{ name: 'x', input: `{"\n${'{"t":\u001b[0m'.repeat(10)}\n`.repeat(size) }],
  ],
  ['one line', (size: number) => [{ name: 'x', input: ' 1 a.service \t'.repeat(50 * size) }]],
] as const)('%s takes time linear in its size', (_name, make) => {
  const [once, twice, fourTimes] = [1500, 3000, 6000].map((size) => {
    const inputs = make(size)
    return fastestMs(() => jobs(inputs))
  })
  // Quadratic work would be 16 times as much; a floor keeps the noise of a few milliseconds out.
  expect(fourTimes).toBeLessThan(8 * Math.max(once ?? 0, 3))
  expect(fourTimes).toBeLessThan(5 * Math.max(twice ?? 0, 3))
})
