import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { Box, bootBox, runningBoxes, Wait } from '../src/index.ts'
import { bootDisk } from './fixtures/boot-sector.ts'
import { alive, processLine } from './fixtures/processes.ts'

const scratch = mkdtempSync(join(tmpdir(), 'boxlab-ends-'))
afterAll(() => rmSync(scratch, { recursive: true }))
const disk = join(scratch, 'boot.img')
writeFileSync(disk, bootDisk('hello from the boot sector\r\n', 10))
const firmware = { boot: 'firmware', accel: 'tcg', disks: [{ path: disk }], waitFor: Wait.forConsole('done') } as const

describe('the end of a box', () => {
  test('`await using` stops it, and its record goes with it unless kept', async () => {
    let record: string
    let pid: number
    {
      await using box = await bootBox(firmware)
      record = box.record
      pid = box.info().pid ?? 0
      expect(alive(pid)).toBe(true)
      expect(existsSync(join(record, 'marks.jsonl'))).toBe(true)
    }
    expect(alive(pid)).toBe(false)
    expect(existsSync(record)).toBe(false)
    const kept = await bootBox({ ...firmware, record: { keep: 'always', dir: join(scratch, 'kept') } })
    await kept.stop()
    expect(readdirSync(kept.record)).toContain('boot.json')
  })

  test('a Linux box is powered off by its agent, again and again without harm', async () => {
    const box = await bootBox({ record: { keep: 'always', dir: join(scratch, 'linux') } })
    expect(await box.stop()).toEqual({ by: 'agent', exit: { code: 0 } })
    expect(box.state).toBe('stopped')
    expect(await box.stop()).toEqual({ by: 'none', exit: { code: 0 } })
    box.kill()
    expect(JSON.parse(readFileSync(join(box.record, 'boot.json'), 'utf8'))).toMatchObject({
      outcome: 'stopped',
      exit: { code: 0 },
    })
    await expect(box.exec(['true'])).rejects.toMatchObject({ code: 'ERR_BOX_STATE' })
    await expect(box.boot()).rejects.toThrow('a box boots once')
  })

  test('a kill is synchronous: neither a process nor a zombie is left when it returns, and the box is stopped', async () => {
    const box = await bootBox(firmware)
    const pid = box.info().pid ?? 0
    box.kill()
    expect(processLine(pid)).toBeUndefined()
    expect(box.state).toBe('stopped')
    await box.stop()
    expect(box.state).toBe('stopped')
  })

  test('an abort ends a boot at once and says why', async () => {
    const abort = new AbortController()
    const boot = bootBox({ signal: abort.signal })
    setTimeout(() => abort.abort(new Error('enough')), 400)
    const began = performance.now()
    await expect(boot).rejects.toMatchObject({
      code: 'ERR_BOX_ABORTED',
      cause: expect.objectContaining({ message: 'enough' }) as Error,
    })
    expect(performance.now() - began).toBeLessThan(5000)
    expect(runningBoxes()).toEqual([])
    await expect(bootBox({ signal: abort.signal })).rejects.toMatchObject({ code: 'ERR_BOX_ABORTED' })
  })

  test('`stop` during a boot resolves when the engine is gone, and the boot fails', async () => {
    const box = new Box({ timeouts: { bootMs: 30_000 } })
    const boot = box.boot().catch((error: unknown) => error)
    await expect
      .poll(() => box.marks().some(({ mark }) => mark === 'vm-start'), { timeout: 20_000, interval: 5 })
      .toBe(true)
    const pid = box.info().pid ?? 0
    await box.stop()
    expect(alive(pid)).toBe(false)
    expect(await boot).toMatchObject({ code: 'ERR_BOX_KILLED' })
    expect(box.state).toBe('failed')
  })

  test('a guest panic is an error of its own with the oops, and the record is kept', async () => {
    const error = await bootBox({ cmdline: 'rdinit=/nothing root=/dev/none' }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ name: 'BoxError', code: 'ERR_BOX_PANIC' })
    const { message, record } = error as Error & { record: string }
    expect(message).toMatch(/^the guest panicked while waiting for `agent-ready`: \[.*\] Kernel panic - not syncing: /)
    expect(message).toContain(`record: ${record}`)
    expect(message).toMatch(/^ {2}likely cause: .*root/m)
    expect(readFileSync(join(record, 'console.bin'), 'utf8').includes('Call Trace:')).toBe(true)
    expect(JSON.parse(readFileSync(join(record, 'boot.json'), 'utf8'))).toMatchObject({
      outcome: 'failed',
      error: { code: 'ERR_BOX_PANIC' },
    })
    rmSync(record, { recursive: true })
  })

  test('a guest that powers itself off under a command ends the command', async () => {
    const box = await bootBox()
    await expect(box.shell('poweroff -f')).rejects.toMatchObject({ code: 'ERR_BOX_POWERED_OFF' })
    await box.stop()
  })
})

test('no more boxes boot at once than the host has CPUs, and all of them boot', async () => {
  const count = availableParallelism() + 2
  const boxes = await Promise.all(Array.from({ length: count }, () => bootBox(firmware)))
  const edges = boxes.flatMap((box) => {
    const at = (id: string): number => box.marks().find(({ mark }) => mark === id)?.atNs ?? Number.NaN
    return [
      { atNs: at('start'), step: 1 },
      { atNs: at('ready'), step: -1 },
    ]
  })
  let booting = 0
  let most = 0
  for (const { step } of edges.toSorted((one, other) => one.atNs - other.atNs || one.step - other.step)) {
    booting += step
    most = Math.max(most, booting)
  }
  await Promise.all(boxes.map((box) => box.stop()))
  expect(most).toBeLessThanOrEqual(availableParallelism())
  expect(runningBoxes()).toEqual([])
})

describe('the end of the owner leaves no engine', () => {
  const owner = fileURLToPath(new URL('fixtures/owner.ts', import.meta.url))

  /** Starts a process that boots a box in the given way, and gives the engine's pid. */
  async function start(...args: readonly string[]): Promise<{ pid: number; owner: ReturnType<typeof spawn> }> {
    const child = spawn(process.execPath, ['-C', '@boxlab/source', owner, disk, ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const pid = await new Promise<number>((resolve, reject) => {
      child.stdout.once('data', (line: Buffer) => resolve(Number(line.toString())))
      child.once('exit', (code) => reject(new Error(`the owner ended with ${code}`)))
    })
    return { pid, owner: child }
  }

  test.for<[way: string, signal: NodeJS.Signals | undefined]>([
    ['idle', 'SIGKILL'],
    ['idle', 'SIGTERM'],
    ['idle', 'SIGINT'],
    ['blocked', 'SIGKILL'],
    ['exit', undefined],
    ['throw', undefined],
    ['worker-exit', undefined],
    ['worker-terminate', undefined],
  ])('%s, ended by %s', async ([way, signal]) => {
    const { pid, owner: child } = await start(way)
    expect(alive(pid)).toBe(true)
    if (signal) child.kill(signal)
    else child.stdin?.end('go')
    await expect.poll(() => alive(pid), { timeout: 1500, interval: 10 }).toBe(false)
    child.kill('SIGKILL')
  })
})
