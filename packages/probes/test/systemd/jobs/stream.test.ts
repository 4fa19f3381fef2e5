import { describe, expect, it } from 'vitest'
import { jobs } from '../../../src/index.ts'
import { showUnits } from '../a-systemd.ts'
import {
  jobNew,
  jobRemoved,
  jobState,
  type Line,
  list,
  type ListRow,
  queueOf,
  recording,
  reloading,
  unitChange,
} from './queues.ts'

const queue = (...messages: readonly Line[]): ReturnType<typeof queueOf> =>
  queueOf([{ name: 'rec', input: recording(...messages) }])

describe('the life of a recorded job', () => {
  it('begins before the connection, or with JobNew, and ends with JobRemoved', () => {
    const { jobs: all, depth } = queue(
      list([1, 'a.service'], [2, 'b.service', 'running', 'stop']),
      jobNew(3, 'c.service'),
      jobRemoved(1, 'a.service'),
    )
    expect(all).toMatchObject([
      { id: 1, type: 'start', state: 'finished', since: 'before-connect', result: 'done', removedUs: 1002 },
      { id: 2, type: 'stop', state: 'running', since: 'before-connect' },
      { id: 3, type: 'unknown', state: 'waiting', installedUs: 1001 },
    ])
    expect(all[0]).not.toHaveProperty('installedUs')
    expect(depth).toEqual({
      atConnect: 2,
      max: 3,
      maxAtUs: 1001,
      atEnd: 2,
      steps: [
        { atUs: 1000, jobs: 2 },
        { atUs: 1001, jobs: 3 },
        { atUs: 1002, jobs: 2 },
      ],
    })
  })

  it('counts merges: waiting said again of a job that waits', () => {
    const { jobs: all } = queue(
      list([1, 'a.service']),
      jobState(1, 'waiting'),
      jobState(1, 'waiting'),
      jobState(1, 'running'),
      jobState(1, 'waiting'),
      jobState(1, 'running'),
    )
    expect(all).toMatchObject([{ merges: 2, runningUs: 1003, state: 'running' }])
    expect(all[0]?.states?.map(({ state }) => state)).toEqual(['waiting', 'waiting', 'running', 'waiting', 'running'])
  })

  it('takes the stamp of its own run, not that of an earlier job of the unit', () => {
    const { jobs: all } = queue(
      list([1, 'a.service']),
      unitChange('a.service', 700),
      unitChange('a.service', 950, 960, 970),
      jobRemoved(1, 'a.service'),
      jobNew(2, 'a.service'),
      unitChange('a.service', 950, 960, 970),
      jobRemoved(2, 'a.service'),
    )
    expect(all).toMatchObject([{ id: 1, releasedUs: 950, unitStartUs: 960, unitEndUs: 970 }, { id: 2 }])
    expect(all[1]).not.toHaveProperty('releasedUs')
  })

  it('is known from its end alone where the recording has no list', () => {
    const { jobs: all, findings, depth } = queue(jobRemoved(1, 'a.service', 'failed'))
    expect(all).toMatchObject([{ id: 1, since: 'not-announced', result: 'failed' }])
    expect(depth).toBeUndefined()
    expect(findings.map(({ name }) => name)).toContain('no-list')
  })

  it('counts signals that do not fit, and keeps what came first', () => {
    const { jobs: all, findings } = queue(
      list([1, 'a.service']),
      jobRemoved(1, 'a.service'),
      jobRemoved(1, 'a.service', 'failed'),
      jobState(1, 'running'),
      jobNew(1, 'a.service'),
      jobState(9, 'running'),
    )
    expect(all).toMatchObject([{ id: 1, result: 'done' }])
    expect(findings.find(({ name }) => name === 'unexplained-signals')?.message).toMatch(/ 4 signals$/)
  })

  it('says that the recorder came late when jobs were running already', () => {
    const names = (...rows: readonly ListRow[]): readonly string[] =>
      queue(list(...rows)).findings.map(({ name }) => name)
    expect(names([1, 'a.service', 'running'])).toContain('connected-late')
    expect(names()).toContain('connected-late')
    expect(names([1, 'a.service'])).not.toContain('connected-late')
  })
})

describe('what a recorded job waited on', () => {
  const units = (...after: readonly string[]): { readonly name: string; readonly input: string } => ({
    name: 'show',
    input: showUnits([{ id: 'a.service' }, { id: 'b.service' }, { id: 'c.service' }, { id: 'z.service', after }]),
  })
  const waitedOn = (after: readonly string[], ...messages: readonly Line[]): readonly number[] | undefined =>
    queueOf([{ name: 'rec', input: recording(...messages) }, units(...after)]).jobs.find(
      ({ unit }) => unit === 'z.service',
    )?.waitedOn

  it('are the jobs of its After= units that were there with it and gone when it ran', () => {
    expect(
      waitedOn(
        ['a.service', 'b.service', 'c.service'],
        list([1, 'a.service'], [2, 'b.service'], [9, 'z.service']),
        jobRemoved(1, 'a.service'),
        jobState(9, 'running'),
        jobRemoved(2, 'b.service'),
        jobRemoved(9, 'z.service'),
      ),
    ).toEqual([1])
  })

  it('are none that were gone before it came, and all that hold it still', () => {
    expect(
      waitedOn(
        ['a.service', 'b.service', 'c.service'],
        list([1, 'a.service'], [2, 'b.service']),
        jobRemoved(1, 'a.service'),
        jobNew(9, 'z.service'),
        unitChange('z.service', 0),
        jobRemoved(9, 'z.service', 'dependency'),
      ),
    ).toEqual([2])
    expect(waitedOn(['a.service'], list([1, 'a.service'], [9, 'z.service']))).toEqual([1])
  })

  it('excludes one that came up after it ran, although its signal came later', () => {
    expect(
      waitedOn(
        ['a.service'],
        list([9, 'z.service']),
        jobNew(1, 'a.service'),
        unitChange('z.service', 950, 960),
        unitChange('a.service', 955, 956, 999),
        jobRemoved(1, 'a.service'),
        jobState(9, 'running'),
      ),
    ).toEqual([])
  })

  it('is the other way around for a stop, which comes before what it is ordered after', () => {
    const messages = [
      list([1, 'a.service', 'waiting', 'stop'], [9, 'z.service', 'waiting', 'stop']),
      jobRemoved(9, 'z.service'),
      jobState(1, 'running'),
      jobRemoved(1, 'a.service'),
    ]
    const { jobs: all } = queueOf([{ name: 'rec', input: recording(...messages) }, units('a.service')])
    expect(all.map(({ id, waitedOn: on, blocking }) => [id, on, blocking])).toEqual([
      [1, [9], []],
      [9, [], [1]],
    ])
  })

  it('is not said of a job of unknown type that shows nothing of a start', () => {
    expect(
      waitedOn(
        ['a.service'],
        list([1, 'a.service']),
        jobNew(9, 'z.service'),
        jobRemoved(1, 'a.service'),
        jobRemoved(9, 'z.service'),
      ),
    ).toEqual([])
  })
})

describe('a hole in the recording', () => {
  const again = (connectedUs: number): string =>
    JSON.stringify({ header: { version: 1, startUs: 10, connectedUs, tries: 2 } })
  const stream = [
    list([1, 'a.service'], [2, 'b.service', 'running'], [3, 'c.service']),
    jobRemoved(1, 'a.service'),
    JSON.stringify({ closed: { t: 2000, why: 'end of file' } }),
    again(3000),
    JSON.stringify({ t: 3100, ...list([3, 'c.service', 'running'], [4, 'd.service']) }),
    JSON.stringify({ t: 3200, ...jobRemoved(3, 'c.service', 'failed') }),
  ] as const

  it('is shown, with what vanished and what appeared in it', () => {
    const { jobs: all, holes, depth, findings } = queue(...stream)
    expect(holes).toEqual([{ startUs: 2000, endUs: 3000, why: 'end of file', vanished: [2], appeared: [4] }])
    expect(all).toMatchObject([
      { id: 1, result: 'done' },
      { id: 2, state: 'finished', endSeen: 'hole' },
      { id: 3, result: 'failed', removedUs: 3200 },
      { id: 4, state: 'waiting', since: 'in-hole' },
    ])
    expect(all[1]).not.toHaveProperty('result')
    expect(all[1]).not.toHaveProperty('removedUs')
    expect(all[3]).not.toHaveProperty('installedUs')
    expect(depth?.steps).toEqual([
      { atUs: 1000, jobs: 3 },
      { atUs: 1001, jobs: 2 },
      { atUs: 3100, jobs: 2 },
      { atUs: 3200, jobs: 1 },
    ])
    expect(findings.map(({ name }) => name)).toContain('hole')
  })

  it('is filled by the journal, as far as it goes', () => {
    const journal = `${JSON.stringify({
      __REALTIME_TIMESTAMP: '9',
      __MONOTONIC_TIMESTAMP: '2500',
      _PID: '1',
      UNIT: 'b.service',
      JOB_ID: '2',
      JOB_TYPE: 'start',
      JOB_RESULT: 'timeout',
    })}\n`
    const { jobs: all, failed } = queueOf([
      { name: 'rec', input: recording(...stream) },
      { name: 'journal', input: journal },
    ])
    expect(all[1]).toMatchObject({ id: 2, result: 'timeout', removedUs: 2500, endSeen: 'journal' })
    expect(failed).toEqual([2, 3])
  })

  it('is the same when the second connection is in a file of its own, in either order', () => {
    const whole = queue(...stream)
    const lines = recording(...stream).split('\n')
    const [first, second] = [lines.slice(0, 4), lines.slice(4)].map((part, index) => ({
      name: `part ${index}`,
      input: part.join('\n').concat(index === 0 ? '\n' : ''),
    }))
    if (first === undefined || second === undefined) throw new Error('the stream has two parts')
    for (const inputs of [
      [first, second],
      [second, first],
    ])
      expect({ ...queueOf(inputs), diagnostics: undefined }).toEqual({ ...whole, diagnostics: undefined })
  })

  it('without an end leaves the jobs as they were last seen', () => {
    const { jobs: all, holes, findings } = queue(...stream.slice(0, 3))
    expect(holes).toEqual([{ startUs: 2000, why: 'end of file', vanished: [], appeared: [] }])
    expect(all.map(({ id, state }) => [id, state])).toEqual([
      [1, 'finished'],
      [2, 'running'],
      [3, 'waiting'],
    ])
    expect(findings.map(({ name }) => name)).toContain('not-reconnected')
  })
})

describe('a daemon-reload', () => {
  it('is a window, and the lag of what ended inside it is not counted', () => {
    const { reloads, lag } = queue(
      list([1, 'a.service'], [2, 'b.service']),
      unitChange('b.service', 950, 960, 999),
      jobRemoved(2, 'b.service'),
      reloading(true),
      unitChange('a.service', 990, 1000, 1004),
      reloading(false),
      jobRemoved(1, 'a.service'),
    )
    expect(reloads).toEqual([{ startUs: 1003, endUs: 1005 }])
    expect(lag).toEqual({ n: 1, maxUs: 3, inReload: 1 })
  })
})

describe('a damaged recording', () => {
  it('counts bodies that their member does not have', () => {
    const { diagnostics, jobs: all } = queue(
      list([1, 'a.service']),
      { ...jobNew(2, 'b.service'), body: [2, 'x'] },
      { ...jobRemoved(1, 'a.service'), body: null },
      { ...jobState(1, 'running'), body: ['org.freedesktop.systemd1.Job', { State: 'laufend' }, []] },
      { ...reloading(true), body: ['yes'] },
      { type: 'return', reply_serial: 1, sig: 'a(usssoo)', body: [[[1, 'a.service', 'start']]] },
      { header: 'JW1 start=5' },
      { header: { version: 1 } },
    )
    expect(all.map(({ id }) => id)).toEqual([1])
    expect(diagnostics.problems.map(({ name, count, lines }) => [name, count, lines])).toEqual([
      ['bad-message', 7, [3, 4, 5, 6, 7, 8, 9]],
    ])
  })

  it('is used without its header, which is said', () => {
    const {
      diagnostics,
      jobs: all,
      ...report
    } = queueOf([
      {
        name: 'rec',
        input: recording(list([1, 'a.service']))
          .split('\n')
          .slice(1)
          .join('\n'),
      },
    ])
    expect(all.map(({ id }) => id)).toEqual([1])
    expect(report).not.toHaveProperty('connectedUs')
    expect(diagnostics.problems.map(({ name }) => name)).toEqual(['no-header'])
  })

  it('is no answer when nothing was said', () => {
    expect(jobs([{ name: 'rec', input: recording() }])).toMatchObject({
      found: false,
      message: 'the recording has no message: PID 1 was reached and said nothing',
    })
  })

  it('passes over lines of the queue that are cut off', () => {
    const whole = recording(list([1, 'a.service']), jobRemoved(1, 'a.service'))
    const { jobs: all, diagnostics } = queueOf([{ name: 'rec', input: whole.slice(0, -20) }])
    expect(all).toMatchObject([{ id: 1, state: 'waiting' }])
    expect(diagnostics.problems.map(({ name }) => name)).toEqual(['torn-tail'])
  })
})
