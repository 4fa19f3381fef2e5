import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { sweep } from '../../src/sweep/index.ts'
import { CELL_VARIABLE, CellProcesses } from './cell-processes.ts'
import type { Cell } from './cells.ts'
import { layers, type Leftovers, leftovers, socketNames } from './leftovers.ts'
import { BLOCKED_VARIABLE, BOX_VARIABLE, type OwnedBox } from './owned-box.ts'
import { bootOf, lastMark, markReached } from './watch-record.ts'

/** What became of one cell. Times are in milliseconds from the blow. */
export interface CellResult {
  /** The last mark of the boot in the record after the death. */
  readonly reached: string
  /** Until no engine lived; absent when none was ever there. */
  readonly enginesGoneMs?: number
  /** Until no process of the cell lived: vitest, its workers, engines. Absent where the process is to live on. */
  readonly allGoneMs?: number
  /** Engines, and the owners of boxes, that were alive after the bound. */
  readonly late: number
  /** Engines that had ended and nobody had waited for yet: PID 1 has to, but for those of an owner that lives on. */
  readonly zombies: { readonly all: number; readonly ofOwner: number }
  readonly left: Leftovers
  readonly swept: Leftovers
  /** Engines that the sweep found alive and killed. */
  readonly killedBySweep: number
  /** Engines alive after the sweep. */
  readonly enginesAfterSweep: number
}

/** No engine and no owner may be alive so long after the blow. */
export const BOUND_MS = 1000
/** How long is watched for what comes late. */
const WATCH_MS = 6000
/** So long nothing may have lived before the watch ends. */
const QUIET_MS = 150
const LOOK_MS = 5

const vitest = fileURLToPath(new URL('vitest.mjs', import.meta.resolve('vitest/package.json')))
const project = fileURLToPath(new URL('project', import.meta.url))
const terminateOwner = fileURLToPath(new URL('terminate-owner.ts', import.meta.url))

/** Starts an owner, hits it at its step, watches the death, and sweeps. `images` is the folder of kernels to share. */
export async function runCell(cell: Cell, images: string): Promise<CellResult> {
  const scratch = mkdtempSync(join(tmpdir(), 'boxlab-kill-'))
  const [home, temp] = [join(scratch, 'home'), join(scratch, 'tmp')]
  mkdirSync(home)
  mkdirSync(temp)
  symlinkSync(images, join(home, 'images'))
  const processes = new CellProcesses(scratch)
  const sockets = socketNames()
  const owner = startOwner(cell, { home, temp, id: scratch })
  try {
    const isOver = (): string => endOf(owner) && `${endOf(owner)}\n${readFileSync(join(scratch, 'log'), 'utf8')}`
    const { mark, atLayer = false } = cell.step
    const and = (): boolean => !atLayer || layers(home, temp).length > 0
    const record = await markReached(home, { mark, and, isOver }, 60_000)
    if (cell.thread === 'blocked') await isBlocked(scratch)
    const death = await strikeAndWatch(cell, owner, bootOf(record)?.owner?.pid ?? 0, processes)
    const left = leftovers(home, temp, sockets)
    const zombies = processes.zombieEngines(owner.pid ?? 0)
    const reached = lastMark(record)
    const { swept } = await sweep(home)
    const killedBySweep = swept.flatMap(({ killedPids }) => killedPids).length
    const enginesAfterSweep = processes.alive().filter(({ isEngine }) => isEngine).length
    return { ...death, reached, zombies, left, swept: leftovers(home, temp, sockets), killedBySweep, enginesAfterSweep }
  } finally {
    await endAll(processes, owner)
    rmSync(scratch, { recursive: true, force: true })
  }
}

function startOwner({ pool, thread, step }: Cell, place: { home: string; temp: string; id: string }): ChildProcess {
  const box: OwnedBox = { options: step.box, ...(thread === 'blocked' && { blockAt: step.mark }) }
  const run = ['run', '--root', project, '--config', join(project, 'vitest.config.ts'), '--configLoader', 'native']
  const program = pool === 'worker' ? ['--conditions=@boxlab/source', terminateOwner] : [vitest, ...run, '--pool', pool]
  const log = openSync(join(place.home, '..', 'log'), 'w')
  const owner = spawn(process.execPath, program, {
    stdio: ['pipe', log, log],
    env: {
      ...process.env,
      BOXLAB_HOME: place.home,
      TMPDIR: place.temp,
      [CELL_VARIABLE]: place.id,
      [BOX_VARIABLE]: JSON.stringify(box),
      [BLOCKED_VARIABLE]: join(place.id, 'blocked'),
    },
  })
  closeSync(log)
  // It may be gone when it is written to.
  owner.stdin?.on('error', () => {})
  return owner
}

type Death = Pick<CellResult, 'enginesGoneMs' | 'allGoneMs' | 'late'>

async function strikeAndWatch(
  { blow, pool }: Cell,
  owner: ChildProcess,
  boxOwner: number,
  processes: CellProcesses,
): Promise<Death> {
  const livesOn = (pid: number): boolean => pool === 'worker' && pid === owner.pid
  let hadEngine = processes.alive().some(({ isEngine }) => isEngine)
  const blowMs = performance.now()
  if (blow === 'worker.terminate()') owner.stdin?.write('now\n')
  else if (blow === 'SIGKILL of the worker') process.kill(boxOwner, 'SIGKILL')
  else owner.kill(blow)
  let [engineMs, anyMs] = [0, 0]
  const late = new Set<number>()
  for (;;) {
    const nowMs = performance.now() - blowMs
    const alive = processes.alive().filter(({ pid }) => !livesOn(pid))
    // Who owns the box must go with it; what else of the test runner takes its time is its own affair.
    const bound = alive.filter(({ pid, isEngine }) => isEngine || pid === boxOwner)
    if (bound.some(({ isEngine }) => isEngine)) [engineMs, hadEngine] = [nowMs, true]
    if (alive.length > 0) anyMs = nowMs
    if (nowMs > BOUND_MS) for (const { pid } of bound) late.add(pid)
    if (nowMs - anyMs > QUIET_MS || nowMs > WATCH_MS) break
    await sleep(LOOK_MS)
  }
  return {
    ...(hadEngine && { enginesGoneMs: engineMs }),
    ...(pool !== 'worker' && { allGoneMs: anyMs }),
    late: late.size,
  }
}

/** The owner says so in a file right before its loop. */
async function isBlocked(scratch: string): Promise<void> {
  for (let tries = 0; !existsSync(join(scratch, 'blocked')); tries += 1) {
    if (tries > 5000) throw new Error('the thread of the owner did not block')
    await sleep(1)
  }
}

function endOf({ exitCode, signalCode }: ChildProcess): string {
  if (exitCode !== null) return `exit code ${exitCode}`
  return signalCode ?? ''
}

/** Ends what a cell has left; all of it was started by this cell. */
async function endAll(processes: CellProcesses, owner: ChildProcess): Promise<void> {
  owner.stdin?.end()
  for (let tries = 0; tries < 200; tries += 1) {
    const alive = processes.alive()
    if (alive.length === 0) return
    // An owner that lives on ends by itself with its input.
    if (tries > 40) for (const { pid } of alive) kill(pid)
    await sleep(10)
  }
  throw new Error('processes of a cell are alive 2 s after SIGKILL')
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
