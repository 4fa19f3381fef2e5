import { describe, expect, it } from 'vitest'
import { countDiagnostics, MAX_DETAILS, MAX_LINES } from '../../src/input/diagnostics.ts'

describe('countDiagnostics', () => {
  it('counts by name and detail, with the first lines', () => {
    const counter = countDiagnostics('marks.jsonl')
    for (let line = 1; line <= MAX_LINES + 5; line += 1) counter.add('unknown-field', line, 'colour')
    counter.add('unknown-field', 3, 'size')
    counter.add('bad-json', undefined)
    expect(counter.list()).toMatchObject([
      { name: 'unknown-field', detail: 'colour', count: 15, lines: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], severity: 'info' },
      { name: 'unknown-field', detail: 'size', count: 1, lines: [3], file: 'marks.jsonl' },
      { name: 'bad-json', count: 1, lines: [], severity: 'data-loss' },
    ])
    expect(counter.list()[2]).not.toHaveProperty('detail')
  })

  it('tells only so many details apart, so that foreign text cannot fill the answer', () => {
    const counter = countDiagnostics('x')
    for (let index = 0; index < MAX_DETAILS + 30; index += 1) counter.add('unknown-field', index, `field-${index}`)
    const list = counter.list()
    expect(list).toHaveLength(MAX_DETAILS + 1)
    expect(list.at(-1)).toMatchObject({ detail: '(others)', count: 30 })
    expect(list.reduce((sum, { count }) => sum + count, 0)).toBe(MAX_DETAILS + 30)
  })

  it('explains each name in a sentence', () => {
    const counter = countDiagnostics('x')
    counter.add('torn-tail', 1)
    expect(counter.list()[0]?.meaning).toMatch(/^The last line was cut off .*\.$/)
  })
})
