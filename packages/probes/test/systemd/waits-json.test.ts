import { describe, expect, it } from 'vitest'
import { type NamedInput, readSystemd, waits, waitsJson, waitsOf } from '../../src/index.ts'
import { aBoot } from './a-systemd.ts'
import { fixture, recording } from './recordings.ts'
import { problemsOf } from '../schema/problems-of.ts'

const problems = problemsOf('waits-v1')

describe('the JSON of waits', () => {
  it.each([
    ['b12x-nasty', recording('b12x-nasty')],
    ['t13-rec', recording('t13-rec')],
    ['a dump', [{ name: 'dump', input: fixture('b12x-nasty.dump.txt') }]],
    ['units without PID 1', recording('b12-plain').slice(0, 1)],
  ] as const)('fits its schema for every unit of %s', (_name, inputs: readonly NamedInput[]) => {
    const reading = readSystemd(inputs)
    const targets = ['login', 'ssh', 'no-such.unit', ...(reading.state?.units.keys() ?? [])]
    const results = targets.flatMap((target) =>
      [false, true].map((fromKernel) => waitsOf(reading, { target, fromKernel })),
    )
    expect(results.filter(({ found }) => found).length).toBeGreaterThan(150)
    expect(results.flatMap((result) => problems(waitsJson(result)))).toEqual([])
  })

  it('fits its schema without an answer, and says its format and version', () => {
    const json = waitsJson(waits([{ name: 'x', input: 'Id=half\nfoo' }]))
    expect(problems(json)).toEqual([])
    expect(json).toMatchObject({ format: 'boxlab-waits', version: 1, found: false, reason: 'no-units' })
  })

  it('does not fit its schema with a time that is none, a part of an unknown kind or a field too much', () => {
    const json = waitsJson(waits(aBoot([{ id: 'multi-user.target', at: [2e6, 2e6, 2e6] }])))
    expect(problems(json)).toEqual([])
    const wrong = [
      { ...json, totalUs: 1.5 },
      { ...json, parts: [{ kind: 'nap', startUs: 0, endUs: 1 }] },
      { ...json, surprise: 1 },
      { ...json, version: 2 },
    ]
    expect(wrong.map((one) => problems(one).length > 0)).toEqual([true, true, true, true])
  })
})
