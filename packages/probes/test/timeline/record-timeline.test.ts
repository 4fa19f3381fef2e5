import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { consoleFacts, renderStageTable, timelineJson, timelineOfRecord } from '../../src/index.ts'
import { aBootJson, at, bareMarks, guestAt, jsonLines, ZERO_NS } from './a-boot.ts'

const MARKS = jsonLines(bareMarks())
const BOOT = JSON.stringify(aBootJson())

describe('timelineOfRecord', () => {
  it('makes the timeline from the files', () => {
    const timeline = timelineOfRecord({
      boot: BOOT,
      marks: MARKS,
      clock: '{"hostSendNs":1,"guestNs":2,"hostRecvNs":3}\n',
    })
    expect(timeline).toMatchObject({
      ending: { state: 'completed' },
      clock: { basis: 'pings', anchors: 1 },
      diagnostics: [],
    })
  })

  it('copes with a torn tail, and says on how much it is based', () => {
    const timeline = timelineOfRecord({ boot: BOOT, marks: `${MARKS}{"mark":"ag` })
    expect(timeline.ending).toEqual({ state: 'completed', outcome: 'stopped' })
    expect(timeline.basedOn).toEqual({ marks: 15, lines: 16 })
    expect(timeline.diagnostics).toMatchObject([{ name: 'torn-tail', file: 'marks.jsonl', lines: [16] }])
  })

  it('collects what could not be read of every file', () => {
    const { diagnostics } = timelineOfRecord({ boot: '{"colour":1}', marks: 'x\n', clock: 'y\n' })
    expect(diagnostics.map(({ file, name }) => [file, name])).toEqual([
      ['boot.json', 'unknown-field'],
      ['marks.jsonl', 'bad-json'],
      ['guest/clock.jsonl', 'bad-json'],
    ])
  })

  it('takes kernel and last words from the console', () => {
    const console = readFileSync(new URL('../fixtures/console/linux-6.12-whole-boot.console', import.meta.url))
    expect(timelineOfRecord({ marks: MARKS, console }).box).toMatchObject({
      guestKernel: '6.12.117+deb12-cloud-amd64',
      lastConsoleLine: expect.stringMatching(/^\[ +\d+\.\d{6}\] reboot: Power down$/),
    })
  })

  it('takes the last console read for the last sign of life', () => {
    const marks = jsonLines([at(0, 'start'), at(10, 'vm-start', 'qmp')])
    const consoleIndex = jsonLines([
      { offset: 0, length: 3, atNs: ZERO_NS + 40e6 },
      { offset: 3, length: 3, atNs: ZERO_NS + 70e6 },
    ])
    const { ending } = timelineOfRecord({ boot: '{"outcome":"failed"}', marks, consoleIndex: `${consoleIndex}{"of` })
    expect(ending).toMatchObject({ in: 'firmware', afterMs: 60, atLeast: true })
  })

  it('never throws and never shows a number that is not one, whatever the marks', () => {
    const ids = [
      'start',
      'folder-ready',
      'spawn',
      'qmp-ready',
      'vm-start',
      'kernel-first-line',
      'init-run',
      'agent-up',
      'switch-root',
      'userspace',
      'basic-target',
      'ready',
      'guest-panic',
      'engine-exit',
      'state-loaded',
      'user:x',
      'toString',
    ]
    const line = fc.record(
      {
        mark: fc.constantFrom(...ids),
        source: fc.constantFrom('runtime', 'harness', 'console', 'qmp', 'agent', 'systemd'),
        clock: fc.constantFrom('host', 'guest'),
        atNs: fc.nat({ max: 2 ** 40 }),
        errorNs: fc.nat({ max: 2 ** 30 }),
        detail: fc.jsonValue(),
      },
      { requiredKeys: ['mark', 'source', 'clock', 'atNs'] },
    )
    const sample = fc.record({ hostSendNs: fc.nat(), guestNs: fc.nat(), hostRecvNs: fc.nat() })
    const outcome = fc.constantFrom('running', 'stopped', 'failed', 'killed', 'odd')
    fc.assert(
      fc.property(fc.array(line), fc.array(sample), outcome, fc.jsonValue(), (marks, samples, how, plan) => {
        const boot = JSON.stringify({
          outcome: how,
          plan,
          error: { stage: 'kernel', stageMs: 3, lastMark: 'spawn', sinceMs: 2 },
        })
        const timeline = timelineOfRecord({ boot, marks: jsonLines(marks), clock: jsonLines(samples) })
        for (const stage of timeline.stages) {
          if (stage.state !== 'reached') continue
          expect(stage.durationMs).toBeGreaterThanOrEqual(0)
          expect(stage.errorMs).toBeGreaterThanOrEqual(0)
        }
        for (const { durationMs } of timeline.gaps) expect(durationMs).toBeGreaterThan(0)
        const text = renderStageTable(timeline)
        expect(text).not.toMatch(/NaN|Infinity|undefined|null/)
        expect(JSON.stringify(timelineJson(timeline))).not.toContain('null,"error')
      }),
    )
  })

  it('never throws on any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), fc.uint8Array(), (boot, marks, console) => {
        expect(timelineOfRecord({ boot, marks, clock: marks, console, consoleIndex: marks }).stages).toHaveLength(20)
      }),
    )
  })
})

describe('consoleFacts', () => {
  it('shows the last line that shows anything, without escapes', () => {
    expect(consoleFacts('one\r\n\u001b[0;32mtwo\u001b[0m\r\n\r\n\u001b[2J\r\n')).toEqual({ lastConsoleLine: 'two' })
    expect(consoleFacts('')).toEqual({})
    expect(consoleFacts('x'.repeat(1000)).lastConsoleLine).toHaveLength(400)
  })

  it('takes the first kernel that says its version, stamped or not', () => {
    expect(consoleFacts('[    0.000000] Linux version 6.1.0 (gcc)\nLinux version 7 (x)\n').guestKernel).toBe('6.1.0')
    expect(consoleFacts('Linux version 7 (x)\n').guestKernel).toBe('7')
    expect(consoleFacts('my Linux version 7\n').guestKernel).toBeUndefined()
  })
})

describe('timelineJson', () => {
  it('is the timeline with name and version of its format, and survives JSON', () => {
    const timeline = timelineOfRecord({ boot: BOOT, marks: jsonLines([...bareMarks(), guestAt(5, 'userspace')]) })
    const json = timelineJson(timeline)
    expect(json).toMatchObject({ format: 'boxlab-timeline', version: 1 })
    expect(JSON.parse(JSON.stringify(json))).toEqual(json)
  })
})
