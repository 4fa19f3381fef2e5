import { describe, expect, test } from 'vitest'
import type { Survivor, Verdict } from '../../src/mutate/judge.ts'
import { gateMarkdown } from '../../src/mutate/markdown.ts'

const survivor: Survivor = {
  file: 'src/a_b.ts',
  line: 4,
  column: 45,
  mutator: 'ArithmeticOperator',
  original: 'a * 2',
  replacement: 'a / 2',
  coveredBy: [],
}

function markdown(verdict: Partial<Verdict>, ...lines: string[]): string {
  const none: Verdict = { version: 1, pass: true, refused: 0, timeouts: 0, survived: [], exempt: [], problems: [] }
  return gateMarkdown({ code: 1, lines, verdict: { ...none, ...verdict } })
}

describe('the gate as Markdown', () => {
  test('begins with the closing line and has nothing else where nothing is to be said', () => {
    expect(markdown({}, '2 mutants in 1 s', 'mutation: 2 refused, 0 survived, 0 exempt')).toBe(
      '### mutation: 2 refused, 0 survived, 0 exempt\n',
    )
  })

  test('says what the gate says where there is no verdict', () => {
    expect(gateMarkdown({ code: 0, lines: ['nothing to mutate: no line changed since a_b'] })).toBe(
      '### nothing to mutate: no line changed since a\\_b\n',
    )
    expect(gateMarkdown({ code: 1, lines: [] })).toBe('### \n')
  })

  test('has a table of survivors, a list of problems and a table of exemptions, with an empty line between', () => {
    const exempt = { file: 'src/c.ts', line: 9, mutator: 'Regex', reason: 'a | b is [ab]' }
    expect(
      markdown(
        { survived: [survivor], problems: ['one', '2 * 3'], exempt: [exempt] },
        'mutation: 0 refused, 1 survived, 1 exempt',
      ),
    ).toBe(
      [
        '### mutation: 0 refused, 1 survived, 1 exempt',
        '',
        '| survived | mutator | change | not noticed by |',
        '| --- | --- | --- | --- |',
        '| src/a\\_b.ts:4:45 | ArithmeticOperator | `a * 2` → `a / 2` | no test runs it |',
        '',
        '- one',
        '- 2 \\* 3',
        '',
        '| exempt | mutator | reason |',
        '| --- | --- | --- |',
        '| src/c.ts:9 | Regex | a \\| b is \\[ab\\] |',
        '',
      ].join('\n'),
    )
  })

  test('names every test that ran a survivor', () => {
    expect(markdown({ survived: [{ ...survivor, coveredBy: ['adds', '<b>'] }] })).toContain('| adds; \\<b\\> |')
  })

  test.each([
    ['a || b', '', '`a \\|\\| b` → nothing'],
    ['`x`', 'x`y', '`` `x` `` → ``x`y``'],
    ['a```', '```a', '```` a``` ```` → ```` ```a ````'],
  ])('shows the change from %s to "%s" as code that stays in its cell', (original, replacement, shown) => {
    expect(markdown({ survived: [{ ...survivor, original, replacement }] })).toContain(`| ${shown} |`)
  })
})
