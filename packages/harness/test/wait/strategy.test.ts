import { describe, expect, test } from 'vitest'
import { describeStrategy, leavesOf, markOf, nativeMark, needsAgent, Wait } from '../../src/wait/strategy.ts'

describe('a wait strategy', () => {
  test.for<[() => unknown, string]>([
    [() => Wait.forMark(''), '`Wait.forMark` takes the id of a mark'],
    [() => Wait.forConsole(''), '`Wait.forConsole` takes a text that is not empty, or a regular expression'],
    [() => Wait.forPort(0), '`Wait.forPort` takes a port from 1 to 65535, not 0'],
    [() => Wait.forPort(65_536), '`Wait.forPort` takes a port from 1 to 65535, not 65536'],
    [() => Wait.forPort(1.5), '`Wait.forPort` takes a port from 1 to 65535, not 1.5'],
    [() => Wait.forFile('run/x'), "`Wait.forFile` takes an absolute path in the guest, not 'run/x'"],
    [() => Wait.forCommand([]), '`Wait.forCommand` takes an array with a command and its arguments'],
    [() => Wait.forCommand('true' as never), '`Wait.forCommand` takes an array with a command and its arguments'],
    [() => Wait.forUnit('ssh'), "`Wait.forUnit` takes a unit with its type, such as 'ssh.service', not 'ssh'"],
    [() => Wait.forSystemd('up' as never), "`Wait.forSystemd` takes 'running' or 'degraded', not 'up'"],
    [() => Wait.forAll([]), '`Wait.forAll` takes an array with one strategy or more'],
    [() => Wait.forAny([]), '`Wait.forAny` takes an array with one strategy or more'],
    [
      () => Wait.forAll([Wait.forPort(22), { kind: 'weather' } as never]),
      'a wait strategy is made by Wait, for example `Wait.forConsole("ready")`',
    ],
    [() => Wait.forAny(['x' as never]), 'a wait strategy is made by Wait, for example `Wait.forConsole("ready")`'],
  ])('%s is refused', ([make, sentence]) => {
    expect(make).toThrow(expect.objectContaining({ code: 'ERR_BOX_OPTIONS', message: sentence }))
  })

  test('the ends of what a port may be are taken', () => {
    expect([Wait.forPort(1), Wait.forPort(65_535)].map(describeStrategy)).toEqual(['port 1', 'port 65535'])
  })

  const nested = Wait.forAll([
    Wait.forMark('login-prompt'),
    Wait.forAny([Wait.forConsole('up'), Wait.forConsole(/up \d/i)]),
    Wait.forAll([Wait.forPort(22), Wait.forFile('/run/x'), Wait.forCommand(['test', '-e', '/x'])]),
  ])

  test('is told in words, and its parts set marks of their own', () => {
    expect(describeStrategy(nested)).toBe(
      "the mark `login-prompt` and 'up' on the console or /up \\d/i on the console and port 22 and the file /run/x and `test -e /x` to succeed",
    )
    expect(leavesOf(nested).map(markOf)).toEqual([
      'login-prompt',
      'user:console:up',
      'user:console:/up \\d/i',
      'user:port:22',
      'user:file:/run/x',
      'user:command:test -e /x',
    ])
  })

  test('marks and texts are seen by the runtime itself, everything else is followed', () => {
    expect(leavesOf(nested).map(nativeMark)).toEqual([
      'login-prompt',
      'user:console:up',
      undefined,
      undefined,
      undefined,
      undefined,
    ])
    expect(nativeMark(nested)).toBeUndefined()
  })

  test('a target is a unit, with or without its end', () => {
    expect([Wait.forTarget('multi-user'), Wait.forTarget('x.target')].map(describeStrategy)).toEqual([
      'the unit multi-user.target',
      'the unit x.target',
    ])
    expect(describeStrategy(Wait.forSystemd())).toBe('systemd to be degraded')
  })

  test('what asks the guest needs an agent', () => {
    expect(needsAgent(nested)).toBe(true)
    expect(needsAgent(Wait.forMark('agent-ready'))).toBe(true)
    expect(needsAgent(Wait.forAny([Wait.forMark('vm-start'), Wait.forConsole(/x/)]))).toBe(false)
    for (const strategy of [Wait.forPort(1), Wait.forFile('/x'), Wait.forCommand(['x']), Wait.forSystemd()])
      expect(needsAgent(Wait.forAny([strategy]))).toBe(true)
  })
})
