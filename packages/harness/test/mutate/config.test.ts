import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readMutateConfig } from '../../src/mutate/config.ts'
import { readReport } from '../../src/mutate/report.ts'

function read(text: string): ReturnType<typeof readMutateConfig> {
  const folder = mkdtempSync(join(tmpdir(), 'boxlab-mutate-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'c.json')
  writeFileSync(path, text)
  const found = readMutateConfig(path)
  return typeof found === 'string' ? found.replace(path, 'c.json') : found
}

const whole = {
  mutate: ['src/*.ts'],
  vitestConfig: 'v.ts',
  base: 'main',
  budgets: { a: 0 },
  mostTimeouts: 0,
  minutes: 1,
}

test('a config is what it says', () => {
  expect(read(JSON.stringify(whole))).toEqual(whole)
})

test('files and tests are enough', () => {
  const least = { mutate: ['a', 'b'], vitestConfig: 'v.ts' }
  expect(read(JSON.stringify(least))).toEqual(least)
})

test.each([
  [{ ...whole, mutate: ['a', 3] }, 'c.json: `mutate` must be an array of globs with at least one'],
  [{ ...whole, budgets: { a: 0, b: -1 } }, 'c.json: `budgets` must be an object of whole numbers by file'],
  ['[]', 'c.json must hold an object'],
  ['null', 'c.json must hold an object'],
  ['3', 'c.json must hold an object'],
  [
    { ...whole, mutates: [] },
    'c.json: `mutates` is no setting; known are mutate, vitestConfig, base, budgets, mostTimeouts, minutes',
  ],
  [{ ...whole, mutate: [] }, 'c.json: `mutate` must be an array of globs with at least one'],
  [{ ...whole, mutate: [3] }, 'c.json: `mutate` must be an array of globs with at least one'],
  [{ ...whole, mutate: 'x' }, 'c.json: `mutate` must be an array of globs with at least one'],
  [{ ...whole, vitestConfig: undefined }, 'c.json: `vitestConfig` must name a vitest config'],
  [{ ...whole, base: 3 }, 'c.json: `base` must be a ref of git'],
  [{ ...whole, budgets: { a: -1 } }, 'c.json: `budgets` must be an object of whole numbers by file'],
  [{ ...whole, budgets: { a: 'x' } }, 'c.json: `budgets` must be an object of whole numbers by file'],
  [{ ...whole, budgets: 3 }, 'c.json: `budgets` must be an object of whole numbers by file'],
  [{ ...whole, budgets: null }, 'c.json: `budgets` must be an object of whole numbers by file'],
  [{ ...whole, mostTimeouts: 0.5 }, 'c.json: `mostTimeouts` must be a whole number'],
  [{ ...whole, minutes: 0 }, 'c.json: `minutes` must be a whole number from 1 on'],
  [{ ...whole, minutes: '1' }, 'c.json: `minutes` must be a whole number from 1 on'],
])('%j is refused in a sentence', (value, sentence) => {
  expect(read(typeof value === 'string' ? value : JSON.stringify(value))).toBe(sentence)
})

test('a config that is not there, or no JSON, is named', () => {
  expect(readMutateConfig('/nonexistent.json')).toMatch(/^\/nonexistent\.json cannot be read: ENOENT/)
  expect(read('{')).toMatch(/^c\.json cannot be read: /)
})

const mutant = {
  id: '1',
  mutatorName: 'Regex',
  status: 'Killed',
  location: { start: { line: 1, column: 1 }, end: { line: 1, column: 2 } },
}

test('a report is read as it is', () => {
  const report = { files: { 'a.ts': { source: '', mutants: [mutant] } } }
  expect(readReport(JSON.stringify(report))).toEqual(report)
})

test.each([
  ['{', /^the mutation report is not JSON/],
  ['[]', /has no `files`/],
  ['{"files": []}', /has no `files`/],
  ['{"files": {"a.ts": null}}', /a\.ts has no source or no mutants/],
  ['{"files": {"a.ts": {"mutants": []}}}', /a\.ts has no source or no mutants/],
  ['{"files": {"a.ts": {"source": ""}}}', /a\.ts has no source or no mutants/],
  [
    JSON.stringify({ files: { 'a.ts': { source: '', mutants: [mutant, { ...mutant, status: 'Maimed' }] } } }),
    /a mutant of a\.ts is .*Maimed/,
  ],
  [
    JSON.stringify({ files: { 'a.ts': { source: '', mutants: [{ ...mutant, location: {} }] } } }),
    /a mutant of a\.ts is/,
  ],
  [
    JSON.stringify({ files: { 'a.ts': { source: '', mutants: [{ ...mutant, mutatorName: 3 }] } } }),
    /a mutant of a\.ts is/,
  ],
  [
    JSON.stringify({ files: { 'a.ts': { source: '', mutants: [{ ...mutant, location: { start: { line: '1' } } }] } } }),
    /a mutant of a\.ts is/,
  ],
  ['{"files": {"a.ts": {"source": "", "mutants": [3]}}}', /a mutant of a\.ts is 3/],
])('%s is no report', (text, sentence) => {
  expect(readReport(text)).toMatch(sentence)
})
