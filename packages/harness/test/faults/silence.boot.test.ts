import { expect, test } from 'vitest'
import { bootBox, Wait } from '../../src/index.ts'
import { silentDisk } from '../fixtures/boot-sector.ts'
import { firmwareBox, ownHome } from '../fixtures/own-home.ts'
import { ownEngines, processLine } from '../fixtures/processes.ts'
import { rejection } from '../fixtures/rejection.ts'

const home = ownHome()

test('a guest that prints nothing runs into the bound, which tells how far it came and that the console was silent', async () => {
  const box = firmwareBox(home, silentDisk(), Wait.forConsole('a text that never comes'))
  const { error } = await rejection(bootBox({ ...box, timeouts: { bootMs: 1200 } }))
  expect(error).toMatchObject({ code: 'ERR_BOX_TIMEOUT', lastMark: 'vm-start' })
  expect(error.sinceMs).toBeGreaterThan(500)
  expect(error.message).toMatch(/^'a text that never comes' on the console did not come within 1200 ms/)
  expect(error.message).toMatch(/^ {2}reached: .*vm-start/m)
  expect(error.message).toMatch(/console.*(silent|nothing)|nothing.*console/i)
  expect(ownEngines()).toEqual([])
})

test(
  'a guest that stops answering: commands end at their limits, and `stop` gets rid of it within its bounds',
  { timeout: 120_000 },
  async () => {
    const stopMs = 300
    await using box = await bootBox({ timeouts: { stopMs } })
    const { pid = 0 } = box.info()
    const begin = performance.now()
    const running = rejection(box.exec(['sleep', '1000'], { timeoutMs: 1000 }))
    await box.exec(['true'])
    // The whole machine stands still, its agent with it.
    process.kill(pid, 'SIGSTOP')
    const { error: atStart } = await rejection(box.exec(['true'], { timeoutMs: 500 }))
    expect(atStart.code).toMatch(/^ERR_BOX_(EXEC_)?TIMEOUT$/)
    expect(atStart.message).toMatch(/`true`.* 500 ms/)
    expect((await running).error).toMatchObject({ code: 'ERR_BOX_EXEC_TIMEOUT' })
    expect(performance.now() - begin).toBeLessThan(2500)
    const stopBegin = performance.now()
    expect(await box.stop()).toEqual({ by: 'kill', exit: { signal: 9 } })
    // The agent's step, and the two seconds that a living engine has to answer `quit`.
    expect(performance.now() - stopBegin).toBeLessThan(stopMs + 2000 + 1000)
    expect(processLine(pid)).toBeUndefined()
  },
)

test('a guest that cannot power off is quit after the bound of that step', { timeout: 120_000 }, async () => {
  const stopMs = 700
  // Without ACPI Linux knows no power switch: it halts, and the machine runs on.
  const box = await bootBox({ machine: 'pc,acpi=off', timeouts: { stopMs } })
  const { pid = 0 } = box.info()
  const begin = performance.now()
  expect(await box.stop()).toEqual({ by: 'quit', exit: { code: 0 } })
  const tookMs = performance.now() - begin
  expect(tookMs).toBeGreaterThanOrEqual(stopMs)
  expect(tookMs).toBeLessThan(stopMs + 2000)
  expect(processLine(pid)).toBeUndefined()
})
