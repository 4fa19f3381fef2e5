import { describe, expect, it } from 'vitest'
import { findConsoleProblems } from '../../src/index.ts'

const TEXT = '[    1.000000] BUG: first\n[    2.000000] BUG: second\n'

describe('the allow list', () => {
  it('marks what it allows and leaves the rest', () => {
    const { findings, unusedAllow } = findConsoleProblems(TEXT, [{ pattern: 'BUG: first', reason: 'known since 6.1' }])
    expect(findings.map(({ text, allowedBy }) => [text, allowedBy])).toEqual([
      ['BUG: first', { index: 0, pattern: 'BUG: first', reason: 'known since 6.1' }],
      ['BUG: second', undefined],
    ])
    expect(unusedAllow).toEqual([])
  })

  it('takes an expression, and gives it no memory of earlier matches', () => {
    const { findings } = findConsoleProblems(TEXT, [{ pattern: /BUG: \w+/g, reason: 'both are known' }])
    expect(findings.map(({ allowedBy }) => allowedBy?.index)).toEqual([0, 0])
  })

  it('keeps the other flags of an expression', () => {
    const { findings } = findConsoleProblems(TEXT, [{ pattern: /bug: FIRST/iy, reason: 'known' }])
    expect(findings.map(({ allowedBy }) => allowedBy?.pattern)).toEqual(['/bug: FIRST/iy', undefined])
  })

  it('takes the first entry that matches and reports the others as unused', () => {
    const { findings, unusedAllow } = findConsoleProblems(TEXT, [
      { pattern: 'third', reason: 'gone' },
      { pattern: 'BUG', reason: 'all' },
      { pattern: 'second', reason: 'never asked' },
    ])
    expect(findings.map(({ allowedBy }) => allowedBy?.index)).toEqual([1, 1])
    expect(unusedAllow.map(({ index }) => index)).toEqual([0, 2])
    expect(unusedAllow[0]?.message).toBe(
      'allow[0] (third) allowed nothing: remove it if the problem is gone, or correct its pattern.',
    )
  })

  it('looks at the first words of a problem, not at its trace', () => {
    const text = '[    1.000000] WARNING: CPU: 0 PID: 1 at a.c:1 f+0x0/0x1\n[    1.000000]  g+0x1/0x2\n'
    const { findings, unusedAllow } = findConsoleProblems(text, [{ pattern: 'g+0x1', reason: 'x' }])
    expect(findings[0]?.excerpt).toEqual([' g+0x1/0x2'])
    expect(findings[0]?.allowedBy).toBeUndefined()
    expect(unusedAllow).toHaveLength(1)
  })

  it.each([
    [{ pattern: 'x', reason: '' }, 'allow[0] (x) has no `reason`: say why this problem is acceptable.'],
    [{ pattern: /x/, reason: '  ' }, 'allow[0] (/x/) has no `reason`: say why this problem is acceptable.'],
    [{ pattern: 'x' }, 'allow[0] (x) has no `reason`: say why this problem is acceptable.'],
    [
      { pattern: '', reason: 'y' },
      'allow[0].pattern must be a RegExp or a text that is not empty; an empty one allows everything.',
    ],
    [
      { pattern: 7, reason: 'y' },
      'allow[0].pattern must be a RegExp or a text that is not empty; an empty one allows everything.',
    ],
  ])('refuses %j with a sentence', (entry, message) => {
    expect(() => findConsoleProblems('', [entry as never])).toThrow(new TypeError(message))
  })
})
