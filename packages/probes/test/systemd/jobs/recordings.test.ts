import { describe, expect, it } from 'vitest'
import { jobs, jobsBetween, readSystemd } from '../../../src/index.ts'
import { episodesOf } from '../../../src/systemd/waits/episode.ts'
import { bootGraph, notWaitedFor, releaserOf } from '../../../src/systemd/waits/predecessors.ts'
import { fixture } from '../recordings.ts'
import { queueOf, recordedBoot, text } from './queues.ts'

interface GoldenQueue {
  readonly connectedUs: number
  readonly atConnect: number
  readonly startupFinishedReceivedUs: number
  readonly startupFinished: readonly number[]
  readonly removedUntilFinish: { readonly [result: string]: number }
  readonly withRunningSignalUntilFinish: number
  readonly recordedWhole: number
  readonly newWhole: number
  readonly removedWhole: { readonly [result: string]: number }
  readonly stillQueuedAtEnd: readonly unknown[]
  readonly notDone: readonly { readonly id: number; readonly unit: string; readonly result: string }[]
  readonly newUntilFinishUnits: { readonly [unit: string]: number }
  readonly lastRemovedBeforeFinish: string
  readonly firstLogin: readonly string[]
}

const GOLDEN = JSON.parse(fixture('jobs-golden.json')) as { readonly [boot: string]: GoldenQueue }

function countBy(values: readonly string[]): { readonly [value: string]: number } {
  const counts: { [value: string]: number } = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}

describe.each(['b12-rec', 'b12x-nasty'])('the recorded boot %s', (boot) => {
  const golden = GOLDEN[boot] as GoldenQueue
  const report = queueOf(recordedBoot(boot))
  const untilFinish = report.jobs.filter(({ removedUs = 0 }) => removedUs <= golden.startupFinishedReceivedUs)

  it('has the golden number of jobs, all of the first list waiting', () => {
    expect(report).toMatchObject({ connectedUs: golden.connectedUs, results: golden.removedWhole, queued: [] })
    expect(report.jobs.length).toBe(golden.recordedWhole)
    expect(report.depth).toMatchObject({ atConnect: golden.atConnect, max: golden.atConnect, atEnd: 0 })
    expect(report.jobs.filter(({ since }) => since === 'before-connect').length).toBe(golden.atConnect)
    expect(report.jobs.filter(({ installedUs }) => installedUs !== undefined).length).toBe(golden.newWhole)
    expect(report.findings.map(({ name }) => name)).not.toContain('connected-late')
    expect(golden.stillQueuedAtEnd).toEqual([])
  })

  it('has the golden results, signals and announcements until the boot was finished', () => {
    const [, , kernelUs = 0, initrdUs = 0, userspaceUs = 0] = golden.startupFinished
    expect(report.startupFinished).toEqual({
      atUs: golden.startupFinishedReceivedUs,
      finishUs: kernelUs + initrdUs + userspaceUs,
    })
    expect(countBy(untilFinish.map(({ result = '' }) => result))).toEqual(golden.removedUntilFinish)
    expect(untilFinish.filter(({ runningUs }) => runningUs !== undefined).length).toBe(
      golden.withRunningSignalUntilFinish,
    )
    const announced = jobsBetween(report, 0, golden.startupFinishedReceivedUs)
    const byId = new Map(report.jobs.map((job) => [job.id, job]))
    expect(countBy(announced.map((id) => byId.get(id)?.unit ?? ''))).toEqual(golden.newUntilFinishUnits)
    expect(untilFinish.toSorted((a, b) => (a.removedUs ?? 0) - (b.removedUs ?? 0)).at(-1)?.unit).toBe(
      golden.lastRemovedBeforeFinish,
    )
  })

  it('names the failed jobs in their order', () => {
    const byId = new Map(report.jobs.map((job) => [job.id, job]))
    expect(report.failed.map((id) => byId.get(id)).map((job) => [job?.id, job?.unit, job?.result])).toEqual(
      golden.notDone.map(({ id, unit, result }) => [id, unit, result]),
    )
  })

  it('names what the first login set off, in the order of the announcements', () => {
    const first = report.jobs.find(({ unit }) => unit === golden.firstLogin[0])
    const session = report.jobs.find(({ unit }) => unit === 'session-1.scope')
    const fromUs = first?.installedUs ?? 0
    const { between, jobs: all } = queueOf(recordedBoot(boot), { between: { fromUs, toUs: session?.removedUs ?? 0 } })
    const units = between?.jobs.map((id) => all.find((job) => job.id === id)?.unit)
    expect(units?.filter((unit) => unit !== 'n-loop.service')).toEqual(golden.firstLogin)
    const [userManager, slice, runtimeDir] = golden.firstLogin.map((unit) => all.find((job) => job.unit === unit))
    expect(userManager?.waitedOn).toEqual([slice?.id, runtimeDir?.id].toSorted((a, b) => (a ?? 0) - (b ?? 0)))
  })
})

describe('the stamps of a recording', () => {
  it.each(['b12-rec', 't13-rec', 'b12x-nasty'])(
    '%s: are those of systemctl show for every unit with one job',
    (boot) => {
      const [recorded, show] = recordedBoot(boot)
      const { state } = readSystemd([show])
      const { jobs: all } = queueOf([recorded])
      const once = all.filter(({ unit }) => all.filter((other) => other.unit === unit).length === 1)
      const stamps = once.flatMap(({ unit, releasedUs }) => {
        const conditionUs = state?.units.get(unit)?.conditionUs
        return conditionUs === undefined ? [] : [[unit, releasedUs, conditionUs]]
      })
      expect(stamps.length).toBeGreaterThan(90)
      expect(stamps.filter(([, released, condition]) => released !== condition)).toEqual([])
    },
  )

  it('come from systemctl show where a recorder kept no changes of units', () => {
    const [recorded, show, journal] = recordedBoot('b12-rec')
    const bare = recorded.input
      .split('\n')
      .filter((line) => !line.includes('"org.freedesktop.systemd1.Unit"'))
      .join('\n')
    const whole = new Map(queueOf([recorded, show, journal]).jobs.map((job) => [job.id, job]))
    const fromShow = queueOf([{ name: 'bare', input: bare }, show, journal]).jobs.filter(
      ({ since, releasedUs }) => since === 'before-connect' && releasedUs !== undefined,
    )
    expect(fromShow.length).toBe(86)
    expect(fromShow.filter(({ id, releasedUs }) => whole.get(id)?.releasedUs !== releasedUs)).toEqual([])
  })

  it.each([
    ['b12-rec', { n: 119, p50Us: 8219, p95Us: 371_109, maxUs: 466_290, inReload: 0 }],
    ['t13-rec', { n: 126, p50Us: 9863, p95Us: 45_769, maxUs: 114_281, inReload: 0 }],
    ['b12x-nasty', { n: 290, p50Us: 3428, p95Us: 12_695, maxUs: 24_613, inReload: 0 }],
  ] as const)('%s: say how late the signals are', (boot, lag) => {
    expect(queueOf(recordedBoot(boot)).lag).toEqual(lag)
  })

  it('show how PID 1 forks in one loop: 41 units in 635 ms, then 34 in 1620 ms', () => {
    const { dispatches = [], jobs: all } = queueOf(recordedBoot('b12x-nasty'))
    const unitOf = (id: number | undefined): string | undefined => all.find((job) => job.id === id)?.unit
    const longest = dispatches.toSorted((a, b) => b.endUs - b.startUs - (a.endUs - a.startUs)).slice(0, 2)
    expect(
      longest.map(({ startUs, endUs, jobs: ids }) => [
        startUs,
        endUs - startUs,
        ids.length,
        unitOf(ids[0]),
        unitOf(ids.at(-1)),
      ]),
    ).toEqual([
      [6_187_144, 1_619_833, 34, 'sysinit.target', 'systemd-pcrphase.service'],
      [3_821_468, 634_579, 41, 'system-getty.slice', 'systemd-udev-trigger.service'],
    ])
    // What basic.target released was run in the second one, n-long.service after 11 others.
    const loop = longest[0]?.jobs.map(unitOf) ?? []
    expect(loop.indexOf('n-long.service') - loop.indexOf('basic.target')).toBe(11)
  })
})

describe('the predecessors that waits names, against the live order of JobRemoved', () => {
  it.each([
    ['b12-rec', 86, []],
    ['t13-rec', 93, []],
    [
      'b12x-nasty',
      105,
      // A restart loop: `waits` knows its last start only, and says so. One of its jobs was queued before n-long ended.
      [['multi-user.target', 'n-long.service', 'n-loop.service']],
    ],
  ] as const)('%s: agree for every unit that was queued when the boot began', (boot, units, disagreements) => {
    const [recorded, show] = recordedBoot(boot)
    const { state } = readSystemd([show])
    if (state === undefined) throw new Error('the recording has no units')
    const graph = bootGraph(state, episodesOf(state))
    const { jobs: all } = queueOf([recorded])
    const ofUnit = Map.groupBy(all, ({ unit }) => unit)
    const compared: string[] = []
    const differ: (readonly (string | undefined)[])[] = []
    for (const job of all) {
      const episode = graph.episodes.get(job.unit)
      if (job.since !== 'before-connect' || episode?.hadJob !== true || ofUnit.get(job.unit)?.length !== 1) continue
      const firstSignUs = job.runningUs ?? job.removedUs ?? 0
      const before = graph
        .after(job.unit)
        .flatMap((unit) => ofUnit.get(unit) ?? [])
        .filter(({ removedUs = Number.POSITIVE_INFINITY }) => removedUs <= firstSignUs)
      const lastUs = before.reduce((last, { removedUs = 0 }) => Math.max(last, removedUs), 0)
      // Several messages can come with one read.
      const live = before.filter(({ removedUs }) => removedUs === lastUs).map(({ unit }) => unit)
      const said = releaserOf(graph, episode)?.episode.unit.id
      compared.push(job.unit)
      if (said === undefined ? live.length > 0 : !live.includes(said)) differ.push([job.unit, said, ...live])
    }
    expect(compared.length).toBe(units)
    expect(differ).toEqual(disagreements)
    for (const [unit = '', , live] of differ) {
      const episode = graph.episodes.get(unit)
      const doubts = episode === undefined ? [] : notWaitedFor(graph, episode)
      expect(doubts).toContainEqual({ unit, after: live, reason: 'restarted' })
    }
  })

  it('are order and no wait for what was announced later: nothing of their After= was queued then', () => {
    const { state } = readSystemd([text('b12x-nasty.show.txt')])
    if (state === undefined) throw new Error('the recording has no units')
    const graph = bootGraph(state, episodesOf(state))
    const later = queueOf(recordedBoot('b12x-nasty')).jobs.filter(
      ({ unit, installedUs, waitedOn }) =>
        installedUs !== undefined && waitedOn.length === 0 && graph.episodes.get(unit)?.lastRunOnly === false,
    )
    const said = later.map(({ unit }) => [unit, releaserOf(graph, graph.episodes.get(unit) as never)?.episode.unit.id])
    expect(Object.fromEntries(said)).toMatchObject({
      'n-timer.service': 'basic.target',
      'n-path.service': 'basic.target',
      'n-sock.service': 'basic.target',
      'mnt-auto.mount': 'mnt-auto.automount',
      'proc-sys-fs-binfmt_misc.mount': 'systemd-journald.socket',
    })
  })

  it('miss the job of a restart loop that held multi-user.target for 40 ms more than n-long.service', () => {
    const { jobs: all } = queueOf(recordedBoot('b12x-nasty'))
    const target = all.find(({ unit }) => unit === 'multi-user.target')
    const loop = all
      .filter(({ id, unit }) => unit === 'n-loop.service' && target?.waitedOn.includes(id) === true)
      .at(-1)
    const long = all.find(({ unit }) => unit === 'n-long.service')
    expect([loop?.installedUs, long?.unitEndUs, loop?.unitEndUs, target?.releasedUs]).toEqual([
      13_902_434, 13_909_807, 13_949_973, 13_957_930,
    ])
  })
})

describe('the matrix of job semantics, systemd 252', () => {
  interface Case {
    readonly case: string
    readonly jobs: readonly {
      readonly id: number
      readonly unit: string
      readonly newUs: number
      readonly states: readonly string[]
      readonly result: string
      readonly removedUs: number
    }[]
    readonly reloading: readonly (readonly [number, boolean])[]
  }
  const { cases } = JSON.parse(fixture('b12-exp.semantics.json')) as { readonly cases: readonly Case[] }
  const report = queueOf([text('b12-exp.jobs.jsonl')])
  const byId = new Map(report.jobs.map((job) => [job.id, job]))

  it.each(cases.filter(({ jobs: made }) => made.length > 0).map((one) => [one.case, one.jobs] as const))(
    '%s',
    (_name, made) => {
      const seen = made.map(({ id }) => byId.get(id))
      expect(
        seen.map((job) => ({
          id: job?.id,
          unit: job?.unit,
          newUs: job?.installedUs,
          states: job?.states?.map(({ state }) => state) ?? [],
          result: job?.result,
          removedUs: job?.removedUs,
        })),
      ).toEqual(made)
      expect(seen.map((job) => job?.type)).toEqual(made.map(() => 'unknown'))
    },
  )

  it('has the reloads, the last one without an end: it was a reexec', () => {
    const signals = cases.flatMap(({ reloading }) => reloading)
    expect(report.reloads.flatMap(({ startUs, endUs }) => [startUs, ...(endUs === undefined ? [] : [endUs])])).toEqual(
      signals.map(([atUs]) => atUs),
    )
    expect(report.reloads.map(({ endUs }) => endUs === undefined)).toEqual([false, false, false, false, true])
  })

  it('knows the slice of a first instance', () => {
    const slice = report.jobs.find(({ unit }) => unit === 'system-x\\x2da.slice')
    expect(slice?.sliceOf?.map((id) => byId.get(id)?.unit)).toEqual(['x-a@b-c\\x2dd.service'])
  })

  it('keeps failures apart from what somebody took away or had nothing to do', () => {
    const results = report.failed.map((id) => byId.get(id)?.result ?? '')
    expect(countBy(results)).toEqual({ assert: 1, dependency: 3, failed: 4, timeout: 2 })
    expect(report.results).toEqual({
      assert: 1,
      canceled: 3,
      dependency: 3,
      done: 124,
      failed: 4,
      skipped: 1,
      timeout: 2,
    })
  })
})

describe('several inputs of one boot', () => {
  it('give the same in any order', () => {
    const inputs = recordedBoot('b12x-nasty')
    const { diagnostics: _, ...report } = queueOf(inputs)
    for (const order of [inputs.toReversed(), [inputs[1], inputs[0], inputs[2]]]) {
      const { diagnostics: __, ...other } = queueOf(order)
      expect(other).toEqual(report)
    }
  })

  it('complete each other: the journal has the types that JobNew lacks, the units what each job waited on', () => {
    const [recorded, show, journal] = recordedBoot('t13-rec')
    const untyped = (inputs: Parameters<typeof jobs>[0]): number =>
      queueOf(inputs).jobs.filter(({ type }) => type === 'unknown').length
    expect([untyped([recorded]), untyped([recorded, journal])]).toEqual([33, 3])
    const waiting = (inputs: Parameters<typeof jobs>[0]): number =>
      queueOf(inputs).jobs.filter(({ waitedOn }) => waitedOn.length > 0).length
    expect(waiting([recorded, journal])).toBe(0)
    expect(waiting([recorded, show, journal])).toBeGreaterThan(70)
    expect(queueOf([recorded]).findings.map(({ name }) => name)).toEqual(['no-after', 'type-not-told'])
  })

  it('of which one is given twice count once', () => {
    const [recorded] = recordedBoot('b12-rec')
    const { diagnostics, ...twice } = queueOf([recorded, { ...recorded, name: 'copy' }])
    const { diagnostics: _, ...once } = queueOf([recorded])
    expect(twice).toEqual(once)
    expect(diagnostics.problems.map(({ name, count }) => [name, count])).toEqual([['same-recording', 1]])
  })
})
