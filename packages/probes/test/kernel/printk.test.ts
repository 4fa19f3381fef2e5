import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parsePrintk } from '../../src/kernel/printk.ts'

describe('parsePrintk', () => {
  it.each([
    ['[    0.000000] Linux version 6.1.0', { atNs: 0, text: 'Linux version 6.1.0' }],
    ['[    1.234567] Run /init as init process', { atNs: 1_234_567_000, text: 'Run /init as init process' }],
    ['[12345.000001] late', { atNs: 12_345_000_001_000, text: 'late' }],
    ['[    0.000000][    T0] caller of a thread', { atNs: 0, caller: 'T0', text: 'caller of a thread' }],
    ['[    9.500000][  C11] caller of a CPU', { atNs: 9_500_000_000, caller: 'C11', text: 'caller of a CPU' }],
    ['<4>[    1.000000] raw', { level: 4, atNs: 1_000_000_000, text: 'raw' }],
    ['<6>raw and untimed', { level: 6, text: 'raw and untimed' }],
    ['[    1.000000]  <TASK>', { atNs: 1_000_000_000, text: ' <TASK>' }],
    ['[    1.000000] ', { atNs: 1_000_000_000, text: '' }],
    ['[    1.000000]', { atNs: 1_000_000_000, text: '' }],
  ])('reads %j', (line, expected) => {
    expect(parsePrintk(line)).toEqual(expected)
  })

  it.each([
    'Run /init as init process',
    '[  OK  ] Reached target basic.target.',
    '[    1.23456] five digits',
    '[    1.2345678] seven digits',
    '[1] job',
    ' [    1.234567] not at the start',
    '<1234>no level',
    '',
  ])('takes %j as text without a stamp', (line) => {
    expect(parsePrintk(line)).toEqual({ text: line })
  })

  it('gives the text back whole, whatever the line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(parsePrintk(`[    3.000001][ T7] ${text}`)).toEqual({ atNs: 3_000_001_000, caller: 'T7', text })
      }),
    )
  })

  it('reads back every stamp that the kernel can print', () => {
    fc.assert(
      fc.property(fc.nat({ max: 9_000_000 }), fc.nat({ max: 999_999 }), (seconds, micros) => {
        const stamp = `[${String(seconds).padStart(5)}.${String(micros).padStart(6, '0')}]`
        expect(parsePrintk(`${stamp} x`).atNs).toBe(seconds * 1e9 + micros * 1e3)
      }),
    )
  })
})
