import { describe, expect, it } from 'vitest'
import { jobs } from '../../../src/index.ts'
import { queueOf, text } from './queues.ts'

const record = (fields: { readonly [field: string]: unknown }): string =>
  `${JSON.stringify({
    __CURSOR: 's=1',
    __REALTIME_TIMESTAMP: '2000',
    __MONOTONIC_TIMESTAMP: '1000',
    _BOOT_ID: 'b',
    _PID: '1',
    UNIT: 'a.service',
    JOB_ID: '7',
    JOB_TYPE: 'start',
    ...fields,
  })}\n`

const queue = (...lines: readonly string[]): ReturnType<typeof queueOf> =>
  queueOf([{ name: 'journal', input: lines.join('') }])

describe('the journal of a recorded boot', () => {
  it.each(['b12-rec', 't13-rec', 'b12x-nasty'])(
    '%s: agrees with the recording on unit and result of every job',
    (boot) => {
      const recorded = new Map(queueOf([text(`${boot}.jobs.jsonl`)]).jobs.map((job) => [job.id, job]))
      const told = queueOf([text(`${boot}.journal.json`)])
      expect(told.jobs.length).toBeGreaterThan(70)
      const differ = told.jobs.filter(({ id, unit, result }) => {
        const job = recorded.get(id)
        return job?.unit !== unit || job.result !== result
      })
      // The logins that asked for the journal came when the recording was over.
      expect(differ.map(({ unit }) => unit).filter((unit) => !unit.startsWith('session-'))).toEqual([])
      expect(told.diagnostics.problems).toEqual([])
    },
  )

  it('says that its times are receipts in journald and that earlier jobs are missing', () => {
    const { findings, sources, lag, depth, jobs: all } = queueOf([text('b12-rec.journal.json')])
    expect(findings.map(({ name }) => name)).toEqual(['no-after', 'journal-receipt'])
    expect([sources, lag, depth]).toEqual([['journal'], undefined, undefined])
    expect(Math.min(...all.map(({ removedUs = Number.POSITIVE_INFINITY }) => removedUs))).toBe(9_700_860)
  })

  it('has no order from the units, since it does not say when a job was installed', () => {
    const { jobs: all, findings } = queueOf([text('b12-rec.journal.json'), text('b12-rec.show.txt')])
    expect(all.filter(({ waitedOn }) => waitedOn.length > 0)).toEqual([])
    expect(findings.map(({ name }) => name)).toContain('journal-no-relations')
  })

  it('has the failures and their kinds', () => {
    const { failed, jobs: all } = queueOf([text('b12x-nasty.journal.json')])
    const byId = new Map(all.map((job) => [job.id, job]))
    expect(failed.map((id) => [byId.get(id)?.unit, byId.get(id)?.result])).toEqual([
      ['n-assert.service', 'assert'],
      ['n-fail.service', 'failed'],
      ['n-dep.service', 'dependency'],
      ['dev-nope2.device', 'timeout'],
      ['n-tmo.service', 'failed'],
    ])
  })
})

describe('records of a job', () => {
  it('are a restart when its stop is done: the start goes on under the same id', () => {
    const stopped = record({ JOB_TYPE: 'restart', JOB_RESULT: 'done' })
    expect(queue(stopped).jobs).toMatchObject([{ id: 7, type: 'restart', state: 'running' }])
    expect(queue(stopped).jobs[0]).not.toHaveProperty('result')
    const whole = queue(stopped, record({ JOB_RESULT: 'done', __MONOTONIC_TIMESTAMP: '1500' }))
    expect(whole.jobs).toMatchObject([{ id: 7, type: 'restart', state: 'finished', result: 'done', removedUs: 1500 }])
  })

  it('are running from "Starting" on until a result comes, in whatever order they stand', () => {
    const begun = record({})
    const ended = record({ JOB_RESULT: 'failed', __MONOTONIC_TIMESTAMP: '3000' })
    expect(queue(begun).queued).toEqual([7])
    for (const lines of [
      [begun, ended],
      [ended, begun],
    ])
      expect(queue(...lines).jobs).toMatchObject([
        { runningUs: 1000, removedUs: 3000, result: 'failed', endSeen: 'journal' },
      ])
  })

  it('are of PID 1 alone: those of a user’s manager and of other processes are passed over', () => {
    const { jobs: all, diagnostics } = queue(
      record({ JOB_RESULT: 'done' }),
      record({ JOB_ID: '8', _PID: '811', JOB_RESULT: 'done' }),
      record({ JOB_ID: '9', USER_UNIT: 'a.service', UNIT: undefined }),
      record({ JOB_ID: undefined, MESSAGE: 'x' }),
    )
    expect(all.map(({ id }) => id)).toEqual([7])
    expect(diagnostics).toMatchObject({ lines: 4, problems: [] })
  })

  it('are of the last boot, since ids begin anew in each', () => {
    const old = record({
      _BOOT_ID: 'old',
      UNIT: 'old.service',
      __REALTIME_TIMESTAMP: '1000',
      __MONOTONIC_TIMESTAMP: '9000',
    })
    for (const lines of [
      [old, record({})],
      [record({}), old],
    ]) {
      const { jobs: all, diagnostics } = queue(...lines)
      expect(all.map(({ unit }) => unit)).toEqual(['a.service'])
      expect(diagnostics.problems.map(({ name, count }) => [name, count])).toEqual([['other-boot', 1]])
    }
  })

  it('with a field that cannot be read are counted', () => {
    const { diagnostics } = queue(
      record({}),
      record({ JOB_ID: '0' }),
      record({ JOB_TYPE: 'starten' }),
      record({ UNIT: [120, 121] }),
      record({ JOB_RESULT: 'No Way' }),
      record({ __MONOTONIC_TIMESTAMP: '-5' }),
      '{"torn',
    )
    expect(diagnostics.problems.map(({ name, count, lines }) => [name, count, lines])).toEqual([
      ['bad-record', 5, [2, 3, 4, 5, 6]],
      ['torn-tail', 1, [7]],
    ])
  })

  it('without one of a job are no answer', () => {
    expect(jobs([{ name: 'j', input: record({ JOB_ID: undefined }) }])).toMatchObject({
      found: false,
      message: 'no record of the journal is of a job of PID 1; ask with `journalctl -b _PID=1 -o json`',
    })
  })
})
