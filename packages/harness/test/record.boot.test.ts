import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { renderStageTable, type StageResult, type Timeline } from '@boxlab/probes'
import { bootBox } from '../src/index.ts'
import { readTimeline } from '../src/reports/record-timeline.ts'

const scratch = mkdtempSync(join(tmpdir(), 'boxlab-record-'))
afterAll(() => rmSync(scratch, { recursive: true }))
const record = join(scratch, 'record')
const schema = JSON.parse(
  readFileSync(new URL('../../probes/schema/record-v1.schema.json', import.meta.url), 'utf8'),
) as object

function lines(name: string): unknown[] {
  const text = readFileSync(join(record, name), 'utf8').trimEnd()
  return text.split('\n').map((line): unknown => JSON.parse(line))
}

describe('the record of a Linux boot', () => {
  let timeline: Timeline
  beforeAll(async () => {
    const box = await bootBox({ name: 'recorded', env: { SECRET: 'hunter2' }, record: { dir: record, keep: 'always' } })
    await box.exec(['echo', 'hunter2 is no secret of the record'])
    // The late clock samples are worth something only after a while.
    await new Promise((resolve) => setTimeout(resolve, 1500))
    await box.stop()
    timeline = readTimeline(record)
  })

  test.for([
    ['marks.jsonl', 'mark'],
    ['console.idx.jsonl', 'consoleIndex'],
    ['qmp.jsonl', 'qmp'],
    ['counters.jsonl', 'counters'],
    ['guest/clock.jsonl', 'clock'],
  ] as const)('%s is what the schema says', ([name, definition]) => {
    const validate = new Ajv2020({ strict: false }).compile({ ...schema, $ref: `#/$defs/${definition}` })
    const all = lines(name)
    expect(all.length).toBeGreaterThan(0)
    expect(all.filter((line) => !validate(line))).toEqual([])
  })

  test('boot.json too, and no file holds the environment of commands', () => {
    const validate = new Ajv2020({ strict: false }).compile(schema)
    const boot = JSON.parse(readFileSync(join(record, 'boot.json'), 'utf8')) as object
    validate(boot)
    expect(validate.errors).toBeNull()
    expect(boot).toMatchObject({ name: 'recorded', outcome: 'stopped', accelerator: { asked: 'auto' } })
    for (const name of ['boot.json', 'marks.jsonl', 'qmp.jsonl', 'console.bin', 'engine.log']) {
      expect(readFileSync(join(record, name), 'utf8')).not.toContain('hunter2')
    }
  })

  test('gives every stage of a bare boot, in order, and the whole is no shorter than its parts', () => {
    const reached = timeline.stages.filter((stage: StageResult) => stage.state === 'reached')
    expect(reached.map(({ id }) => id)).toEqual([
      'filesystem-setup',
      'image-prepare',
      'guest-rootfs',
      'box-config',
      'engine-exec',
      'engine-init',
      'firmware',
      'kernel',
      'stage0',
      'ready',
    ])
    const ready = reached.at(-1)
    for (const { durationMs } of reached) expect(durationMs).toBeLessThanOrEqual(ready?.durationMs ?? 0)
    expect(timeline.findings).toEqual([])
    expect(timeline.diagnostics).toEqual([])
  })

  test('maps the guest’s clock to the host’s within half a percent', () => {
    const { clock } = timeline
    if (clock.state !== 'mapped') throw new Error(clock.why)
    expect(clock.basis).toBe('pings')
    expect(Math.abs(clock.rate - 1)).toBeLessThan(0.005)
    expect(timeline.marks.find(({ mark }) => mark === 'agent-up')?.sources.length).toBeGreaterThan(1)
  })

  test('is a table that a pull request can hold', () => {
    const table = renderStageTable(timeline)
    expect(table).toMatch(/^kernel +\d+\.\d ±\d\.\d +\d+\.\d ±\d\.\d +█+ +console$/m)
    expect(Math.max(...table.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100)
  })
})
