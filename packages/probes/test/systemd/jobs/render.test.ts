import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { jobs, renderJobs } from '../../../src/index.ts'
import { showUnits } from '../a-systemd.ts'
import { jobNew, jobRemoved, jobState, list, recordedBoot, recording, reloading, text, unitChange } from './queues.ts'

it('draws what failed, what is queued, what lived longest and what the recording does not show', () => {
  const input = recording(
    list([1, 'dev-vdb.device'], [2, 'mnt.mount'], [3, 'net.service'], [4, 'multi-user.target']),
    unitChange('net.service', 1_001),
    jobState(3, 'running'),
    jobState(1, 'running'),
    JSON.stringify({ t: 90_001_000, ...jobRemoved(1, 'dev-vdb.device', 'timeout') }),
    JSON.stringify({ t: 90_002_000, ...jobRemoved(2, 'mnt.mount', 'dependency') }),
    JSON.stringify({ t: 90_003_000, ...jobNew(5, 'late.service') }),
    JSON.stringify({ t: 90_004_500, ...reloading(true) }),
    JSON.stringify({ t: 90_005_000, ...reloading(false) }),
    JSON.stringify({ t: 90_006_000, ...jobRemoved(5, 'late.service') }),
    '{"closed": {"t": 91000000, "why": "end of file"}}',
  )
  const units = showUnits([
    { id: 'dev-vdb.device' },
    { id: 'mnt.mount', after: ['dev-vdb.device'] },
    { id: 'net.service' },
    { id: 'late.service' },
    { id: 'multi-user.target', after: ['mnt.mount', 'net.service'] },
  ])
  const result = jobs(
    [
      { name: 'rec', input },
      { name: 'show', input: units },
    ],
    { between: { fromUs: 90_000_000, toUs: 91_000_000 } },
  )
  expect(renderJobs(result)).toBe(`\
5 jobs · 4 when the recorder connected, at most 4 at once · 1 dependency, 1 done, 1 timeout, 1
  running, 1 waiting · recorded from PID 1 · 5 units · n=1

failed:
  removed ms  result      job
   90001.000  timeout     1 dev-vdb.device
   90002.000  dependency  2 mnt.mount; waited on 1 dev-vdb.device [timeout]

still queued:
  running  3 net.service
  waiting  4 multi-user.target; waits on 3 net.service [running]

queued longest:
          ms  waiting    running  result      job
  ≥90001.000        -          -  dependency  2 mnt.mount; last waited on 1 dev-vdb.device
  ≥90000.000   ≥0.003  89999.997  timeout     1 dev-vdb.device
       3.000        -          -  done        5 late.service

set off from 90000.000 to 91000.000 ms:
  announced ms     ms  result  job
        +3.000  3.000  done    5 late.service

queue: 4 at 1.000 ms, 2 at 90002.000 ms; 2 at the end

PID 1 ran no two jobs in one go

nobody listened from 91000.000 ms on (end of file)
PID 1 was reloaded from 90004.500 ms to 90005.000 ms

type-not-told: the type of 1 job is not known, since JobNew does not carry it; \`journalctl -o json\`
  of the same boot has it
not-reconnected: the connection to PID 1 ended and was not made again: what came then is not known
reloaded: PID 1 was reloaded 1 time: signals of what happened meanwhile came after it
not-finished: the recording ends before the boot was finished: these are the figures so far
`)
})

it('draws a recorded boot as the documentation shows it', () => {
  const golden = readFileSync(new URL('../fixtures/b12x-nasty.jobs.txt', import.meta.url), 'utf8')
  expect(renderJobs(jobs(recordedBoot('b12x-nasty')))).toBe(golden)
})

it('draws a boot in its middle: what runs, and what the rest waits on', () => {
  expect(renderJobs(jobs([text('b12-midboot.list-jobs-after.1')]))).toBe(`\
4 jobs · 1 running, 3 waiting · systemctl list-jobs · n=1

still queued:
  running  87 e2scrub_reap.service
  waiting  1 graphical.target; waits on 2 multi-user.target
  waiting  2 multi-user.target; waits on 87 e2scrub_reap.service [running]
  waiting  84 systemd-update-utmp-runlevel.service; waits on 1 graphical.target, 2 multi-user.target
`)
})

it('lists shorter loops and more jobs when asked', () => {
  const result = jobs(recordedBoot('b12x-nasty'))
  const rows = (options: Parameters<typeof renderJobs>[1], of: RegExp): number =>
    renderJobs(result, options).match(of)?.length ?? 0
  expect([rows({}, / … /g), rows({ listLoopsFromUs: 0 }, / … /g)]).toEqual([6, 9])
  expect([rows({}, /^ +≥/gm), rows({ longest: 3 }, /^ +≥/gm)]).toEqual([10, 3])
})

it('without an answer is the sentence and what the readers met', () => {
  expect(renderJobs(jobs([{ name: 'p.txt', input: 'root:x:0\n' }]))).toBe(`\
no jobs: nothing in the input tells of jobs; give a recording, or the output of \`systemctl
  list-jobs\`, \`systemd-analyze dump\` or \`journalctl -b _PID=1 -o json\`
unparsed: 1 in p.txt line 1. Lines that are of none of the formats that tell of jobs; they are
  ignored.
`)
})
