import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ledgerEntries } from '@boxlab/native'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Box, bootBox, limitHost, Wait } from '../../src/index.ts'
import { bootDisk } from '../fixtures/boot-sector.ts'

let home: string
let disk: string
let before: string | undefined
const children: ChildProcess[] = []

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'boxlab-ledger-'))
  disk = join(home, 'disk', 'boot.img')
  mkdirSync(join(home, 'disk'))
  writeFileSync(disk, bootDisk('hello\r\n', 10))
  before = process.env['BOXLAB_HOME']
  process.env['BOXLAB_HOME'] = home
})

afterEach(() => {
  limitHost({})
  for (const child of children.splice(0)) child.kill('SIGKILL')
  if (before === undefined) delete process.env['BOXLAB_HOME']
  else process.env['BOXLAB_HOME'] = before
  rmSync(home, { recursive: true, maxRetries: 5 })
})

interface Report {
  readonly boxes: readonly { readonly fromNs: number; readonly toNs: number }[]
  readonly beganNs: number
  readonly endedNs: number
}

const booter = fileURLToPath(new URL('booter.ts', import.meta.url))

function start(
  environment: Readonly<Record<string, string>>,
  ...args: readonly string[]
): { child: ChildProcess; said: () => string; report: Promise<Report> } {
  const child = spawn(process.execPath, ['-C', '@boxlab/source', booter, disk, ...args], {
    env: { ...process.env, ...environment, BOXLAB_HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  let [out, said] = ['', '']
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()))
  child.stderr.on('data', (bytes: Buffer) => (said += bytes.toString()))
  const report = new Promise<Report>((resolve, reject) => {
    child.once('close', (code) => {
      if (code === 0) resolve(JSON.parse(out.trim().split('\n').at(-1) ?? '') as Report)
      else reject(new Error(`the booter ended with ${code}: ${said}`))
    })
  })
  report.catch(() => {})
  return { child, said: () => said, report }
}

/** How many boxes there were at once, at most. */
function mostAtOnce(reports: readonly Report[]): number {
  const edges = reports.flatMap(({ boxes }) =>
    boxes.flatMap(({ fromNs, toNs }) => [
      { atNs: fromNs, step: 1 },
      { atNs: toNs, step: -1 },
    ]),
  )
  let [now, most] = [0, 0]
  for (const { step } of edges.toSorted((one, other) => one.atNs - other.atNs || one.step - other.step)) {
    now += step
    most = Math.max(most, now)
  }
  return most
}

const firmware = {
  boot: 'firmware',
  accel: 'tcg',
  waitFor: Wait.forConsole('done'),
  record: { keep: 'never' },
} as const
const options = (memoryMib = 64) => ({ ...firmware, disks: [{ path: disk }], memoryMib })

describe('all processes of a user share the host', () => {
  test('eight boxes of two processes keep inside a small memory, wait in turn, and all finish', async () => {
    const environment = { BOXLAB_MAX_MEMORY_MIB: '200' }
    const runs = [start(environment, '4'), start(environment, '4')]
    const reports = await Promise.all(runs.map(({ report }) => report))
    expect(reports.map(({ boxes }) => boxes.length)).toEqual([4, 4])
    expect(mostAtOnce(reports)).toBe(3)
    expect(ledgerEntries(join(home, 'ledger'))).toEqual([])
    expect(readdirSync(join(home, 'ledger'))).toEqual(['ledger.lock'])
  })

  test('a number of boxes is a bound too', async () => {
    const environment = { BOXLAB_MAX_BOXES: '1' }
    const runs = [start(environment, '3'), start(environment, '2')]
    expect(mostAtOnce(await Promise.all(runs.map(({ report }) => report)))).toBe(1)
  })

  test('who waits long is told for whom, and gets the place of a process that is killed', async () => {
    const holder = start({ BOXLAB_MAX_BOXES: '1' }, '1', '64', 'hold')
    await expect.poll(() => ledgerEntries(join(home, 'ledger'))[0]?.stand, { timeout: 20_000 }).toBe('running')
    const waiter = start({ BOXLAB_MAX_BOXES: '1' }, '1')
    await expect
      .poll(waiter.said, { timeout: 20_000 })
      .toMatch(
        new RegExp(
          `^boxlab: b\\w+ waits for a place among 1, held by b\\w+ \\(64 MiB, process ${holder.child.pid}\\)\n`,
        ),
      )
    holder.child.kill('SIGKILL')
    expect((await waiter.report).boxes).toHaveLength(1)
  })

  test('one that wants the host alone gets it between the others, and they go on after it', async () => {
    const first = start({}, '2')
    await expect.poll(() => ledgerEntries(join(home, 'ledger')).length, { timeout: 20_000 }).toBe(2)
    const lane = start({}, '2', '64', 'alone')
    await expect
      .poll(() => ledgerEntries(join(home, 'ledger')).some(({ want }) => want === 'exclusive'), { timeout: 20_000 })
      .toBe(true)
    const last = start({}, '2')
    const [one, alone, other] = await Promise.all([first.report, lane.report, last.report])
    for (const { fromNs, toNs } of [...one.boxes, ...other.boxes]) {
      expect(toNs < alone.beganNs || fromNs > alone.endedNs, 'nobody else’s box while the host is taken').toBe(true)
    }
    expect(alone.boxes).toHaveLength(2)
  })
})

describe('a box that waits for its turn', () => {
  test('gives up at its bound and says what it waited for', async () => {
    limitHost({ maxMemoryMib: 100 })
    await using box = await bootBox({ ...options(), name: 'the first' })
    const late = bootBox({ ...options(), name: 'the second', timeouts: { turnMs: 200 } })
    await expect(late).rejects.toMatchObject({
      code: 'ERR_BOX_TURN',
      message: expect.stringMatching(
        /^the turn to boot did not come within 200 ms: b\w+ \(the second\) waits for memory \(64 of 100 MiB are held by the first \(64 MiB, process \d+\)\); all of that is of this process: stop boxes/,
      ) as string,
    })
    expect(box.state).toBe('running')
  })

  test('is ended by its signal and by `stop`, at once', async () => {
    limitHost({ maxBoxes: 1 })
    await using first = await bootBox(options())
    const began = performance.now()
    const aborted = bootBox({ ...options(), signal: AbortSignal.timeout(100) })
    await expect(aborted).rejects.toMatchObject({ code: 'ERR_BOX_ABORTED' })
    const box = new Box(options())
    const boot = box.boot().catch((error: unknown) => error)
    expect(box.state).toBe('booting')
    expect(await box.stop()).toEqual({ by: 'none' })
    expect(await boot).toMatchObject({ code: 'ERR_BOX_KILLED', message: 'the box was stopped before it booted' })
    expect(performance.now() - began).toBeLessThan(3000)
    expect(ledgerEntries(join(home, 'ledger')).map(({ id }) => id)).toEqual([first.id])
  })

  test('and can never have it is refused by its option', async () => {
    limitHost({ maxMemoryMib: 100 })
    await expect(bootBox(options(101))).rejects.toMatchObject({
      code: 'ERR_BOX_OPTIONS',
      message:
        '`memoryMib` asks for 101 MiB, and all boxes of this host together may have 100: ask for less, or raise BOXLAB_MAX_MEMORY_MIB',
    })
  })

  test('has its place until its engine is gone, however it ends', async () => {
    limitHost({ maxBoxes: 1 })
    const entries = (): number => ledgerEntries(join(home, 'ledger')).length
    const killed = await bootBox(options())
    killed.kill()
    expect(entries()).toBe(0)
    const lost = await bootBox(options())
    process.kill(lost.info().pid ?? 0, 'SIGKILL')
    await expect.poll(entries).toBe(0)
    await expect(bootBox({ ...options(), engine: '/bin/false' })).rejects.toMatchObject({
      code: 'ERR_BOX_ENGINE_EXITED',
    })
    await expect(bootBox({ ...options(), record: { dir: '/dev/null/x' } })).rejects.toMatchObject({
      code: 'ERR_BOX_RECORD',
    })
    expect(entries()).toBe(0)
    await lost.stop()
  })

  test('does not keep others from booting once it is ready', async () => {
    const boxes: Box[] = []
    for (let index = 0; index <= availableParallelism(); index += 1) boxes.push(await bootBox(options()))
    expect(ledgerEntries(join(home, 'ledger')).map(({ stand }) => stand)).toEqual(boxes.map(() => 'running'))
    await Promise.all(boxes.map((box) => box.stop()))
  })
})
