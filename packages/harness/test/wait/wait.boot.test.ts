import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { bootBox, BoxError, useBox, Wait, type WaitStrategy } from '../../src/vitest/index.ts'
import { bootDisk } from '../fixtures/boot-sector.ts'

const scratch = mkdtempSync(join(tmpdir(), 'boxlab-waits-'))
afterAll(() => rmSync(scratch, { recursive: true }))
const disk = join(scratch, 'boot.img')
writeFileSync(disk, bootDisk('first line\r\nlogin: ', 10))
const firmware = { boot: 'firmware', accel: 'tcg', disks: [{ path: disk }] } as const

async function failed(call: Promise<unknown>): Promise<BoxError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(BoxError)
  return error as BoxError
}

describe('what a guest is waited for', () => {
  const box = useBox()
  const soon = async (line: string): Promise<void> => {
    await box.shell(`(sleep 0.2; ${line}) >/dev/null 2>&1 &`)
  }

  test('a port, a file and a command come when they come', async () => {
    await soon('echo x > /tmp/there; nc -l -p 2222 -e true')
    const marks = await Promise.all([
      box.waitFor(Wait.forPort(2222)),
      box.waitFor(Wait.forFile('/tmp/there')),
      box.waitFor(Wait.forCommand(['test', '-s', '/tmp/there'])),
    ])
    expect(marks.map(({ mark }) => mark)).toEqual([
      'user:port:2222',
      'user:file:/tmp/there',
      'user:command:test -s /tmp/there',
    ])
    expect(box.marks()).toEqual(expect.arrayContaining(marks.map((mark) => expect.objectContaining(mark) as unknown)))
  })

  test('of all parts the last one decides, of any the first', async () => {
    const [fast, slow] = [Wait.forMark('agent-ready'), Wait.forFile('/tmp/slow')]
    await soon('echo > /tmp/slow')
    expect(await box.waitFor(Wait.forAny([slow, fast]))).toMatchObject({ mark: 'agent-ready' })
    expect(await box.waitFor(Wait.forAll([slow, fast]))).toMatchObject({ mark: 'user:file:/tmp/slow' })
  })

  test('what the console said before the wait counts, and what it says later', async () => {
    const before = await box.waitFor(Wait.forConsole(/Run (\S+) as init process$/))
    const native = box.marks().find(({ mark, clock }) => mark === 'init-run' && clock === 'host')
    expect(before.atNs, 'the time is that of the read, as for the runtime’s own marks').toBe(native?.atNs)
    const later = box.waitFor(Wait.forConsole('boxes are fun'))
    await box.shell('echo "boxes are fun" > /dev/console')
    expect((await later).atNs).toBeGreaterThan(before.atNs)
  })

  test.for<[string, WaitStrategy, RegExp]>([
    ['a port', Wait.forPort(9), /port 9: nothing in the guest answers .*refused.*, \d+ times, the last \d+ ms before/],
    ['a file', Wait.forFile('/none'), /the file \/none: cannot look at \/none: No such file.*, \d+ times/],
    [
      'a command',
      Wait.forCommand(['/bin/sh', '-c', 'echo not yet >&2; exit 3']),
      /to succeed: exit code 3, it said 'not yet', \d+ times/,
    ],
    ['a command that is not there', Wait.forCommand(['/none']), /to succeed: .*\/none/],
    ['a text', Wait.forConsole('never'), /'never' on the console: \d+ bytes in \d+ lines, the last '.+'/],
    ['a mark', Wait.forMark('login-prompt'), /the mark `login-prompt`: the last mark when the wait began was `/],
  ])('%s that does not come is an error with what was seen, at its bound', async ([, strategy, seen]) => {
    const began = performance.now()
    const error = await failed(box.waitFor(Wait.forAll([strategy, Wait.forMark('agent-ready')]), { timeoutMs: 300 }))
    expect(performance.now() - began).toBeLessThan(5000)
    expect(error).toMatchObject({ code: 'ERR_BOX_TIMEOUT' })
    expect(error.waited?.[0]).toMatch(seen)
    expect(error.waited?.[1]).toBe('the mark `agent-ready`: came')
    expect(error.message).toContain(`waited: ${error.waited?.[0]}`)
    expect(error.reproduce).toMatch(/^\S*qemu\S* -name by-hand-/)
  })

  test('an abort ends it with what was seen', async () => {
    const signal = AbortSignal.timeout(100)
    const error = await failed(box.waitFor(Wait.forPort(9), { signal }))
    expect(error).toMatchObject({ code: 'ERR_BOX_ABORTED', cause: expect.any(Error) as Error })
    expect(error.waited?.[0]).toContain('refused')
    expect(await failed(box.waitFor(Wait.forPort(9), { signal }))).toMatchObject({ code: 'ERR_BOX_ABORTED' })
  })

  test('a wait that is over asks the guest nothing more', async () => {
    await failed(box.waitFor(Wait.forCommand(['false']), { signal: AbortSignal.timeout(100) }))
    await new Promise((resolve) => setTimeout(resolve, 100))
    const before = box.metrics().commandsExecutedTotal
    expect(before).toBeGreaterThan(0)
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(box.metrics().commandsExecutedTotal).toBe(before)
  })
})

describe('the end of the box', () => {
  test.for<[string, WaitStrategy]>([
    ['a mark', Wait.forMark('login-prompt')],
    ['an expression', Wait.forConsole(/never/)],
    ['all of them', Wait.forAll([Wait.forConsole(/never/), Wait.forMark('agent-ready')])],
    ['any of them', Wait.forAny([Wait.forConsole(/never/), Wait.forMark('agent-ready')])],
  ])('ends a wait for %s', async ([, strategy]) => {
    const box = await bootBox({ ...firmware, waitFor: Wait.forConsole('done'), record: { keep: 'never' } })
    const wait = failed(box.waitFor(strategy))
    process.kill(box.info().pid ?? 0, 'SIGKILL')
    const error = await wait
    const endedNs = box.marks().find(({ mark }) => mark === 'engine-exit')?.atNs ?? 0
    expect(error).toMatchObject({ code: 'ERR_BOX_ENGINE_EXITED' })
    expect(Number(process.hrtime.bigint()) - endedNs).toBeLessThan(1e9)
    await box.stop()
  })
})

describe('ready is what the box waits for', () => {
  test('also where only the harness can see it', async () => {
    const box = await bootBox({
      ...firmware,
      waitFor: Wait.forAll([Wait.forConsole(/^login: /), Wait.forMark('vm-start')]),
    })
    const ready = box.marks().filter(({ mark }) => mark === 'ready')
    expect(ready).toMatchObject([{ source: 'harness', clock: 'host' }])
    expect(box.state).toBe('running')
    await box.stop()
  })

  test('a prompt without line end is found', async () => {
    const box = await bootBox({ ...firmware, waitFor: Wait.forConsole(/^login: (?:done)?$/) })
    expect(box.state).toBe('running')
    await box.stop()
  })

  test('what does not come ends the box with the bound of the boot and the whole story', async () => {
    const boot = bootBox({ ...firmware, waitFor: Wait.forConsole(/never/), timeouts: { bootMs: 1500 } })
    const error = await failed(boot)
    expect(error).toMatchObject({ code: 'ERR_BOX_TIMEOUT', lastMark: 'vm-start' })
    expect(error.message).toMatch(/^\/never\/ on the console did not come within 1\d\d\d ms\n/)
    expect(error.message).toContain('waited: /never/ on the console: ')
    expect(error.message).toContain('  record: ')
    rmSync(error.record ?? '', { recursive: true })
  })

  test('a firmware box has no agent to ask', async () => {
    const error = await failed(bootBox({ ...firmware, waitFor: Wait.forPort(22) }))
    expect(error.message).toBe('`waitFor`: port 22 needs our agent, and a firmware box has none')
    const box = await bootBox(firmware)
    expect(await failed(box.waitFor(Wait.forPort(22)))).toMatchObject({ code: 'ERR_BOX_STATE' })
    await box.stop()
  })
})
