import { describe, expect, it } from 'vitest'
import { jobs, jobsJson } from '../../../src/index.ts'
import { list, queueOf, recordedBoot, recording, text } from './queues.ts'
import { problemsOf } from '../../schema/problems-of.ts'

const problems = problemsOf('jobs-v1')

const hole = '{"closed": {"t": 2000, "why": "end of file"}}'

describe('the JSON of jobs', () => {
  it.each([
    ['a recorded boot', recordedBoot('b12x-nasty')],
    ['a recording alone', [text('b12-exp.jobs.jsonl')]],
    ['a journal', [text('b12-rec.journal.json')]],
    ['a table', [text('b12-midboot.list-jobs-both.0')]],
    ['a dump', [text('b12-midboot.dump.txt')]],
    ['all at once', [...recordedBoot('t13-rec'), text('b12-midboot.list-jobs.0'), text('b12-midboot.dump.txt')]],
    ['a hole', [{ name: 'rec', input: recording(list([1, 'a.service']), hole) }]],
    [
      'damage',
      [{ name: 'list', input: '1 a.service start running\n2 b…e start waiting\nfoo\n3 c.service start waiting' }],
    ],
  ] as const)('fits its schema for %s', (_name, inputs) => {
    const report = queueOf(inputs, { between: { fromUs: 0, toUs: 30_000_000 } })
    expect(problems(jobsJson(report))).toEqual([])
    // The contract: every id that a job names is a job of the list.
    const ids = new Set(report.jobs.map(({ id }) => id))
    const named = report.jobs.flatMap(({ waitedOn, blocking }) => [...waitedOn, ...blocking])
    expect(named.filter((id) => !ids.has(id))).toEqual([])
  })

  it('fits its schema without an answer, and says its format and version', () => {
    const json = jobsJson(jobs([{ name: 'x', input: 'foo' }]))
    expect(problems(json)).toEqual([])
    expect(json).toMatchObject({ format: 'boxlab-jobs', version: 1, found: false, reason: 'no-jobs' })
  })

  it('does not fit its schema with a time that is none, an unknown state or a field too much', () => {
    const json = jobsJson(queueOf([text('b12-midboot.list-jobs.1')]))
    expect(problems(json)).toEqual([])
    const [first, ...rest] = 'jobs' in json ? json.jobs : []
    const wrong = [
      { ...json, jobs: [{ ...first, removedUs: 1.5 }, ...rest] },
      { ...json, jobs: [{ ...first, state: 'gone' }] },
      { ...json, jobs: [{ ...first, waitedOn: undefined }] },
      { ...json, surprise: 1 },
      { ...json, version: 2 },
    ]
    expect(wrong.map((one) => problems(one).length > 0)).toEqual([true, true, true, true, true])
  })
})
