import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  compareInitcalls,
  initcallsOverBoots,
  renderInitcallsComparison,
  renderInitcallsOverBoots,
} from '../../../src/index.ts'
import { at, linux, pair, recorded, reportOf, switched } from './logs.ts'

/** A boot whose calls took so long, in us. */
function boot(version: string, calls: Readonly<Record<string, number>>, early = ''): ReturnType<typeof reportOf> {
  const lines = Object.entries(calls).map(([name, us], index) =>
    pair(name, 1e6 * (index + 1), 1e6 * (index + 1) + us, us),
  )
  return reportOf(`${linux(version)}${early}${switched(900_000)}${lines.join('')}`)
}

describe('two kernels', () => {
  it('differ by calls that came and went, and by what took longer or shorter', () => {
    const a = boot('6.1.0', { same: 5000, gone: 300, slower: 10_000, faster: 9000, little: 100_000 })
    const b = boot('6.12.0', { same: 5400, slower: 30_000, faster: 2000, fresh: 700, little: 104_000 })
    expect(compareInitcalls([a], [b])).toEqual({
      a: { kernels: ['6.1.0'], boots: 1, calls: 5 },
      b: { kernels: ['6.12.0'], boots: 1, calls: 5 },
      appeared: [{ name: 'fresh', occurrence: 1, n: 1, minUs: 700, maxUs: 700, medianUs: 700 }],
      vanished: [{ name: 'gone', occurrence: 1, n: 1, minUs: 300, maxUs: 300, medianUs: 300 }],
      moved: [
        { name: 'slower', occurrence: 1, aUs: 10_000, bUs: 30_000, deltaUs: 20_000, n: [1, 1] },
        { name: 'faster', occurrence: 1, aUs: 9000, bUs: 2000, deltaUs: -7000, n: [1, 1] },
      ],
      rehoused: [],
      relevelled: [],
      // 4 ms are less than 10 % of 100.
      unmoved: 2,
      notCompared: 0,
    })
  })

  it('do not differ by durations that are whole ticks, or known no better than they moved', () => {
    const untimed = reportOf(
      'initcall x+0x0/0x4 returned 0 after 4000 usecs\ninitcall y+0x0/0x4 returned 0 after 4000 usecs\n',
    )
    const timed = reportOf(`${linux('6.1.0')}${pair('x', 1000, 90_000, 88_000)}${pair('y', 100_000, 190_000, 88_000)}`)
    expect(compareInitcalls([untimed], [timed])).toMatchObject({ moved: [], unmoved: 0, notCompared: 2 })
  })

  it('name calls of clang’s LTO after a counter and a line, which are not the call', () => {
    const a = boot('6.1.0', { __initstub__kmod_core__420_2134_regulator_init1: 20 })
    const b = boot('6.2.0', { __initstub__kmod_core__433_2201_regulator_init1: 20 })
    expect(compareInitcalls([a], [b])).toMatchObject({ appeared: [], vanished: [], unmoved: 1 })
  })

  it('may have a call built in that the other one has in a module', () => {
    const a = reportOf(
      `${linux('6.1.0')}${switched(1000)}${pair('x_init', 2000, 12_000, 9000, { module: 'x', pid: 80 })}`,
    )
    const b = reportOf(`${linux('6.2.0')}${switched(1000)}${pair('x_init', 2000, 32_000, 29_000)}`)
    expect(compareInitcalls([a], [b])).toMatchObject({
      appeared: [],
      vanished: [],
      rehoused: [{ name: 'x_init', a: 'x' }],
      moved: [{ name: 'x_init', aUs: 9000, bUs: 29_000, deltaUs: 20_000 }],
    })
  })

  it('may have a call in another level', () => {
    const level = (name: string): string => `${at(800_000)}entering initcall level: ${name}\n`
    const compared = compareInitcalls(
      [boot('6.17.0', { x: 5 }, level('core'))],
      [boot('7.0.0', { x: 5 }, level('late'))],
    )
    expect(compared.relevelled).toEqual([{ name: 'x', a: 'core', b: 'late' }])
    expect(renderInitcallsComparison(compared)).toContain('  core  late  x')
  })

  it('are compared with honest words: one boot each is one boot', () => {
    const [a, b] = [reportOf(recorded('6.1')), reportOf(recorded('7.2'))]
    const compared = compareInitcalls([a], [b])
    expect([compared.a.calls, compared.b.calls]).toEqual([584, 706])
    // What is in neither list is in both.
    expect(compared.b.calls - compared.appeared.length).toBe(compared.a.calls - compared.vanished.length)
    expect(compared.rehoused).toContainEqual({ name: 'virtio_pci_driver_init', a: 'virtio_pci' })
    expect(compared.moved.length + compared.unmoved + compared.notCompared).toBe(
      compared.a.calls - compared.vanished.length,
    )
    expect(compared.moved.map(({ name }) => name)).toContain('init_kprobe_trace')
    // The text of the documentation.
    const documented = readFileSync(new URL('./fixtures/linux-6.1-and-7.2.comparison.txt', import.meta.url), 'utf8')
    expect(renderInitcallsComparison(compared, { longest: 5 })).toBe(documented)
    const text = renderInitcallsComparison(compared)
    expect(text).toContain('A: Linux 6.1.0-57-cloud-amd64, 584 initcalls, n=1')
    expect(text).toContain('one boot each: what moved may be chance; which calls there are is not')
  })

  it('of several boots each are compared by their medians', () => {
    const boots = (version: string, times: readonly number[]) => times.map((us) => boot(version, { x: us }))
    const compared = compareInitcalls(boots('6.2.0', [5000, 90_000, 6000]), boots('6.3.0', [9000, 9100]))
    expect(compared.moved).toEqual([{ name: 'x', occurrence: 1, aUs: 6000, bUs: 9050, deltaUs: 3050, n: [3, 2] }])
    expect(renderInitcallsComparison(compared)).toContain('medians over the boots')
  })
})

describe('boots of one kernel', () => {
  it('have a p50 from five on', () => {
    const times = [5000, 9000, 7000, 6000]
    const few = initcallsOverBoots(times.map((us) => boot('6.1.0', { x: us })))
    expect(few).toMatchObject({ boots: 4, kernels: ['6.1.0'], calls: [{ name: 'x', n: 4, minUs: 5000, maxUs: 9000 }] })
    expect(few.calls[0]).not.toHaveProperty('p50Us')
    expect(renderInitcallsOverBoots(few)).toContain('n=4 (p50 is withheld below 5 boots)')
    const enough = initcallsOverBoots([...times, 8000].map((us) => boot('6.1.0', { x: us })))
    expect(enough.calls).toMatchObject([{ n: 5, p50Us: 7000 }])
  })

  it('count only those that know how long a call took', () => {
    const untimed = reportOf('initcall x+0x0/0x40 returned 0 after 4000 usecs\n')
    const open = reportOf(`${linux('6.1.0')}${at(1000)}calling  x+0x0/0x40 @ 1\n`)
    expect(initcallsOverBoots([untimed, open]).calls).toEqual([{ name: 'x', occurrence: 1, n: 0 }])
  })
})
