import { expect, test } from 'vitest'
import { History } from '../../src/wait/history.ts'

test('what repeats itself is counted, and what came before it is told', () => {
  const history = new History('port 22')
  expect(String(history)).toBe('port 22: nothing was seen')
  history.saw('no route')
  expect(String(history)).toBe('port 22: no route')
  history.saw('refused')
  expect(String(history)).toBe('port 22: refused (before that: no route)')
  history.saw('refused')
  history.saw('refused')
  expect(String(history)).toMatch(/^port 22: refused, 3 times, the last \d+ ms before \(before that: no route\)$/)
  history.saw('reset')
  expect(String(history)).toBe('port 22: reset (before that: refused)')
  history.came()
  expect(String(history)).toBe('port 22: came')
})
