import { expect, it } from 'vitest'
import { consolePrompt, renderWaits, waits, waitsJson } from '../../src/index.ts'
import { aBoot } from './a-systemd.ts'

const line = (value: object): string => `${JSON.stringify(value)}\n`
/** The host's clock is 100 s ahead of the guest's. */
const clock = [1, 20]
  .map((s) => line({ hostSendNs: (100 + s) * 1e9, guestNs: s * 1e9 + 5e3, hostRecvNs: (100 + s) * 1e9 + 10e3 }))
  .join('')
const prompt = line({ mark: 'login-prompt', source: 'console', clock: 'host', atNs: 112e9, errorNs: 1e6 })

it('the prompt on the console is a time of the guest’s, with the error of the mapping and of the read', () => {
  const found = consolePrompt({ marks: prompt, clock })
  expect(found?.atUs).toBeCloseTo(12_000_000, -2)
  expect(found?.errorUs).toBeGreaterThanOrEqual(1000)
  expect(found?.errorUs).toBeLessThan(1100)
})

it('is the console’s own, as the host read it: no other mark, source or clock will do', () => {
  const foreign = [
    line({ mark: 'ready', source: 'console', clock: 'host', atNs: 101e9 }),
    line({ mark: 'login-prompt', source: 'harness', clock: 'host', atNs: 102e9 }),
    line({ mark: 'login-prompt', source: 'console', clock: 'guest', atNs: 3e9 }),
  ].join('')
  expect(consolePrompt({ marks: foreign, clock })).toBeUndefined()
  expect(consolePrompt({ marks: foreign + prompt, clock })?.atUs).toBeCloseTo(12_000_000, -2)
})

it('has the error of printk’s clock, which runs ahead, where only the console tells of the guest’s', () => {
  const stamped = (mark: string, s: number): string =>
    line({ mark, source: 'console', clock: 'guest', atNs: s * 1e9 }) +
    line({ mark, source: 'console', clock: 'host', atNs: (100 + s) * 1e9 })
  const marks = stamped('init-run', 1) + stamped('switch-root', 20) + prompt
  const found = consolePrompt({ marks, clock: '' })
  expect(found?.errorUs).toBeGreaterThan(250_000)
  expect(found?.errorUs).toBeLessThan(400_000)
})

it('is not known without a prompt, and without the guest’s clock', () => {
  expect(consolePrompt({ marks: '', clock })).toBeUndefined()
  expect(consolePrompt({ marks: prompt, clock: '' })).toBeUndefined()
})

it('stands beside systemd’s own stamp, and moves nothing of the path', () => {
  const getty = {
    id: 'serial-getty@ttyS0.service',
    at: [5e6, 5e6, 5e6] as const,
    more: { Type: 'idle', ExecMainStartTimestampMonotonic: 4.9e6 },
  }
  const inputs = aBoot([getty])
  const without = waits(inputs, { target: 'login' })
  const beside = waits(inputs, { target: 'login', console: { atUs: 12_000_000, errorUs: 1005 } })
  if (!without.found || !beside.found) throw new Error('no waits')
  expect(beside.parts).toEqual(without.parts)
  expect(beside.prompt).toEqual({ ...without.prompt, console: { atUs: 11_000_000, errorUs: 1005 } })
  expect(renderWaits(beside)).toContain('the prompt was on the console at 11000.000 ms, give or take 1.005 ms')
  expect(JSON.parse(JSON.stringify(waitsJson(beside)))).toMatchObject({ prompt: { console: { errorUs: 1005 } } })
})
