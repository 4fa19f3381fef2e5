import { describe, expect, it } from 'vitest'
import { describeStuck, stuckQueue } from '../../../src/index.ts'
import { showUnits, type UnitSpec } from '../a-systemd.ts'
import { jobRemoved, jobState, list, recording } from './queues.ts'

const QUEUE = `JOB UNIT TYPE STATE
1 multi-user.target start waiting
20 local-fs.target start waiting
21 mnt-data.mount start waiting
22 dev-vdb.device start running
30 slow.service start running

5 jobs listed.
`

const units: readonly UnitSpec[] = [
  { id: 'multi-user.target', after: ['local-fs.target', 'slow.service'] },
  { id: 'local-fs.target', after: ['mnt-data.mount'] },
  { id: 'mnt-data.mount', after: ['dev-vdb.device'] },
  {
    id: 'dev-vdb.device',
    at: [3e6],
    more: { JobRunningTimeoutUSec: '1min 30s', BoundBy: 'mnt-data.mount other.mount' },
  },
  { id: 'slow.service', more: { Type: 'oneshot', JobRunningTimeoutUSec: 'infinity', TimeoutStartUSec: 'infinity' } },
]

const inputs = [
  { name: 'queue', input: QUEUE },
  { name: 'units', input: showUnits(units) },
]

describe('a queue that does not drain', () => {
  it('has what runs, for whom, until when, and how much waits for it', () => {
    expect(stuckQueue(inputs)).toStrictEqual({
      waiting: 3,
      running: [
        { id: 22, unit: 'dev-vdb.device', type: 'start', limitUs: 90_000_000, startedBy: ['mnt-data.mount'], holds: 3 },
        { id: 30, unit: 'slow.service', type: 'start', startedBy: [], holds: 1 },
      ],
    })
  })

  it('is one sentence', () => {
    expect(describeStuck(stuckQueue(inputs)!)).toBe(
      'systemd was waiting on dev-vdb.device (90 s limit, started by mnt-data.mount, 3 jobs wait for it) and slow.service (1 job waits for it)',
    )
  })

  it('is told of without the units, as far as it goes', () => {
    expect(describeStuck(stuckQueue(inputs.slice(0, 1))!)).toBe(
      'systemd was waiting on dev-vdb.device and slow.service',
    )
  })

  it('names few of many', () => {
    const rows = Array.from(
      { length: 9 },
      (_, index) => `${index + 1} u${index}.service ${index === 0 ? 'stop' : 'start'} running\n`,
    )
    const queue = stuckQueue([{ name: 'queue', input: `JOB UNIT TYPE STATE\n${rows.join('')}\n9 jobs listed.\n` }])
    expect(describeStuck(queue!)).toBe(
      'systemd was waiting on u0.service (stop job) and u1.service and u2.service and 6 more',
    )
  })

  it('with nothing that runs says so', () => {
    const queue = stuckQueue([
      { name: 'queue', input: 'JOB UNIT TYPE STATE\n1 a.service start waiting\n\n1 jobs listed.\n' },
    ])
    expect(describeStuck(queue!)).toBe("1 job waits in systemd's queue, and none runs")
  })

  it('is none where nothing is queued, or nothing tells of jobs', () => {
    expect(stuckQueue([{ name: 'queue', input: 'No jobs running.\n' }])).toBeUndefined()
    expect(stuckQueue([{ name: 'other', input: 'hello\n' }])).toBeUndefined()
  })

  it('names those first that hold most, whatever their ids', () => {
    const rows =
      '1 idle.service start running\n2 busy.service start running\n3 a.target start waiting\n4 b.target start waiting\n'
    const queue = stuckQueue([
      { name: 'queue', input: `JOB UNIT TYPE STATE\n${rows}\n4 jobs listed.\n` },
      {
        name: 'units',
        input: showUnits([
          { id: 'a.target', after: ['busy.service'] },
          { id: 'b.target', after: ['a.target', 'busy.service'] },
        ]),
      },
    ])
    expect(queue?.running.map(({ unit, holds }) => [unit, holds])).toEqual([
      ['busy.service', 2],
      ['idle.service', 0],
    ])
  })

  it('has no job in it that is over', () => {
    const messages = recording(
      list([1, 'a.service'], [2, 'b.service'], [3, 'c.service']),
      jobState(1, 'running'),
      jobState(2, 'running'),
      jobRemoved(2, 'b.service'),
    )
    expect(stuckQueue([{ name: 'recording', input: messages }])).toMatchObject({
      waiting: 1,
      running: [{ unit: 'a.service' }],
    })
  })

  it('counts a circle of waiting jobs once', () => {
    const rows = [
      '1 a.service start running',
      '└─ \tblocking job 2 (b.service/start) - -',
      '2 b.service start waiting',
      '└─ \tblocking job 1 (a.service/start) - -',
      '└─ \tblocking job 3 (c.service/start) - -',
      '3 c.service start waiting',
    ]
    const queue = stuckQueue([{ name: 'queue', input: `JOB UNIT TYPE STATE\n${rows.join('\n')}\n\n3 jobs listed.\n` }])
    expect(queue?.running).toMatchObject([{ unit: 'a.service', holds: 2 }])
  })

  it('says how many wait where none runs, and names three of many that pull a unit in', () => {
    const two = 'JOB UNIT TYPE STATE\n1 a.service start waiting\n2 b.service start waiting\n\n2 jobs listed.\n'
    expect(describeStuck(stuckQueue([{ name: 'queue', input: two }])!)).toBe(
      "2 jobs wait in systemd's queue, and none runs",
    )
    const pulling = ['p.target', 'q.target', 'r.target', 's.target']
    const rows = ['9 a.service start running', ...pulling.map((name, index) => `${index + 1} ${name} start waiting`)]
    const queue = stuckQueue([
      { name: 'queue', input: `JOB UNIT TYPE STATE\n${rows.join('\n')}\n\n5 jobs listed.\n` },
      { name: 'units', input: showUnits([{ id: 'a.service', more: { WantedBy: pulling.join(' ') } }]) },
    ])
    expect(describeStuck(queue!)).toBe('systemd was waiting on a.service (started by p.target, q.target, r.target)')
  })

  it('takes the start limit of a service whose job has none', () => {
    const limits = showUnits([
      { id: 'slow.service', more: { JobRunningTimeoutUSec: 'infinity', TimeoutStartUSec: '1min 30s' } },
    ])
    const queue = 'JOB UNIT TYPE STATE\n1 slow.service start running\n\n1 jobs listed.\n'
    expect(
      stuckQueue([
        { name: 'q', input: queue },
        { name: 'u', input: limits },
      ])?.running[0]?.limitUs,
    ).toBe(90_000_000)
  })

  it('does not count a job that another one’s row names and that is in the queue no more', () => {
    const rows = '1 a.service start running\n└─ \tblocking job 9 (gone.service/start) - -\n'
    const queue = stuckQueue([{ name: 'queue', input: `JOB UNIT TYPE STATE\n${rows}\n1 jobs listed.\n` }])
    expect(queue?.running[0]?.holds).toBe(0)
  })
})
