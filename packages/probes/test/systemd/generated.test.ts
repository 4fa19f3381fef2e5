import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { waits } from '../../src/index.ts'
import { aBoot, MANAGER_TIMES, type UnitSpec } from './a-systemd.ts'
import { reportOf } from './recordings.ts'

/** A unit of a generated boot: what it is ordered after (by index), and how long PID 1 and the unit itself take. */
interface Generated {
  readonly after: readonly number[]
  readonly lagUs: number
  readonly forkUs: number
  readonly activeUs: number
  readonly kind: 'active' | 'oneshot' | 'condition' | 'no-job'
}

const unit = (index: number): fc.Arbitrary<Generated> =>
  fc.record({
    after: index === 0 ? fc.constant([]) : fc.uniqueArray(fc.nat(index - 1), { maxLength: 4 }),
    lagUs: fc.nat(3000),
    forkUs: fc.nat(500),
    activeUs: fc.oneof(fc.constant(0), fc.nat(50_000)),
    kind: fc.constantFrom('active', 'active', 'oneshot', 'condition', 'no-job'),
  })

const boots = fc
  .integer({ min: 1, max: 25 })
  .chain((size) => fc.tuple(...Array.from({ length: size }, (_, index) => unit(index))))

interface Simulated {
  readonly specs: readonly UnitSpec[]
  /** For each unit with a job the units that released it, as PID 1's rule has it. */
  readonly releasers: ReadonlyMap<string, ReadonlySet<string>>
  readonly endUs: readonly number[]
}

/** PID 1 as section 2.4 of the public description of its queue has it: a job runs when no unit in After= has one. */
function simulate(units: readonly Generated[]): Simulated {
  const endUs: number[] = []
  const releasers = new Map<string, ReadonlySet<string>>()
  const specs = units.map(({ after, lagUs, forkUs, activeUs, kind }, index): UnitSpec => {
    const id = `u${index}.service`
    const waited = after.filter((one) => units[one]?.kind !== 'no-job')
    const freeUs = Math.max(MANAGER_TIMES.UnitsLoadFinish, ...waited.map((one) => endUs[one] ?? 0))
    const runUs = freeUs + lagUs
    const startUs = runUs + forkUs
    endUs[index] = kind === 'condition' ? runUs : startUs + activeUs
    releasers.set(id, new Set(waited.filter((one) => endUs[one] === freeUs).map((one) => `u${one}.service`)))
    const times: { readonly [kind in Generated['kind']]: UnitSpec['at'] } = {
      active: [runUs, startUs, startUs + activeUs],
      oneshot: [runUs, startUs, 0, 0, startUs + activeUs],
      condition: [runUs],
      'no-job': [0, startUs, startUs + activeUs],
    }
    return {
      id,
      after: after.map((one) => `u${one}.service`),
      at: times[kind] ?? [0],
      more: { ConditionResult: kind === 'condition' ? 'no' : 'yes' },
    }
  })
  return { specs, releasers, endUs }
}

describe('a boot that was simulated', () => {
  it('has parts that touch and sum to the span, and a path of the units that released one another', () => {
    fc.assert(
      fc.property(boots, fc.boolean(), (units, fromKernel) => {
        const { specs, releasers, endUs } = simulate(units)
        for (const [index, spec] of specs.entries()) {
          const { parts, totalUs, originUs, targetUs, path } = reportOf(aBoot(specs), { target: spec.id, fromKernel })
          expect(originUs).toBe(fromKernel ? 0 : MANAGER_TIMES.Userspace)
          expect(targetUs).toBe(endUs[index])
          expect(totalUs).toBe(targetUs - originUs)
          let atUs = 0
          for (const part of parts) {
            expect(part.startUs).toBe(atUs)
            expect(part.endUs).toBeGreaterThan(part.startUs)
            atUs = part.endUs
          }
          expect(atUs).toBe(totalUs)
          expect(path.at(-1)?.unit).toBe(spec.id)
          const steps = path.map(({ unit: id }, at) => ({ id, from: path[at - 1]?.unit }))
          const wrong = steps.filter(({ id, from }) => {
            const known = releasers.get(id)
            return from === undefined ? spec.at?.[0] !== 0 && known?.size !== 0 : known?.has(from) !== true
          })
          expect(wrong).toEqual([])
        }
      }),
      { numRuns: 60 },
    )
  })

  it('gives the same result whatever the order of files, blocks and After= is', () => {
    fc.assert(
      fc.property(boots, fc.infiniteStream(fc.nat()), (units, stream) => {
        const { specs } = simulate(units)
        const shuffled = <T>(items: readonly T[]): T[] =>
          items
            .map((item) => ({ item, key: stream.next().value as number }))
            .toSorted((a, b) => a.key - b.key)
            .map(({ item }) => item)
        const target = specs.at(-1)?.id ?? ''
        const again = shuffled(aBoot(shuffled(specs.map((spec) => ({ ...spec, after: shuffled(spec.after ?? []) })))))
        expect(waits(again, { target })).toEqual(waits(aBoot(specs), { target }))
      }),
      { numRuns: 60 },
    )
  })

  it('moves the target by what a unit ends later than its slack, and not before', () => {
    fc.assert(
      fc.property(boots, fc.nat(), fc.nat(60_000), (units, pick, laterUs) => {
        const { specs, endUs } = simulate(units)
        const { slack } = reportOf(aBoot(specs), { target: specs.at(-1)?.id ?? '' })
        const index = pick % units.length
        const moved = units.map((one, at) => (at === index ? { ...one, activeUs: one.activeUs + laterUs } : one))
        if (units[index]?.kind === 'condition' || index === units.length - 1) return
        const expected = slack.find(({ unit: id }) => id === `u${index}.service`)?.slackUs ?? Number.POSITIVE_INFINITY
        const movedUs = (simulate(moved).endUs.at(-1) ?? 0) - (endUs.at(-1) ?? 0)
        expect(movedUs).toBe(Math.max(0, laterUs - expected))
      }),
      { numRuns: 300 },
    )
  })
})
