import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  BOOT_KINDS,
  isKnownMark,
  MARK_CLOCKS,
  MARK_SOURCES,
  MARKS,
  METRICS,
  METRIC_NAMES,
  STAGE_IDS,
  STAGES,
  USER_MARK_PREFIX,
} from '../../src/index.ts'

interface Entry {
  readonly [field: string]: unknown
  readonly meaning: string
}
interface MarksFile {
  readonly userPrefix: string
  readonly sources: readonly string[]
  readonly clocks: readonly string[]
  readonly marks: readonly (Entry & { readonly id: string; readonly source: string; readonly clock: string })[]
}
interface StagesFile {
  readonly boots: { readonly [kind: string]: string }
  readonly stages: readonly (Entry & { readonly id: string; readonly metric?: string })[]
  readonly metrics: readonly (Entry & { readonly name: string; readonly stage?: string })[]
}
interface RecordSchema {
  readonly $defs: {
    readonly markId: { readonly anyOf: readonly [{ readonly enum: readonly string[] }, { readonly pattern: string }] }
    readonly stageId: { readonly enum: readonly string[] }
    readonly mark: { readonly properties: { readonly source: { readonly enum: readonly string[] } } }
  }
}

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../schema/${name}`, import.meta.url), 'utf8'))
}

const marks = read('marks.json') as MarksFile
const stages = read('stages.json') as StagesFile
const record = read('record-v1.schema.json') as RecordSchema

function without(entry: Entry, ...names: readonly string[]): { [field: string]: unknown } {
  return Object.fromEntries(Object.entries(entry).filter(([name]) => !['meaning', ...names].includes(name)))
}

describe('the vocabulary', () => {
  it('has the same marks in the schema file and in the package', () => {
    expect(Object.fromEntries(marks.marks.map(({ id, source }) => [id, source]))).toEqual(MARKS)
    expect(marks).toMatchObject({ userPrefix: USER_MARK_PREFIX, sources: MARK_SOURCES, clocks: MARK_CLOCKS })
  })

  it('has the same stages in the schema file and in the package', () => {
    expect(stages.stages.map((stage) => without(stage, 'metric'))).toEqual(STAGES)
    expect(stages.stages.map(({ id }) => id)).toEqual(STAGE_IDS)
    expect(Object.keys(stages.boots)).toEqual(BOOT_KINDS)
  })

  it('has the same metrics in the schema file and in the package, each named at its stage', () => {
    expect(stages.metrics.map((metric) => without(metric))).toEqual(METRICS)
    expect(METRICS.map(({ name }) => name)).toEqual(METRIC_NAMES)
    const atStages = Object.fromEntries(
      stages.stages.flatMap(({ id, metric }) => (metric === undefined ? [] : [[metric, id]])),
    )
    const ofStages = Object.fromEntries(
      stages.metrics.flatMap(({ name, stage }) => (stage === undefined ? [] : [[name, stage]])),
    )
    expect(atStages).toEqual(ofStages)
  })

  it('has the same ids in the schema of the record', () => {
    expect(record.$defs.markId.anyOf[0].enum).toEqual(Object.keys(MARKS))
    expect(record.$defs.markId.anyOf[1].pattern).toBe('^user:.+$')
    expect(record.$defs.stageId.enum).toEqual(STAGE_IDS)
    expect(record.$defs.mark.properties.source.enum).toEqual(MARK_SOURCES)
  })

  it('says what each of them means in one sentence', () => {
    for (const { meaning } of [...marks.marks, ...stages.stages, ...stages.metrics])
      expect(meaning).toMatch(/^[A-Za-z].{10,}\.$/)
  })

  it('bounds every stage and metric by marks that it has', () => {
    const spans = [...STAGES, ...METRICS.filter((metric) => 'from' in metric)]
    const bounds = [
      ...spans.flatMap(({ from, to }) => [from, to]),
      ...STAGES.flatMap(({ elseTo }) => elseTo?.mark ?? []),
    ]
    expect(bounds.filter((mark) => !isKnownMark(mark))).toEqual([])
    expect(bounds.length).toBeGreaterThan(40)
  })

  it('knows its marks from names that every object has', () => {
    expect(isKnownMark('start')).toBe(true)
    expect(isKnownMark('toString')).toBe(false)
    expect(isKnownMark('user:mine')).toBe(false)
  })
})
