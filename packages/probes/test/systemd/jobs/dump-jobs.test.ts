import { describe, expect, it } from 'vitest'
import { fixture } from '../recordings.ts'
import { queueOf, text } from './queues.ts'

const GOLDEN = (
  JSON.parse(fixture('jobs-golden.json')) as {
    readonly 'b12-midboot': {
      readonly 'dump.0': { readonly list: readonly (readonly [number, string, string, string])[] }
    }
  }
)['b12-midboot']['dump.0']
const dump = fixture('b12-midboot.dump.txt')

const queue = (input: string): ReturnType<typeof queueOf> => queueOf([{ name: 'dump', input }])

describe('the jobs of a dump', () => {
  it('are counted once, although each stands in it twice', () => {
    const report = queueOf([text('b12-midboot.dump.txt')])
    expect(dump.match(/-> Job \d+:/g)?.length).toBe(66)
    expect(report.jobs.map(({ id, unit, type, state }) => [id, unit, type, state])).toEqual(GOLDEN.list)
    expect(report.diagnostics).toMatchObject({ unparsed: 0, problems: [] })
    expect(report).toMatchObject({ sources: ['dump'], findings: [] })
  })

  it('wait for the jobs of the units in their After=, which the dump has too', () => {
    const { jobs } = queueOf([text('b12-midboot.dump.txt')])
    const byUnit = new Map(jobs.map((job) => [job.unit, job]))
    const unitsOf = (ids: readonly number[] = []): readonly string[] =>
      ids.map((id) => jobs.find((job) => job.id === id)?.unit ?? '')
    expect(unitsOf(byUnit.get('sysinit.target')?.waitedOn)).toEqual([
      'systemd-udevd.service',
      'systemd-binfmt.service',
      'systemd-tmpfiles-setup.service',
      'systemd-update-utmp.service',
    ])
    expect(byUnit.get('systemd-udevd.service')?.waitedOn).toEqual([])
  })

  it('are the same with the arrows of 257, which it uses for units only', () => {
    const arrows = dump.replaceAll(/^-> Unit/gm, '→ Unit').replaceAll(/^\t-> Exec/gm, '\t→ Exec')
    expect(queue(arrows).jobs).toEqual(queue(dump).jobs)
  })

  it('are there where one of the two places is missing: cut off, or asked for with a pattern', () => {
    const atMargin = dump.search(/^-> Job /m)
    const cut = queue(dump.slice(0, atMargin))
    expect(cut.jobs.map(({ id }) => id)).toEqual(GOLDEN.list.map(([id]) => id))
    expect(cut.diagnostics.problems.map(({ name, count }) => [name, count])).toEqual([['seen-once', 33]])
    const only = queue(`Timestamp kernel: Mon 2026-11-30 21:22:20 UTC\n${dump.slice(atMargin)}`)
    expect(only.jobs.length).toBe(33)
    expect(only.diagnostics.problems.map(({ name, count }) => [name, count])).toEqual([['seen-once', 33]])
  })

  it('of which half a block is left are not used, and the other place has them', () => {
    const block =
      '-> Unit a.service:\n\tUnit Load State: loaded\n\t-> Job 7:\n\t\tAction: a.service -> start\n\t\tState: running\n'
    const { jobs, diagnostics } = queue(`${block}-> Job 7:\n\tAction: a.service -> start\n`)
    expect(jobs).toMatchObject([{ id: 7, unit: 'a.service', state: 'running' }])
    expect(diagnostics.problems.map(({ name, lines }) => [name, lines])).toEqual([
      ['half-block', [6]],
      ['seen-once', [3]],
    ])
  })

  it('do not take fields of a block whose first line was lost', () => {
    const torn =
      '-> Job 7:\n\tAction: a.service -> start\n\tState: waiting\n-> Jo[   12.345678] x: up\nb 8:\n\tAction: b.service -> stop\n\tState: running\n'
    const { jobs } = queue(`-> Unit a.service:\n${torn}`)
    expect(jobs.map(({ id, unit, type, state }) => [id, unit, type, state])).toEqual([
      [7, 'a.service', 'start', 'waiting'],
    ])
    const unstamped = queue(`-> Unit a.service:\n${torn.replace('[   12.345678] x: up', 'random: crng init done')}`)
    expect(unstamped.jobs).toEqual(jobs)
  })

  it('are none in a dump after the boot, which is an answer', () => {
    expect(queueOf([text('b12x-nasty.dump.txt')])).toMatchObject({ jobs: [], queued: [], sources: ['dump'] })
  })
})
