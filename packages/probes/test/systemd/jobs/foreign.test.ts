import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jobs, jobsJson, renderJobs } from '../../../src/index.ts'
import { showUnits } from '../a-systemd.ts'
import { fixture } from '../recordings.ts'
import { list, queueOf, recording, text } from './queues.ts'

const bytes = (input: string): Uint8Array => new TextEncoder().encode(input)

/** The input in chunks, cut at some places, also inside a character. */
function chunked(input: Uint8Array, cuts: readonly number[]): readonly Uint8Array[] {
  const at = [0, ...cuts.map((cut) => cut % (input.length + 1)), input.length].toSorted((a, b) => a - b)
  return at.slice(1).map((end, index) => input.subarray(at[index], end))
}

describe('chunks', () => {
  it.each(['b12-midboot.list-jobs-both.0', 'b12-midboot.dump.txt', 'b12-plain.journal.json'])(
    'of %s give the same wherever they are cut',
    (name) => {
      const input = bytes(fixture(name))
      const whole = queueOf([{ name, input }])
      fc.assert(
        fc.property(fc.array(fc.nat(), { maxLength: 20 }), (cuts) => {
          expect(queueOf([{ name, input: chunked(input, cuts) }])).toEqual(whole)
        }),
        { numRuns: 20 },
      )
    },
  )
})

describe('foreign text', () => {
  it('never makes it throw, and what comes out can be drawn and stored', () => {
    const piece = fc.constantFrom(
      'JOB UNIT TYPE STATE\n',
      '12 a.service start running\n',
      '└─ \twaiting for job 3 (b.service/start) -     -\n',
      '1 jobs listed.\n',
      'No jobs running.\n',
      '-> Unit a.service:\n',
      '-> Job 7:\n',
      '\t-> Job 7:\n',
      '\tAction: a.service -> start\n',
      '\t\tState: running\n',
      '{"header": {"version": 1, "connectedUs": 5}}\n',
      '{"t": 1, "type": "signal", "body": []}\n',
      '{"closed": {"t": 9}}\n',
      '{"__CURSOR": "x", "JOB_ID": "7", "UNIT": "a.service", "JOB_TYPE": "start", "__MONOTONIC_TIMESTAMP": "1"}\n',
      ...recording(list([1, 'a.service'])).split('\n'),
      '[    1.000000] ',
      '\u001b[0m',
      '\r',
      '…',
      '{"',
    )
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string()), { maxLength: 60 }), (pieces) => {
        const result = jobs([{ name: 'x', input: pieces.join('') }], { between: { fromUs: 0, toUs: 9 } })
        expect(renderJobs(result)).toMatch(/\n$/)
        expect(jobsJson(result).version).toBe(1)
      }),
      { numRuns: 400 },
    )
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), (input) => {
        expect(jobs([{ name: 'x', input }]).found).toBe(false)
      }),
    )
  })

  it('never makes it throw inside a recording either: any value may stand in any message', () => {
    const message = fc.record(
      {
        t: fc.oneof(fc.nat(), fc.anything()),
        type: fc.constantFrom('signal', 'return', 'error', 7),
        member: fc.constantFrom('JobNew', 'JobRemoved', 'PropertiesChanged', 'Reloading', 'StartupFinished'),
        interface: fc.constantFrom('org.freedesktop.systemd1.Manager', 'org.freedesktop.DBus.Properties'),
        path: fc.constantFrom('/org/freedesktop/systemd1/job/1', '/org/freedesktop/systemd1/unit/a_2eservice', 4),
        sig: fc.constantFrom('a(usssoo)', ''),
        reply_serial: fc.constantFrom(1, 2),
        body: fc.oneof(
          fc.array(fc.oneof(fc.nat(3), fc.constantFrom('a.service', 'done', 'start', 'waiting'), fc.anything())),
          fc.anything(),
        ),
      },
      { requiredKeys: ['t', 'type'] },
    )
    fc.assert(
      fc.property(fc.array(message, { maxLength: 30 }), (messages) => {
        const lines = messages.flatMap((one) => {
          try {
            return [JSON.stringify(one)]
          } catch {
            return []
          }
        })
        const result = jobs([{ name: 'x', input: `${recording()}${lines.join('\n')}\n` }])
        expect(renderJobs(result)).toMatch(/\n$/)
      }),
      { numRuns: 400 },
    )
  })

  it('has no unit, name or file that could write to a terminal', () => {
    const input = `${recording(list([1, 'a.service']))}{"closed": {"t": 5000, "why": "end\\u001b[31m of file"}}\n`
    const drawn = renderJobs(jobs([{ name: 'r\u001b[31m.jsonl', input: `${input}{"x` }]))
    expect(drawn).not.toContain('\u001b')
    expect(drawn).toContain('(end of file)')
  })

  it('of units alone is no answer, and says what is missing', () => {
    const result = jobs([{ name: 'show', input: showUnits([{ id: 'a.service' }]) }])
    expect(result).toMatchObject({ found: false, reason: 'only-units' })
    expect(renderJobs(result)).toMatch(/^no jobs: the input has units and no jobs; add a recording/)
  })

  it('of another boot does not mix: the id is another unit’s', () => {
    const { jobs: all, diagnostics } = queueOf([
      { name: 'rec', input: recording(list([1, 'a.service'])) },
      { name: 'other', input: '1 b.service start running\n└─ \twaiting for job 2 (c.service/start) -     -\n' },
    ])
    expect(all.map(({ id, unit, waitedOn }) => [id, unit, waitedOn])).toEqual([[1, 'a.service', []]])
    expect(diagnostics.problems.map(({ name, file }) => [name, file])).toEqual([['other-unit', 'other']])
  })

  it('is still read behind what a shell printed before it', () => {
    const journal = fixture('b12-plain.journal.json')
    const { jobs: all, diagnostics } = queueOf([{ name: 'j', input: `root@vm:~# journalctl -o json\n${journal}` }])
    expect(all).toEqual(queueOf([text('b12-plain.journal.json')]).jobs)
    expect(diagnostics.problems.map(({ name, count }) => [name, count])).toEqual([['bad-json', 1]])
  })

  it('in one long line costs that line', () => {
    const input = `12 a.service start running\n${'x'.repeat(5_000_000)}\n13 b.service start waiting\n14 c.service start waiting\n`
    const { jobs: all, diagnostics } = queueOf([{ name: 'list', input }])
    expect(all.map(({ id }) => id)).toEqual([12, 14])
    expect(diagnostics.problems.map(({ name, lines }) => [name, lines])).toEqual([
      ['unparsed', [2]],
      ['torn-row', [3]],
    ])
  })
})
