import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  compareInitcalls,
  drawInitcalls,
  initcalls,
  initcallsIn,
  initcallsJson,
  renderInitcalls,
} from '../../../src/index.ts'
import { at, pair, recorded } from './logs.ts'

const piece = fc.constantFrom(
  '[    0.100000] ',
  '[    0.099999][    T1] ',
  '[ 9999999.999999]',
  'calling  a_init+0x0/0x10 @ 1',
  'calling  a_init+0x0/0x10 [m] @ 2',
  'initcall a_init+0x0/0x10 returned 0 after 4000 usecs',
  'initcall a_init+0x0/0x10 [m] returned -19 after 99999999999999 usecs',
  'initcall a_init+0x0/0x10 returned with disabled interrupts',
  'probe of 0000:00:01.0 returned 517 after 7 usecs',
  'pci 0000:00:1f.0: calling  q+0x0/0x1 @ 1',
  'pci 0000:00:1f.0: q+0x0/0x1 took 3906 usecs',
  'entering initcall level: core',
  'clocksource: Switched to clocksource tsc',
  'Linux version 5.4.0 x',
  'Kernel panic - not syncing: x',
  'Run /init as init process',
  'm 0000:00:01.0: hello',
  ' returned ',
  'calling  ',
  'initcall ',
  '\r\n',
  '\n',
  '\n',
  '\u001b[31m',
  '\u0000',
)

describe('foreign text', () => {
  it('never makes it throw, and its answer can always be drawn', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof({ weight: 6, arbitrary: piece }, fc.string()), { maxLength: 80 }), (pieces) => {
        const result = initcalls(pieces.join(''))
        expect(renderInitcalls(result)).toMatch(/\n$/)
        expect(renderInitcalls(result)).not.toContain('\u001b')
        expect(initcallsJson(result).version).toBe(1)
        if (!result.found) return
        expect(drawInitcalls(result)).toMatch(/<\/svg>\n$/)
        expect(result.calls.every(({ durationUs = 0 }) => durationUs >= 0)).toBe(true)
        // A duration says where it comes from, and there is one exactly where the call has returned.
        for (const { durationUs, source, unknown } of result.calls) {
          expect([source === undefined, unknown !== undefined]).toEqual([
            durationUs === undefined,
            durationUs === undefined,
          ])
        }
        const same = compareInitcalls([result], [result])
        expect(same).toMatchObject({ appeared: [], vanished: [], moved: [] })
      }),
      { numRuns: 500 },
    )
  })

  it('of bytes is no answer', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), (input) => {
        expect(initcalls(input).found).toBe(false)
      }),
    )
  })

  it('in one long line costs that line', () => {
    const log = `${pair('a', 1000, 1100, 90)}${'calling  '.repeat(200_000)}\n${pair('b', 2000, 2100, 90)}`
    expect(initcalls(log, { lineCapBytes: 1000 })).toMatchObject({
      summary: { count: 2 },
      diagnostics: { problems: [{ name: 'line-too-long', lines: [3] }] },
    })
  })
})

describe('a log in chunks', () => {
  const log = recorded('7.2')
  const whole = initcalls(log)

  it('gives the same, wherever it was cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: log.length }), { maxLength: 12 }), async (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), log.length]
        const chunks = places.slice(1).map((end, index) => log.subarray(places[index], end))
        expect(initcalls(chunks)).toEqual(whole)
        async function* stream(): AsyncGenerator<Uint8Array> {
          yield* chunks
        }
        expect(await initcallsIn(stream())).toEqual(whole)
      }),
      { numRuns: 12 },
    )
  })

  it('byte by byte gives the same too', () => {
    const part = log.subarray(0, 30_000)
    expect(initcalls(Array.from(part, (byte) => Uint8Array.of(byte)))).toEqual(initcalls(part))
  })
})

/**
 * The best of several times each, in ms of the processor: on a busy host a long piece of work is always interrupted, and a short
 * one is not.
 */
function fastestMs(works: readonly (() => unknown)[]): number[] {
  const best = works.map(() => Infinity)
  for (let round = 0; round < 4; round += 1) {
    for (const [index, work] of works.entries()) {
      const from = process.cpuUsage()
      work()
      const { user, system } = process.cpuUsage(from)
      best[index] = Math.min(best[index] ?? Infinity, (user + system) / 1000)
    }
  }
  return best
}

describe('time is linear in the input', () => {
  const rows = (size: number, row: (index: number) => string): string =>
    Array.from({ length: size }, (_, index) => row(index)).join('')
  it.each([
    ['pairs', (size: number) => rows(size, (i) => pair(`f${i}`, 10 * i, 10 * i + 5, 3))],
    ['pairs of one name', (size: number) => rows(size, (i) => pair('f', 10 * i, 10 * i + 5, 3))],
    ['calls that never return', (size: number) => rows(size, (i) => `${at(10 * i)}calling  f${i}+0x0/0x1 @ ${i}\n`)],
    [
      'calls of one name that never return',
      (size: number) => rows(size, (i) => `${at(10 * i)}calling  f+0x0/0x1 @ ${i}\n`),
    ],
    [
      'probes in one call',
      (size: number) =>
        `${at(0)}calling  f+0x0/0x1 @ 1\n${rows(size, (i) => `${at(10 * i)}probe of d${i} returned 0 after 3 usecs\n`)}`,
    ],
    ['a clock that stands', (size: number) => rows(size, (i) => pair(`f${i}`, 7, 7, 0))],
    [
      'a log that is printed twice',
      (size: number) => rows(size, (i) => pair('f', 10 * (i % (size / 2)), 10 * (i % (size / 2)) + 5, 3)),
    ],
    ['almost lines', (size: number) => '[    [  1.[ 1.000000 calling  (((  initcall  returned \n'.repeat(size)],
    ['one line of stamps', (size: number) => '[    1.000000] initcall x returned '.repeat(size)],
    ['one line of blanks', (size: number) => `[${' '.repeat(50 * size)}`],
  ] as const)('for %s', (_name, make) => {
    const [once, eightTimes] = fastestMs(
      [1500, 12_000].map((size) => {
        const log = make(size)
        return () => initcalls(log)
      }),
    )
    // Quadratic work would be 64 times as much; a floor keeps the noise of a few milliseconds out.
    expect(eightTimes).toBeLessThan(24 * Math.max(once ?? 0, 3))
  })
})
