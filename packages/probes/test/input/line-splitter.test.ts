import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type InputLine, splitLines } from '../../src/input/line-splitter.ts'

const encoder = new TextEncoder()

function linesOf(chunks: readonly Uint8Array[], capBytes?: number): InputLine[] {
  const splitter = splitLines(capBytes)
  return [...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.end()]
}

function textsOf(text: string, capBytes?: number): [number, number, string, boolean, boolean][] {
  return linesOf([encoder.encode(text)], capBytes).map(({ number, byteOffset, bytes, terminated, tooLong }) => [
    number,
    byteOffset,
    new TextDecoder().decode(bytes),
    terminated,
    tooLong,
  ])
}

describe('splitLines', () => {
  it('numbers lines from 1 and says where each begins and whether it ended', () => {
    expect(textsOf('ab\n\nc')).toEqual([
      [1, 0, 'ab', true, false],
      [2, 3, '', true, false],
      [3, 4, 'c', false, false],
    ])
  })

  it('has no line behind the last newline, and none in nothing', () => {
    expect(textsOf('a\n')).toEqual([[1, 0, 'a', true, false]])
    expect(textsOf('')).toEqual([])
  })

  it('drops the bytes of a line over the cap, whatever it is cut into, and counts on', () => {
    const expected = [
      [1, 0, 'abc', true, false],
      [2, 4, '', true, true],
      [3, 9, 'e', false, false],
    ]
    expect(textsOf('abc\nabcd\ne', 3)).toEqual(expected)
    const single = linesOf(
      [...encoder.encode('abc\nabcd\ne')].map((byte) => Uint8Array.of(byte)),
      3,
    )
    expect(single.map(({ tooLong, byteOffset }) => [tooLong, byteOffset])).toEqual([
      [false, 0],
      [true, 4],
      [false, 9],
    ])
  })

  it('gives the same lines however the input is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 12 })), fc.nat({ max: 20 }), (chunks, capBytes) => {
        const newlines = chunks.map((chunk) => chunk.map((byte) => (byte % 5 === 0 ? 10 : byte)))
        const whole = Uint8Array.from(newlines.flatMap((chunk) => [...chunk]))
        expect(linesOf(newlines, capBytes)).toEqual(linesOf([whole], capBytes))
      }),
    )
  })

  it('puts together what it took apart', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const joined = linesOf([bytes]).flatMap((line) => [...line.bytes, ...(line.terminated ? [10] : [])])
        expect(joined).toEqual([...bytes])
      }),
    )
  })
})
