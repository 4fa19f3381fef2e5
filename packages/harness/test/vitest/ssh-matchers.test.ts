import { type SshFirstResult, sshFirst } from '@boxlab/probes'
import { expect, test } from 'vitest'
import { sshMatchers } from '../../src/vitest/index.ts'

expect.extend(sshMatchers)

const HOST_NS = 1e12

/** A record of one login or several; times in ms after kernel start, the accept and the first output of each. */
function logins(
  times: readonly (readonly [number, number?])[],
  { attempts = 2, clocks = true, evidence = {} } = {},
): SshFirstResult {
  const at = (ms: number): number => HOST_NS + ms * 1e6
  const lines: object[] = [{ version: 1, transport: 'agent', user: 'root', port: 22, atNs: HOST_NS }]
  const exchange = (ms: number): object => ({
    event: 'clock',
    hostSendNs: at(ms) - 1e6,
    guestNs: ms * 1e6,
    hostRecvNs: at(ms) + 1e6,
  })
  if (clocks) lines.push(exchange(1000), exchange(20_000))
  for (const [index, [acceptMs, outputMs]] of times.entries()) {
    const login = index + 1
    lines.push({ login, event: 'dial', atNs: at(acceptMs) }, { login, event: 'accept', atNs: at(acceptMs), attempts })
    if (outputMs === undefined) lines.push({ login, event: 'refused', atNs: at(acceptMs), evidence })
    else
      lines.push({ login, event: 'first-output', atNs: at(outputMs) }, { login, event: 'closed', atNs: at(outputMs) })
  }
  return sshFirst({
    ssh: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
    boot: JSON.stringify({ version: 1, accelerator: { proved: 'tcg' } }),
  })
}

const two = logins([
  [9000, 11_000],
  [11_500, 12_000],
])

test('toLogIn passes for logins that came, and in time', () => {
  expect(two).toLogIn()
  expect(two).toLogIn({ within: '12s', second: { within: '500ms' } })
})

test('toLogIn fails with the figure, its sample and the bound', () => {
  expect(two).not.toLogIn({ within: '10s' })
  expect(() => expect(two).toLogIn({ within: '10s' })).toThrow(
    'the first login was done 11000.0 ms after kernel start (tcg, n=1), and the bound is 10000 ms',
  )
  expect(() => expect(two).toLogIn({ second: { within: 499 } })).toThrow('the second login took 500.0 ms (tcg, n=1)')
  expect(() => expect(logins([[9000, 9500]])).toLogIn({ second: {} })).toThrow('there are 1 logins')
})

test('toLogIn fails for a login that was refused, with the cause, whatever its bounds', () => {
  const refused = logins([[9000]], { evidence: { said: 'Not allowed at this time' } })
  expect(refused).not.toLogIn({ within: '1s' })
  expect(() => expect(refused).toLogIn()).toThrow(
    'login 1 was refused (source-penalty): sshd turned the connection away',
  )
  expect(refused).toRefuseLogin()
  expect(refused).toRefuseLogin('source-penalty')
  expect(refused).not.toRefuseLogin('nologin')
  expect(() => expect(two).toRefuseLogin()).toThrow('no login of root was refused')
})

test('a time under a clock that is not known is an error, also behind `not`', () => {
  const unknown = logins([[9000, 11_000]], { clocks: false })
  expect(unknown).toLogIn()
  expect(() => expect(unknown).toLogIn({ within: '60s' })).toThrow('is not known: no ping to the agent')
  expect(() => expect(unknown).not.toLogIn({ within: '1s' })).toThrow('is not known: no ping to the agent')
})

test('a bound within the clock’s error is an error', () => {
  expect(() => expect(two).toLogIn({ within: 11_000.5 })).toThrow('the bound of 11000.5 ms lies within that')
})

test('an upper bound beyond the limit is an error, and one below it passes', () => {
  const late = logins([[9000, 11_000]], { attempts: 1 })
  expect(late).toLogIn({ within: '12s' })
  expect(() => expect(late).not.toLogIn({ within: '10s' })).toThrow("boot with `waitFor: Wait.forMark('agent-ready')`")
})

test('what is no login is refused', () => {
  expect(() => expect({}).toLogIn()).toThrow('`toLogIn` takes a box or what `box.sshFirst()` gave')
  expect(() => expect(undefined).toLogIn()).toThrow('`toLogIn` takes a box')
  expect(() => expect(sshFirst({ ssh: '' })).not.toLogIn()).toThrow('there is no login in guest/ssh.jsonl')
  expect(() => expect(two).toLogIn({ within: 'soon' })).toThrow('`within` must be')
})
