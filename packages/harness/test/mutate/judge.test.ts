import { describe, expect, test } from 'vitest'
import { withBudgets } from '../../src/mutate/gate.ts'
import { judge, type Verdict, verdictLines } from '../../src/mutate/judge.ts'
import type { Mutant, MutationReport } from '../../src/mutate/report.ts'

const SOURCE = 'const a = 1 + 2\nconst b = "text"\nif (a) {\n  b()\n}\n'

function mutant(changes: Partial<Mutant> & { readonly at?: readonly [number, number, number, number] }): Mutant {
  const { at = [1, 11, 1, 16], ...rest } = changes
  const [line, column, endLine, endColumn] = at
  const location = { start: { line, column }, end: { line: endLine, column: endColumn } }
  return { id: '1', mutatorName: 'ArithmeticOperator', replacement: '1 - 2', status: 'Killed', location, ...rest }
}

function report(mutants: readonly Mutant[], source = SOURCE): MutationReport {
  const tests = [
    { id: 't1', name: 'adds' },
    { id: 't2', name: 'adds more' },
  ]
  return { files: { 'src/a.ts': { source, mutants } }, testFiles: { 'a.test.ts': { tests } } }
}

const lines = (...args: Parameters<typeof judge>): readonly string[] => verdictLines(judge(...args))

describe('a run', () => {
  test('in which every mutant was refused passes', () => {
    const verdict = judge(report([mutant({}), mutant({ id: '2' })]))
    expect(verdict).toEqual({ version: 1, pass: true, refused: 2, timeouts: 0, survived: [], exempt: [], problems: [] })
    expect(verdictLines(verdict)).toEqual(['mutation: 2 refused, 0 survived, 0 exempt'])
  })

  test('names each survivor with its place, the change, and the tests that did not notice', () => {
    expect(lines(report([mutant({ status: 'Survived', coveredBy: ['t1', 't2', 'unknown'] })]))).toEqual([
      'survived src/a.ts:1:11 ArithmeticOperator: 1 + 2 -> 1 - 2 (not noticed by: adds; adds more; unknown)',
      'mutation: 0 refused, 1 survived, 0 exempt',
    ])
    expect(judge(report([mutant({ status: 'Survived' })])).pass).toBe(false)
  })

  test('takes a mutant that no test runs for a survivor', () => {
    expect(lines(report([mutant({ status: 'NoCoverage', at: [3, 8, 5, 2], replacement: '{}' })]))[0]).toBe(
      'survived src/a.ts:3:8 ArithmeticOperator: { … -> {} (no test runs it)',
    )
  })

  test('shows a change on one line, as much of it as sixty characters hold', () => {
    const source = `const long = [\n  1,\t\t2,\n]\nconst ${'y'.repeat(60)} = 1\n`
    const shown = (change: Partial<Mutant> & { readonly at: readonly [number, number, number, number] }): string =>
      lines(report([mutant({ status: 'Survived', ...change })], source))[0] ?? ''
    expect(shown({ at: [2, 3, 2, 9], replacement: ' a \n\n b ' })).toContain(': 1, 2, -> a b (')
    expect(shown({ at: [4, 7, 4, 67], replacement: 'x'.repeat(60) })).toContain(
      `: ${'y'.repeat(60)} -> ${'x'.repeat(60)} (`,
    )
    expect(shown({ at: [4, 6, 4, 68], replacement: 'x'.repeat(61) })).toContain(
      `: ${'y'.repeat(60)} -> ${'x'.repeat(60)}… (`,
    )
    expect(shown({ at: [9, 1, 9, 2] })).toContain(':  -> 1 - 2 (')
    const { replacement: _none, ...bare } = mutant({ status: 'Survived' })
    expect(lines(report([bare]))[0]).toContain(': 1 + 2 ->  (no test')
  })

  test('says its problems behind its survivors', () => {
    expect(lines(report([mutant({ status: 'Pending' })]))).toEqual([
      'problem: src/a.ts:1:11 ArithmeticOperator has no answer: Pending',
      'mutation: 0 refused, 0 survived, 0 exempt',
    ])
    expect(lines({ files: { 'a.ts': { source: '', mutants: [mutant({})] } } })).toEqual([
      'mutation: 1 refused, 0 survived, 0 exempt',
    ])
  })

  test('names three of many tests, and shortens what is long', () => {
    const many = mutant({
      status: 'Survived',
      replacement: `"${'x'.repeat(100)}"`,
      coveredBy: ['a', 'b', 'c', 'd', 'e'],
    })
    expect(lines(report([many]))[0]).toMatch(/-> "x{59}… \(not noticed by: a; b; c; and 2 more\)$/)
  })

  test('without a mutant has measured nothing', () => {
    expect(judge(report([]))).toMatchObject({ pass: false, problems: [expect.stringContaining('measured nothing')] })
    expect(judge({ files: {} }).pass).toBe(false)
  })

  test('counts what the clock stopped as refused, and says so, up to a bound', () => {
    const stopped = Array.from({ length: 3 }, (_, index) => mutant({ id: String(index), status: 'Timeout' }))
    expect(lines(report(stopped), { mostTimeouts: 3 })).toEqual([
      '3 of the refused were stopped by the clock',
      'mutation: 3 refused, 0 survived, 0 exempt',
    ])
    expect(judge(report(stopped), { mostTimeouts: 2 })).toMatchObject({
      pass: false,
      problems: ['3 mutants were stopped by the clock, and the bound is 2: look for a loop, or a slow machine'],
    })
    expect(judge(report(stopped)).pass).toBe(true)
    const twenty = Array.from({ length: 21 }, (_, index) => mutant({ id: String(index), status: 'Timeout' }))
    expect(judge(report(twenty)).pass).toBe(false)
    const many = Array.from({ length: 500 }, (_, index) =>
      mutant({ id: String(index), status: index < 26 ? 'Timeout' : 'Killed' }),
    )
    expect(judge(report(many)).problems[0]).toContain('the bound is 25')
  })

  test.each(['CompileError', 'RuntimeError', 'Pending'] as const)(
    'with a mutant that is %s has no answer',
    (status) => {
      expect(judge(report([mutant({ status, statusReason: 'why\nmore' })])).problems).toEqual([
        `src/a.ts:1:11 ArithmeticOperator has no answer: ${status} (why)`,
      ])
      expect(judge(report([mutant({ status })])).problems[0]).toBe(
        `src/a.ts:1:11 ArithmeticOperator has no answer: ${status}`,
      )
    },
  )
})

describe('an exemption', () => {
  const source = (comment: string): string => `${comment}\n${SOURCE}`
  const ignored = mutant({ status: 'Ignored', at: [2, 11, 2, 16] })

  test('with its reason is listed and lets the run pass', () => {
    const verdict = judge(
      report(
        [mutant({ at: [3, 1, 3, 2] }), ignored],
        source('// Stryker disable next-line ArithmeticOperator: both are 3'),
      ),
    )
    expect(verdict.pass).toBe(true)
    expect(verdictLines(verdict)).toEqual([
      'exempt src/a.ts:2 ArithmeticOperator: both are 3',
      'mutation: 1 refused, 0 survived, 1 exempt',
    ])
  })

  test.each([
    ['without a reason', '// Stryker disable next-line ArithmeticOperator', 'gives its reason'],
    ['with an empty reason', '// Stryker disable next-line ArithmeticOperator: ', 'gives its reason'],
    [
      'of a mutator that does not exist',
      '// Stryker disable next-line ArithmeticOperator,Regexp: both are 3',
      'there is no mutator Regexp',
    ],
  ])('%s fails the run', (_, comment, words) => {
    const { pass, problems } = judge(report([ignored], source(comment)))
    expect(pass).toBe(false)
    expect(problems).toEqual([expect.stringContaining(words)])
    expect(problems[0]).toMatch(/^src\/a\.ts:1: /)
  })

  test.each([
    ['no mutant', [mutant({ at: [2, 11, 2, 16] })]],
    ['a mutant of another kind', [mutant({ status: 'Ignored', at: [2, 11, 2, 16], mutatorName: 'StringLiteral' })]],
    ['a mutant of another line', [mutant({ status: 'Ignored', at: [3, 1, 3, 2] })]],
  ])('that exempts %s fails the run', (_, mutants) => {
    const { problems } = judge(report(mutants, source('// Stryker disable next-line ArithmeticOperator: both are 3')))
    expect(problems).toContain('src/a.ts:1: the exemption has no mutant to exempt: take it out')
  })

  test('of all mutators, of everything that follows, is one too', () => {
    expect(judge(report([ignored], source('// Stryker disable all: a table')))).toMatchObject({
      exempt: [{ file: 'src/a.ts', line: 2, mutator: 'ArithmeticOperator', reason: 'a table' }],
      problems: [],
    })
    expect(judge(report([ignored], source('/* Stryker disable: a table */'))).exempt[0]?.reason).toBe('a table')
  })

  test('of what follows leaves alone what is before it, and on its own line', () => {
    const block = `const c = 1\n// Stryker disable ArithmeticOperator: a table\n${SOURCE}`
    for (const line of [1, 2]) {
      expect(judge(report([mutant({ status: 'Ignored', at: [line, 1, line, 2] })], block)).problems).toContain(
        'src/a.ts:2: the exemption has no mutant to exempt: take it out',
      )
    }
    expect(judge(report([mutant({ status: 'Ignored', at: [5, 1, 5, 2] })], block)).problems).toEqual([])
  })

  test('that a run reports without any reason is shown without one', () => {
    const { exempt, problems } = judge(report([mutant({ status: 'Ignored' })]))
    expect(exempt[0]?.reason).toBe('')
    expect(problems[0]).toContain('no comment asks for it (no reason)')
  })

  test('that nobody wrote fails the run: a setting took the mutant out', () => {
    const { pass, problems } = judge(report([mutant({ status: 'Ignored', statusReason: 'static' })]))
    expect([pass, problems]).toEqual([
      false,
      ['src/a.ts:1:11 ArithmeticOperator was ignored by the run and no comment asks for it (static)'],
    ])
  })
})

test('code that only a booted guest holds names a test that CI runs', () => {
  const source = `// mutate-lane: test/boots.boot.test.ts\n${SOURCE}`
  const asked: string[] = []
  const runsInCi = (path: string): boolean => {
    asked.push(path)
    return false
  }
  expect(judge(report([mutant({})], source), { runsInCi }).problems).toEqual([
    'src/a.ts:1: mutate-lane names test/boots.boot.test.ts, which is no test that CI runs',
  ])
  expect(asked).toEqual(['test/boots.boot.test.ts'])
  expect(judge(report([mutant({})], source), { runsInCi: () => true }).pass).toBe(true)
})

describe('a budget', () => {
  const two = (): Verdict => judge(report([mutant({ status: 'Survived' }), mutant({ id: '2', status: 'Survived' })]))

  test('lets a file have its survivors', () => {
    expect(withBudgets(two(), { 'src/a.ts': 2 })).toMatchObject({ pass: true, problems: [] })
  })

  test('that is exceeded, or larger than needed, fails the run', () => {
    expect(withBudgets(two(), { 'src/a.ts': 1 }).problems).toEqual(['src/a.ts has 2 survivors, and its budget is 1'])
    expect(withBudgets(two(), { 'src/a.ts': 3 }).problems).toEqual([
      'src/a.ts has 2 survivors, and its budget is 3: lower it',
    ])
    expect(withBudgets(two(), { 'src/b.ts': 1 })).toMatchObject({
      pass: false,
      problems: ['src/b.ts has 0 survivors, and its budget is 1: lower it'],
    })
    expect(withBudgets(two(), {}).pass).toBe(false)
  })

  test('excuses nothing else', () => {
    const broken = judge(report([mutant({ status: 'Survived' }), mutant({ id: '2', status: 'Pending' })]))
    expect(withBudgets(broken, { 'src/a.ts': 1 })).toMatchObject({
      pass: false,
      problems: [expect.stringContaining('Pending')],
    })
  })
})
