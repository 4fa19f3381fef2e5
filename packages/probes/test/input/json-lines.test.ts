import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readJsonLines, readJsonLinesFrom } from '../../src/index.ts'

const FILE = { file: 'x.jsonl' }
const any = (value: unknown): { value: unknown } => ({ value })

function read(text: string): { items: unknown[]; lines: number; names: [string, number, readonly number[]][] } {
  const { items, lines, diagnostics } = readJsonLines(text, FILE, any)
  return {
    items: items.map(({ value }) => value),
    lines,
    names: diagnostics.map(({ name, count, lines: at }) => [name, count, at]),
  }
}

describe('readJsonLines', () => {
  it('reads a value a line', () => {
    expect(read('{"a":1}\n[2]\r\n3\n')).toEqual({ items: [{ a: 1 }, [2], 3], lines: 3, names: [] })
  })

  it('takes a whole last line that no newline ended', () => {
    expect(read('1\n{"a":1}')).toEqual({ items: [1, { a: 1 }], lines: 2, names: [] })
  })

  it('ignores a torn tail and says so', () => {
    expect(read('1\n{"a":')).toEqual({ items: [1], lines: 2, names: [['torn-tail', 1, [2]]] })
  })

  it('goes on behind lines that are not JSON, and names them', () => {
    expect(read('1\nno\n\n4\n{\n')).toEqual({ items: [1, 4], lines: 5, names: [['bad-json', 3, [2, 3, 5]]] })
  })

  it('takes text that is not UTF-8 for no JSON', () => {
    const bytes = Uint8Array.of(0x22, 0xff, 0x22, 0x0a)
    expect(readJsonLines(bytes, FILE, any)).toMatchObject({
      items: [],
      diagnostics: [{ name: 'bad-json', severity: 'data-loss' }],
    })
  })

  it('drops a line over the cap with a diagnostic', () => {
    const { items, diagnostics } = readJsonLines('"abc"\n"abcd"\n1\n', { ...FILE, lineCapBytes: 5 }, any)
    expect(items).toEqual([{ value: 'abc' }, { value: 1 }])
    expect(diagnostics).toMatchObject([{ name: 'line-too-long', lines: [2], file: 'x.jsonl' }])
  })

  it('survives nesting that would exhaust a stack', () => {
    const { items, lines } = read(`${'['.repeat(200_000)}\n1\n`)
    expect({ items, lines }).toEqual({ items: [1], lines: 2 })
  })

  it('reads any JSON back, however it is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.array(fc.nat({ max: 300 })), (values, cuts) => {
        const text = values.map((value) => `${JSON.stringify(value)}\n`).join('')
        const ends = [...cuts.map((cut) => Math.min(cut, text.length)), text.length].toSorted((a, b) => a - b)
        const pieces = ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end))
        const expected = {
          items: values.map((value) => JSON.parse(JSON.stringify({ value }))),
          lines: values.length,
          diagnostics: [],
        }
        expect(readJsonLines(pieces, FILE, any)).toEqual(expected)
      }),
    )
  })

  it('never throws on any bytes, and accounts for every line', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const { items, lines, diagnostics } = readJsonLines(bytes, FILE, any)
        const lost = diagnostics.reduce((sum, { count }) => sum + count, 0)
        expect(items.length + lost).toBe(lines)
      }),
    )
  })

  it('reads a stream to the same answer', async () => {
    async function* stream(): AsyncGenerator<Uint8Array | string> {
      yield '{"a":'
      yield new TextEncoder().encode('1}\n{"b"')
    }
    expect(await readJsonLinesFrom(stream(), FILE, any)).toEqual(readJsonLines('{"a":1}\n{"b"', FILE, any))
  })
})
