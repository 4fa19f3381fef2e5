import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readBoot, readClock, readMarks } from '../../src/index.ts'
import { aBootJson, jsonLines } from './a-boot.ts'

const MARK = { mark: 'spawn', source: 'runtime', clock: 'host', atNs: 81_234_567 }

describe('readMarks', () => {
  it('reads marks with everything they may carry', () => {
    const full = { ...MARK, errorNs: 20, detail: { line: 'x' } }
    expect(readMarks(jsonLines([MARK, full]))).toEqual({ items: [MARK, full], lines: 2, diagnostics: [] })
  })

  it.each([
    ['not an object', [1]],
    ['mark', { ...MARK, mark: '' }],
    ['mark', { ...MARK, mark: 7 }],
    ['source', { ...MARK, source: 'moon' }],
    ['clock', { ...MARK, clock: 'wall' }],
    ['atNs', { ...MARK, atNs: -1 }],
    ['atNs', { ...MARK, atNs: '1' }],
    ['errorNs', { ...MARK, errorNs: -1 }],
    ['errorNs', { ...MARK, errorNs: null }],
  ])('skips a line whose %s is wrong, and says which', (detail, line) => {
    const { items, diagnostics } = readMarks(jsonLines([line, MARK]))
    expect(items).toEqual([MARK])
    expect(diagnostics).toMatchObject([{ name: 'bad-field', detail, lines: [1], file: 'marks.jsonl' }])
  })

  it('uses a line with a field that it does not know, and names the field', () => {
    const { items, diagnostics } = readMarks(jsonLines([{ ...MARK, colour: 'red' }]))
    expect(items).toEqual([MARK])
    expect(diagnostics).toMatchObject([{ name: 'unknown-field', detail: 'colour', severity: 'info' }])
  })

  it('keeps a mark that it does not know, and names it unless it is the user’s', () => {
    const lines = [
      { ...MARK, mark: 'user:mine' },
      { ...MARK, mark: 'warp' },
    ]
    const { items, diagnostics } = readMarks(jsonLines(lines))
    expect(items).toEqual(lines)
    expect(diagnostics).toMatchObject([{ name: 'unknown-mark', detail: 'warp', lines: [2] }])
  })

  it('never throws on any lines', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), (values) => {
        expect(readMarks(jsonLines(values)).lines).toBe(values.length)
      }),
    )
  })
})

describe('readClock', () => {
  const SAMPLE = { hostSendNs: 900, guestNs: 120, hostRecvNs: 940 }

  it.each([
    ['not an object', null],
    ['hostSendNs', { ...SAMPLE, hostSendNs: 'x' }],
    ['guestNs', { ...SAMPLE, guestNs: -1 }],
    ['hostRecvNs', { ...SAMPLE, hostRecvNs: 899 }],
    ['hostRecvNs', { hostSendNs: 900, guestNs: 120 }],
  ])('skips a sample whose %s is wrong', (detail, line) => {
    const { items, diagnostics } = readClock(jsonLines([line, SAMPLE, { ...SAMPLE, hostRecvNs: 900 }]))
    expect(items).toEqual([SAMPLE, { ...SAMPLE, hostRecvNs: 900 }])
    expect(diagnostics).toMatchObject([{ name: 'bad-field', detail, file: 'guest/clock.jsonl', lines: [1] }])
  })

  it('names a field that it does not know', () => {
    expect(readClock(jsonLines([{ ...SAMPLE, seq: 1 }])).diagnostics).toMatchObject([
      { name: 'unknown-field', detail: 'seq' },
    ])
  })
})

describe('readBoot', () => {
  it('reads what a timeline needs of boot.json', () => {
    const { boot, diagnostics } = readBoot(JSON.stringify(aBootJson()))
    expect(diagnostics).toEqual([])
    const { fingerprints: _, ...expected } = aBootJson()
    expect(boot).toEqual(expected)
  })

  it('reads how the engine ended and why the boot failed', () => {
    const more = {
      exit: { code: 1, signal: 'SIGKILL' },
      error: { code: 'E', message: 'm', stage: 'kernel', stageMs: 3, lastMark: 'vm-start', sinceMs: 4 },
    }
    expect(readBoot(JSON.stringify({ ...aBootJson(), ...more })).boot).toMatchObject(more)
    expect(readBoot('{"exit":{"signal":9}}').boot.exit).toEqual({ signal: 9 })
  })

  it('leaves out what is wrong, and names it', () => {
    const { boot, diagnostics } = readBoot(
      JSON.stringify({
        boxId: 7,
        host: { cpus: 'two', kernel: '6.1' },
        engine: 'qemu',
        outcome: 'fine',
        exit: { code: 1.5, signal: {} },
      }),
    )
    expect(boot).toEqual({ host: { kernel: '6.1' }, exit: {} })
    expect(diagnostics.map(({ name, detail }) => [name, detail])).toEqual([
      ['bad-field', 'boxId'],
      ['bad-field', 'host.cpus'],
      ['bad-field', 'engine'],
      ['bad-field', 'outcome'],
      ['bad-field', 'exit.code'],
      ['bad-field', 'exit.signal'],
    ])
  })

  it('names fields that it does not know, also inside', () => {
    const { diagnostics } = readBoot(
      '{"colour":1,"host":{"gpu":1},"engine":{"x":1},"accelerator":{"x":1},"exit":{"x":1},"error":{"x":1}}',
    )
    expect(diagnostics.map(({ name, detail }) => `${name} ${detail ?? ''}`)).toEqual([
      'unknown-field colour',
      'unknown-field host.gpu',
      'unknown-field engine.x',
      'unknown-field accelerator.x',
      'unknown-field exit.x',
      'unknown-field error.x',
    ])
  })

  it('takes null for absent', () => {
    expect(readBoot('{"name":null,"host":null}')).toEqual({ boot: {}, diagnostics: [] })
  })

  it('reads another version as far as it goes, and says that it may not know it', () => {
    const { boot, diagnostics } = readBoot('{"version":2,"boxId":"b"}')
    expect(boot).toEqual({ version: 2, boxId: 'b' })
    expect(diagnostics).toMatchObject([{ name: 'unknown-version', detail: '2', severity: 'data-loss' }])
  })

  it.each([
    ['{"version":', 'bad-json'],
    ['[]', 'bad-field'],
    ['', 'bad-json'],
  ])('makes nothing of %j', (text, name) => {
    expect(readBoot(text)).toMatchObject({ boot: {}, diagnostics: [{ name, file: 'boot.json' }] })
  })

  it('never throws on any JSON', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...Object.keys(aBootJson()), 'exit', 'error', '__proto__'), fc.jsonValue()),
        (value) => {
          expect(readBoot(JSON.stringify(value)).boot).toBeTypeOf('object')
        },
      ),
    )
  })
})
