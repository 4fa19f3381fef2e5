import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '@boxlab/probes'
import { describe, expect, test } from 'vitest'
import { Box, bootBox, Wait } from '../../src/index.ts'
import { resettingDisk } from '../fixtures/boot-sector.ts'
import { firmwareBox, ownHome } from '../fixtures/own-home.ts'
import { alive, ownEngines } from '../fixtures/processes.ts'
import { atOf, type Rejection, rejection } from '../fixtures/rejection.ts'

const home = ownHome()
const firmware = firmwareBox(home)
const endless = firmwareBox(home, undefined, Wait.forConsole('a text that never comes'))

/** How long after the death of the engine the caller knew, in milliseconds. */
function lateMs(box: Box, { atNs }: Rejection): number {
  return (atNs - atOf(box.marks(), 'engine-exit')) / 1e6
}

/** Those whose median is 50 ms or more. One late try is the scheduler's on a busy host; half of them are not. */
function tooLate(late: Readonly<Record<string, readonly number[]>>): Record<string, readonly number[]> {
  return Object.fromEntries(Object.entries(late).filter(([, times]) => !((median(times) ?? Infinity) < 50)))
}

function killEngine(box: Box): void {
  const { pid } = box.info()
  if (pid === undefined) throw new Error('there is no engine to kill')
  process.kill(pid, 'SIGKILL')
}

describe('an engine that is killed', () => {
  test('ends a boot within 50 ms (median of five)', async () => {
    const late: number[] = []
    for (let round = 0; round < 5; round += 1) {
      const box = new Box(endless)
      const boot = rejection(box.boot())
      await expect.poll(() => box.marks().some(({ mark }) => mark === 'vm-start'), { interval: 2 }).toBe(true)
      killEngine(box)
      const ended = await boot
      expect(ended.error).toMatchObject({ code: 'ERR_BOX_ENGINE_EXITED', exit: { signal: 9 }, lastMark: 'vm-start' })
      expect(ended.error.message).toMatch(/^the engine ended \(signal 9\) while waiting for /)
      late.push(lateMs(box, ended))
    }
    expect(tooLate({ boot: late })).toEqual({})
    expect(ownEngines()).toEqual([])
  })

  test('ends a wait for a mark within 50 ms (median of five)', async () => {
    const late: number[] = []
    for (let round = 0; round < 5; round += 1) {
      await using box = await bootBox(firmware)
      const wait = rejection(box.waitFor(Wait.forMark('login-prompt')))
      killEngine(box)
      const ended = await wait
      expect(ended.error).toMatchObject({ code: 'ERR_BOX_ENGINE_EXITED', exit: { signal: 9 } })
      late.push(lateMs(box, ended))
      expect(box.state).toBe('failed')
    }
    expect(tooLate({ wait: late })).toEqual({})
  })

  test('ends commands, transfers and dials within 50 ms each (median of three)', { timeout: 180_000 }, async () => {
    const late: Record<string, number[]> = {}
    for (let round = 0; round < 3; round += 1) {
      await using box = await bootBox()
      await box.shell('dd if=/dev/zero of=/large bs=1M count=100')
      const command = await box.spawn(['sleep', '1000'])
      const pending: Record<string, Promise<Rejection>> = {
        'exec that runs': rejection(box.exec(['sleep', '1000'])),
        'command.wait()': rejection(command.wait()),
        'wait for a mark': rejection(box.waitFor(Wait.forMark('login-prompt'))),
      }
      await sleep(200)
      // From here on the guest answers nothing, so that each of these waits when the engine dies.
      const { pid } = box.info()
      process.kill(pid ?? 0, 'SIGSTOP')
      pending['exec that starts'] = rejection(box.exec(['true']))
      pending['files.read'] = rejection(box.files.read('/large'))
      pending['files.write'] = rejection(box.files.write('/other', Buffer.alloc(8 * 1024 * 1024)))
      pending['files.copyOut'] = rejection(box.files.copyOut('/large', `${home}/copy-${round}`))
      pending['dial'] = rejection(box.dial(4000))
      await sleep(50)
      killEngine(box)
      for (const [what, promise] of Object.entries(pending)) {
        const ended = await promise
        const { code, exit } = ended.error
        expect({ what, code, exit }).toEqual({ what, code: 'ERR_BOX_ENGINE_EXITED', exit: { signal: 9 } })
        ;(late[what] ??= []).push(lateMs(box, ended))
      }
    }
    expect(tooLate(late)).toEqual({})
  })
})

test('an engine that refuses an option ends the boot at once, in its own words', async () => {
  const begin = performance.now()
  const { error } = await rejection(
    bootBox({ ...firmware, devices: { extra: ['-device', 'nosuchdevice,id=mine'] }, timeouts: { bootMs: 30_000 } }),
  )
  expect(performance.now() - begin).toBeLessThan(3000)
  expect(error).toMatchObject({ code: 'ERR_BOX_ENGINE_EXITED', exit: { code: 1 } })
  expect(error.summary).toContain("'nosuchdevice' is not a valid device model name")
  expect(error.likelyCause).toContain('The engine refused an option')
  expect(ownEngines()).toEqual([])
})

test.for(['reset register', 'triple fault'] as const)(
  'a guest that restarts itself by its %s ends the boot at once, as a reset',
  async (how) => {
    const box = new Box(firmwareBox(home, resettingDisk(how), Wait.forConsole('a text that never comes')))
    const ended = await rejection(box.boot())
    expect(ended.error).toMatchObject({ code: 'ERR_BOX_RESET', exit: { code: 0 } })
    expect(ended.error.summary).toBe(
      "the guest reset itself while waiting for 'a text that never comes' on the console; a box runs once, so the engine ended",
    )
    expect((ended.atNs - atOf(box.marks(), 'guest-reset')) / 1e6).toBeLessThan(1000)
    expect(lateMs(box, ended)).toBeLessThan(500)
    expect(ownEngines()).toEqual([])
    expect(alive(box.info().pid)).toBe(false)
  },
)
