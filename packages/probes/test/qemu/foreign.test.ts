import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mmio, mmioFrom, mmioJson, renderMmio } from '../../src/index.ts'
import { access, config, fixture, printed } from './traces.ts'

const sample = new TextDecoder().decode(fixture('q35-kvm-7.2.log').subarray(0, 40_000))
const lines = [
  ...sample.split('\n').slice(0, 40),
  ...config('read', [0, 1, 0, 0], { event: 'empty 00:01.0 @0x0 -> 0xffffffff' }).split('\n'),
  ...printed('Linux version 6\n').split('\n'),
  access('write', 'a name', 0x10, { cpu: -1 }).trimEnd(),
  'vfio_pci_read_config  (VFIO user </a/b>, @0x0, len=0x2) 0x4e58',
  'memory_region_ops_read cpu',
  '\u001b[0m hello',
  '',
]

/** Lines of traces and of nothing, cut and put together anew. */
const traces = fc
  .array(
    fc.oneof(
      fc.constantFrom(...lines),
      fc.string(),
      fc.tuple(fc.constantFrom(...lines), fc.nat(200)).map(([line, to]) => line.slice(0, to)),
      fc.tuple(fc.string({ maxLength: 5 }), fc.constantFrom(...lines)).map(([glued, line]) => glued + line),
    ),
    { maxLength: 60 },
  )
  .chain((parts) => fc.constantFrom('\n', '\r\n').map((end) => parts.join(end)))

function cut(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = []
  for (let at = 0, next = 0; at < bytes.length; next++) {
    const size = sizes[next % sizes.length] ?? 1
    chunks.push(bytes.slice(at, at + size))
    at += size
  }
  return chunks
}

describe('any text', () => {
  it('has a result that does not depend on how it was cut', async () => {
    await fc.assert(
      fc.asyncProperty(traces, fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1 }), async (text, sizes) => {
        const bytes = new TextEncoder().encode(text)
        const whole = mmio(bytes)
        expect(mmio(cut(bytes, sizes))).toEqual(whole)
        const arriving = async function* (): AsyncGenerator<Uint8Array> {
          yield* cut(bytes, sizes)
        }
        expect(await mmioFrom(arriving())).toEqual(whole)
      }),
      { numRuns: 200 },
    )
  })

  it('never throws, is counted line by line, and can be shown', () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 500 }), traces), (input) => {
        const result = mmio(input)
        const bytes = typeof input === 'string' ? new TextEncoder().encode(input) : input
        const ends = bytes.filter((byte) => byte === 10).length
        expect(result.lines).toBe(ends + (bytes.length > 0 && bytes.at(-1) !== 10 ? 1 : 0))
        expect(renderMmio(result)).not.toContain('\u001b')
        expect(JSON.parse(JSON.stringify(mmioJson(result)))).toMatchObject({ version: 1, lines: result.lines })
      }),
      { numRuns: 300 },
    )
  })

  it('with a line feed more or less keeps every count of whole lines', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...lines.slice(0, 40)), { minLength: 1 }), (parts) => {
        const events = (text: string): unknown => mmio(text).events
        expect(events(`${parts.join('\n')}\n`)).toEqual(events(`${parts.join('\n\n')}\n`))
      }),
    )
  })
})

describe('time', () => {
  const fastestMs = (work: () => unknown): number => {
    const times = Array.from({ length: 3 }, () => {
      const from = performance.now()
      work()
      return performance.now() - from
    })
    return Math.min(...times)
  }

  it.each([
    ['a trace', (size: number) => sample.repeat(size)],
    [
      'a bus scan',
      (size: number) =>
        Array.from({ length: size * 100 }, (_, at) => config('read', [at & 255, at >> 8, 0, 0])).join(''),
    ],
    ['text full of names', (size: number) => 'pci_cfg_read memory_region_ops_read '.repeat(size * 1000)],
    ['lines that are nearly events', (size: number) => `pci_cfg_read ${'0:0 @0x '.repeat(50)}\n`.repeat(size * 30)],
    [
      'many names of devices',
      (size: number) =>
        Array.from({ length: size * 200 }, (_, at) => `pci_cfg_read dev${at} 00:01.0 @0x0 -> 0x1\n`).join(''),
    ],
    ['one long line', (size: number) => 'x'.repeat(size * 40_000)],
  ] as const)('of %s is linear in its size', (_name, make) => {
    const [, twice, fourTimes] = [10, 20, 40].map((size) => {
      const text = make(size)
      return fastestMs(() => mmio(text))
    })
    // Quadratic work would be 4 times as much; a floor keeps the noise of a few milliseconds out.
    expect(fourTimes).toBeLessThan(3.5 * Math.max(twice ?? 0, 10))
  })
})
