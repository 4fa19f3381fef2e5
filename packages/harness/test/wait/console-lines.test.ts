import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { array, assert, nat, property, uint8Array } from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { ConsoleLines, readAtNs } from '../../src/wait/console-lines.ts'

const scratch = mkdtempSync(join(tmpdir(), 'boxlab-lines-'))
afterAll(() => rmSync(scratch, { recursive: true }))
const file = join(scratch, 'console.bin')

/** The lines that a console gives that comes in these pieces. */
function read(pieces: readonly Buffer[]): { lines: { text: string; end: number }[]; partial: unknown } {
  writeFileSync(file, '')
  const console = new ConsoleLines(scratch)
  const lines = pieces.flatMap((piece) => {
    appendFileSync(file, piece)
    return [...console.whole()]
  })
  const partial = console.partial()
  console.close()
  return { lines, partial }
}

describe('the console by lines', () => {
  test('lines have no line ends and no escape codes, and know where they end', () => {
    const bytes = Buffer.from('[\u001b[0;32m  OK  \u001b[0m] Reached target\r\n\nlogin: ')
    expect(read([bytes])).toEqual({
      lines: [
        { text: '[  OK  ] Reached target', end: 36 },
        { text: '', end: 37 },
      ],
      partial: { text: 'login: ', end: 44 },
    })
  })

  test('any split of the bytes gives the same lines', () => {
    const bytes = uint8Array({ maxLength: 80 }).map((raw) => Buffer.from(raw.map((byte) => byte % 16)))
    assert(
      property(bytes, array(nat(80), { maxLength: 6 }), (stream, cuts) => {
        const edges = [0, ...cuts.filter((cut) => cut <= stream.length).toSorted((a, b) => a - b), stream.length]
        const pieces = edges.slice(1).map((edge, index) => stream.subarray(edges[index], edge))
        expect(read(pieces)).toEqual(read([stream]))
      }),
      { numRuns: 60 },
    )
  })

  test('a line without end takes no more memory than its bound, and its end is found', () => {
    const pieces = Array.from({ length: 40 }, () => Buffer.alloc(50_000, 'x'))
    const { lines } = read([...pieces, Buffer.from('\nnext\n')])
    expect(lines.map(({ end }) => end)).toEqual([2_000_001, 2_000_006])
    expect(lines[0]?.text.length).toBeLessThanOrEqual(65_536)
    expect(lines[1]?.text).toBe('next')
  })

  test('a byte has the time of the read that brought it', () => {
    const index = [
      { offset: 0, length: 10, atNs: 5 },
      { offset: 10, length: 1, atNs: 7 },
    ]
    writeFileSync(join(scratch, 'console.idx.jsonl'), index.map((line) => `${JSON.stringify(line)}\n`).join(''))
    expect([1, 10, 11, 12].map((end) => readAtNs(scratch, end))).toEqual([5, 5, 7, undefined])
  })
})
