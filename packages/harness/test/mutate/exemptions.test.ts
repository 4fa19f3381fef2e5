import { expect, test } from 'vitest'
import { exempts, exemptionsOf, MUTATORS } from '../../src/mutate/exemptions.ts'

// Of StrykerJS 10: what its instrumenter makes of JavaScript and TypeScript.
const NAMES =
  'ArithmeticOperator ArrayDeclaration ArrowFunction AssignmentOperator BlockStatement BooleanLiteral ConditionalExpression EqualityOperator LogicalOperator MethodExpression ObjectLiteral OptionalChaining Regex StringLiteral UnaryOperator UpdateOperator'

test('the mutators are those of StrykerJS', () => {
  expect([...MUTATORS].toSorted()).toEqual(NAMES.split(' '))
})

test.each([
  ['// Stryker disable next-line Regex: why', { line: 1, of: 2, mutators: ['Regex'], reason: 'why' }],
  [
    '   //  Stryker disable next-line Regex , StringLiteral :  why so: because  ',
    { line: 1, of: 2, mutators: ['Regex', 'StringLiteral'], reason: 'why so: because' },
  ],
  ['//Stryker disable next-line all: why', { line: 1, of: 2, mutators: 'all', reason: 'why' }],
  ['// Stryker disable next-line: why', { line: 1, of: 2, mutators: 'all', reason: 'why' }],
  ['// Stryker disable next-line', { line: 1, of: 2, mutators: 'all', reason: '' }],
  ['// Stryker disable Regex: why', { line: 1, mutators: ['Regex'], reason: 'why' }],
  ['/* Stryker disable Regex: why */', { line: 1, mutators: ['Regex'], reason: 'why' }],
  ['/*Stryker disable all*/', { line: 1, mutators: 'all', reason: '' }],
])('%s is an exemption', (comment, exemption) => {
  expect(exemptionsOf(comment).exemptions).toEqual([exemption])
  expect(exemptionsOf(`a\n${comment}\nb`).exemptions[0]?.line).toBe(2)
})

test.each([
  'const a = 1 // Stryker disable next-line Regex: it stands behind code, where StrykerJS looks for none',
  '"// Stryker disable next-line"',
  '// Stryker restore all',
  'Stryker disable all: no comment',
])('%s is none', (text) => {
  expect(exemptionsOf(text).exemptions).toEqual([])
})

test('an exemption of a line is of that line, with its mutators', () => {
  const [one] = exemptionsOf('// Stryker disable next-line Regex: why').exemptions
  expect([1, 2, 3].map((line) => exempts(one!, 'Regex', line))).toEqual([false, true, false])
  expect(exempts(one!, 'StringLiteral', 2)).toBe(false)
})

test.each([
  ['// mutate-lane: test/a.boot.test.ts', 'test/a.boot.test.ts'],
  ['  //   mutate-lane:   a  ', 'a'],
  ['//mutate-lane:a', 'a'],
])('%s names a test', (comment, path) => {
  expect(exemptionsOf(`x\n${comment}`).lanes).toEqual([{ line: 2, test: path }])
})

test.each(['// mutate-lane: two tests', 'a // mutate-lane: a', '// mutate-lane:'])('%s names none', (text) => {
  expect(exemptionsOf(text).lanes).toEqual([])
})
