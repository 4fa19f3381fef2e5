import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BoxError, type MarkLine } from '@boxlab/native'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { ExecError } from '../../src/exec.ts'
import { explainFailure, type FailedCall } from '../../src/failure/explain-failure.ts'
import { ImageError } from '../../src/images/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'boxlab-failure-'))
afterAll(() => rmSync(folder, { recursive: true }))
let record = folder
beforeEach(() => {
  record = mkdtempSync(join(folder, 'record-'))
})

const recordings = new URL('../../../probes/test/fixtures/console/', import.meta.url)
const oops = readFileSync(new URL('linux-6.1-null.console', recordings))
const oom = readFileSync(new URL('linux-6.1-oom.console', recordings))
const panic = readFileSync(new URL('linux-6.1-null-panic1.console', recordings))

const nowNs = Number(process.hrtime.bigint())
const marks: MarkLine[] = [
  ['start', 5000],
  ['spawn', 4990],
  ['vm-start', 4900],
  ['kernel-first-line', 4000],
].map(([mark, beforeMs]) => ({
  mark: String(mark),
  source: 'runtime',
  clock: 'host',
  atNs: nowNs - Number(beforeMs) * 1e6,
}))
const bootFile = {
  plan: { boot: { kind: 'direct' }, memoryMib: 512, agent: true, engine: { binary: '/usr/bin/qemu-system-x86_64' } },
  engine: { reproduce: 'qemu-system-x86_64 -m 512' },
  accelerator: { asked: 'tcg', proved: 'tcg' },
}

/** A record of a console that was read at one instant, and the handle of its box. */
function failed(console: string | Uint8Array, atNs: number, doing: FailedCall['doing'], tail = ''): FailedCall {
  writeFileSync(join(record, 'console.bin'), console)
  writeFileSync(join(record, 'console.idx.jsonl'), `${JSON.stringify({ offset: 0, length: console.length, atNs })}\n`)
  const machine = { marks: () => marks, bootFile: () => bootFile, consoleTail: () => tail, pid: undefined }
  return { doing, machine, record, options: { accel: 'tcg' }, beganNs: BigInt(nowNs - 1000e6) }
}

describe('the error of a boot', () => {
  it('says first what most likely happened, then where, then where to look further', async () => {
    const error = new BoxError('ERR_BOX_PANIC', 'the guest panicked', { exit: { code: 0 }, consoleTail: 'tail' })
    const explained = await explainFailure(error, failed(panic, nowNs, 'boot'))
    expect(explained).toBe(error)
    expect(error).toMatchObject({ code: 'ERR_BOX_PANIC', stage: 'kernel', causeId: 'guest-panic', record })
    expect(error.lastMarks?.map(({ mark }) => mark)).toEqual(['start', 'spawn', 'vm-start', 'kernel-first-line'])
    expect(error.summary).toBe('the guest panicked')
    const names = error.message.split('\n').map((line) => /^ {2}([\w ]+): ?/.exec(line)?.[1])
    expect(names.filter(Boolean)).toEqual(['likely cause', 'reached', 'marks', 'record', 'reproduce', 'console'])
    expect(error.message).toMatch(/^ {2}reached: stage kernel for \d+ ms \(since kernel-first-line\)$/m)
    expect(error.message).toMatch(
      /^ {2}marks: start 0, spawn 10, vm-start 100, kernel-first-line 1000, failed \d+ \(ms/m,
    )
    // The crash that the panic came of stands before a long trace, so the last lines would not show it.
    expect(error.message).toMatch(/^ {4}\[.*\] BUG: kernel NULL pointer dereference/m)
  })

  it('keeps its cause, its frames and its class, and the stack says the same as the message', async () => {
    const cause = new Error('because')
    const error = new BoxError('ERR_BOX_TIMEOUT', 'it did not come', {}, { cause })
    const frame = error.stack?.split('\n')[1] ?? ''
    await explainFailure(error, failed('x', nowNs, 'boot'))
    expect(error.cause).toBe(cause)
    expect(error.stack).toContain(frame)
    expect(error.stack?.startsWith(`BoxError: ${error.message}\n`)).toBe(true)
  })

  it('begins its stack where the caller called', async () => {
    const error = new BoxError('ERR_BOX_TIMEOUT', 'it did not come')
    const ours = `    at Box.boot (${join(import.meta.dirname, '../../src/box.ts')}:1:1)`
    const stack = `Error\n${ours}\n    at theirs (/home/them/boot.test.ts:7:9)`
    await explainFailure(error, { ...failed('x', nowNs, 'boot'), calledFrom: { stack } })
    const frames = error.stack?.slice(`BoxError: ${error.message}\n`.length)
    expect(frames?.split('\n')[0]).toBe('    at theirs (/home/them/boot.test.ts:7:9)')
    expect(frames).toContain('explain-failure.test.ts')
  })

  it('can be explained again without saying anything twice', async () => {
    const error = new BoxError('ERR_BOX_TIMEOUT', 'it did not come\nand more')
    const call = failed('[    1.000000] Waiting for root device /dev/vda1...\n', nowNs, 'boot')
    await explainFailure(error, call)
    await explainFailure(error, call)
    expect(error.summary).toBe('it did not come\nand more')
    expect(error.message.match(/likely cause: /g)).toHaveLength(1)
  })

  it('is made of one of the images area, which is then its cause', async () => {
    const thrown = new ImageError('ERR_IMAGE_PACKAGE', 'no such package')
    const error = await explainFailure(thrown, failed('', nowNs, 'boot'))
    expect(error).toBeInstanceOf(BoxError)
    expect(error).toMatchObject({ code: 'ERR_IMAGE_PACKAGE', summary: 'no such package', cause: thrown, record })
    const system = Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' })
    expect(await explainFailure(system, { doing: 'boot' })).toMatchObject({ code: 'ERR_BOX_PLAN', cause: system })
  })

  it('names no record that is not kept', async () => {
    const error = new BoxError('ERR_BOX_TIMEOUT', 'it did not come', { record })
    await explainFailure(error, { ...failed('x', nowNs, 'boot'), options: { record: { keep: 'never' } } })
    expect(error).not.toHaveProperty('record')
    expect(error.message).not.toContain('record: ')
  })

  it('shows the console without what would redraw a log', async () => {
    const error = new BoxError('ERR_BOX_TIMEOUT', 'it did not come')
    await explainFailure(error, failed('x', nowNs, 'boot', '\x1b[2J\x1b[31mred\x1b[0m\x07\x00\nnext'))
    expect(error.message).toMatch(/\n {2}console:\n {4}red\n {4}next$/)
  })

  it('comes as it is when there is nothing to explain it with', async () => {
    const error = new BoxError('ERR_BOX_TIMEOUT', 'it did not come')
    expect(await explainFailure(error, { doing: 'boot' })).toBe(error)
    expect(error.message).toBe('it did not come')
    const refused = new BoxError('ERR_BOX_OPTIONS', 'no')
    expect(await explainFailure(refused, failed(oom, nowNs, 'boot'))).toBe(refused)
    expect(refused.message).toBe('no')
    expect(await explainFailure('a text', { doing: 'boot' })).toBe('a text')
  })

  it('comes as it was when explaining fails', async () => {
    const error = new BoxError('ERR_BOX_TIMEOUT', 'it did not come')
    const call = failed('x', nowNs, 'boot')
    const broken = {
      bootFile: () => {
        throw new Error('broken')
      },
    }
    expect(await explainFailure(error, { ...call, machine: { ...call.machine, ...broken } as never })).toBe(error)
    expect(error.message).toBe('it did not come')
    for (const file of [null, 7, { plan: null, engine: 'x' }, { plan: { boot: 'direct' } }]) {
      const machine = { ...call.machine, bootFile: () => file } as never
      expect(await explainFailure(error, { ...call, machine })).toBe(error)
    }
  })
})

describe('the error of a command', () => {
  const cut = (): BoxError => new BoxError('ERR_BOX_EXEC_TIMEOUT', '`make` was killed after its limit of 10 ms')

  it('is its sentence alone: how the box booted is not the point', async () => {
    const error = cut()
    await explainFailure(error, failed('[    1.000000] Linux version 6.1.0\n', nowNs, 'command', 'tail'))
    expect(error.message).toBe('`make` was killed after its limit of 10 ms')
    expect(error.record).toBe(record)
    expect(error).not.toHaveProperty('stage')
  })

  it.each([
    ['guest-oom', oom, 'Out of memory: Killed process'],
    ['guest-oops', oops, 'BUG: kernel NULL pointer dereference'],
  ])('tells of %s that came while it ran, with the lines that say so', async (causeId, console, line) => {
    const error = cut()
    await explainFailure(error, failed(console, nowNs, 'command', 'tail'))
    expect(error).toMatchObject({ causeId, consoleTail: expect.stringContaining(line) as string })
    const names = error.message.split('\n').map((text) => /^ {2}([\w ]+): ?/.exec(text)?.[1])
    expect(names.filter(Boolean)).toEqual(['likely cause', 'record', 'console'])
  })

  it('does not tell of what happened before it', async () => {
    const error = cut()
    await explainFailure(error, failed(oom, nowNs - 2000e6, 'command'))
    expect(error.message).toBe('`make` was killed after its limit of 10 ms')
  })

  it('which the agent refused is explained by its errno, not by the console', async () => {
    const refused = new BoxError('ERR_BOX_REFUSED', '/tool: Exec format error', { errno: 8, consoleTail: 'tail' })
    await explainFailure(refused, failed(oom, nowNs, 'command', 'tail'))
    expect(refused.causeId).toBe('wrong-architecture')
    expect(refused.message).not.toContain('console:')
    const absent = new BoxError('ERR_BOX_REFUSED', '/tool: No such file or directory', { errno: 2 })
    await explainFailure(absent, failed(oom, nowNs, 'command'))
    expect(absent.message).toBe('/tool: No such file or directory')
    const memory = new BoxError('ERR_BOX_REFUSED', 'Cannot allocate memory', { errno: 12 })
    await explainFailure(memory, failed(oom, nowNs, 'command'))
    expect(memory.causeId).toBe('guest-oom')
  })

  it('keeps its output', async () => {
    const output = { stdout: () => Buffer.from('out'), stderr: () => Buffer.from('err') }
    const error = new ExecError({ code: 'ERR_BOX_EXEC_TIMEOUT', message: 'cut' }, output, {})
    await explainFailure(error, failed(oom, nowNs, 'command'))
    expect(error).toBeInstanceOf(ExecError)
    expect(error).toMatchObject({ causeId: 'guest-oom', stdout: Buffer.from('out'), stderr: Buffer.from('err') })
  })

  it('that ended with its box tells of the box', async () => {
    const error = new BoxError('ERR_BOX_PANIC', 'the guest panicked while waiting for `make` to end')
    await explainFailure(error, failed(panic, nowNs, 'command'))
    expect(error).toMatchObject({ causeId: 'guest-panic', stage: 'kernel', reproduce: 'qemu-system-x86_64 -m 512' })
  })
})
