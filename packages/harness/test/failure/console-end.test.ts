import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { consoleEnd } from '../../src/failure/console-end.ts'

const record = mkdtempSync(join(tmpdir(), 'boxlab-console-'))
afterAll(() => rmSync(record, { recursive: true }))

function write(reads: readonly (readonly [text: string, atNs: number])[], torn = ''): void {
  let offset = 0
  const index = reads.map(([text, atNs]) => {
    const length = Buffer.byteLength(text)
    const line = JSON.stringify({ offset, length, atNs })
    offset += length
    return `${line}\n`
  })
  writeFileSync(join(record, 'console.bin'), reads.map(([text]) => text).join(''))
  writeFileSync(join(record, 'console.idx.jsonl'), index.join('') + torn)
}

it('is the whole of a short console, with the time of its last byte', () => {
  write([
    ['one\n', 1000],
    ['two\n', 2000],
  ])
  expect(consoleEnd(record)).toEqual({ bytes: Buffer.from('one\ntwo\n'), lastNs: 2000 })
})

it('begins with what was read since an instant', () => {
  write(
    [
      ['one\n', 1000],
      ['two\n', 2000],
      ['three\n', 3000],
    ],
    '{"offset":14,"len',
  )
  expect(consoleEnd(record, 1500)?.bytes.toString()).toBe('two\nthree\n')
  expect(consoleEnd(record, 3000)?.bytes.toString()).toBe('three\n')
  expect(consoleEnd(record, 3001)?.bytes.toString()).toBe('')
})

it('is at most 512 KiB, whatever was printed', () => {
  write([['x'.repeat(3 * 1024 * 1024), 1000]])
  expect(consoleEnd(record)?.bytes).toHaveLength(512 * 1024)
  expect(consoleEnd(record, 500)?.bytes).toHaveLength(512 * 1024)
})

it('of a console that was read many times needs only the end of its index', () => {
  write(Array.from({ length: 20_000 }, (_, index) => ['ab\n', index] as const))
  expect(consoleEnd(record, 19_990)?.bytes.toString()).toBe('ab\n'.repeat(10))
  expect(consoleEnd(record)?.lastNs).toBe(19_999)
})

it('is empty where nothing was printed, and undefined where there is no console', () => {
  write([])
  expect(consoleEnd(record)).toEqual({ bytes: Buffer.alloc(0) })
  expect(consoleEnd(join(record, 'none'))).toBeUndefined()
})
