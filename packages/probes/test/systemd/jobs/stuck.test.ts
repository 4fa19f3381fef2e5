import { describe, expect, it } from 'vitest'
import { describeStuck, stuckQueue } from '../../../src/index.ts'
import { showUnits, type UnitSpec } from '../a-systemd.ts'

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
    expect(stuckQueue(inputs)).toEqual({
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
})
