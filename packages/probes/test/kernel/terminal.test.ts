import { describe, expect, it } from 'vitest'
import { asDisplayText, plainText } from '../../src/kernel/terminal.ts'

describe('plainText', () => {
  it.each([
    [
      '[\u001b[0;32m  OK  \u001b[0m] Reached target \u001b[0;1;39mBasic System\u001b[0m.',
      '[  OK  ] Reached target Basic System.',
    ],
    ['\u001bc\u001b[?7l\u001b[2J\u001b[0mSeaBIOS', 'SeaBIOS'],
    ['\u001b[!p\u001b]104\u0007\u001b[?7h[    7.294770] text', '[    7.294770] text'],
    ['\u001b]3008;start=1;user=root\u001b\\$ ', '$ '],
    ['\u001bP+q544e\u001b\\after a DCS', 'after a DCS'],
    ['\u001b(Bcharset', 'charset'],
    ['bell\u0007 and nul\u0000', 'bell and nul'],
    ['tab\tand return\r', 'tab\tand return\r'],
    ['cut \u001b[0;3', 'cut [0;3'],
    ['cut \u001b]0;title', 'cut ]0;title'],
    ['C1 \u009b31m', 'C1 31m'],
    ['Straße – ✓', 'Straße – ✓'],
  ])('shows %j as %j', (text, shown) => {
    expect(plainText(text)).toBe(shown)
  })
})

describe('asDisplayText', () => {
  it('keeps foreign text on one line', () => {
    expect(asDisplayText('a\r\nb\tc\u001b[2Jd')).toBe('a b cd')
  })
})
