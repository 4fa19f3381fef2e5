import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { type BoxEntry, listBoxes } from '../../src/sweep/index.ts'
import { engineCandidates } from '../../src/sweep/processes.ts'
import { bootDisk } from '../fixtures/boot-sector.ts'
import type { TaskMeta } from './projects/meta.ts'

/** A test of vitest's JSON report. */
export interface ReportedTest {
  readonly fullName: string
  readonly status: 'passed' | 'failed' | 'skipped' | 'pending' | 'todo'
  readonly meta: TaskMeta
}

/** How vitest ended on one of the projects. */
export interface Ran {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Of both streams. */
  readonly output: string
  /** By their names from the outermost `describe` on, joined with a blank. */
  readonly tests: ReadonlyMap<string, ReportedTest>
  /** From the end of the last test file to the exit of the process; NaN where no file ended. */
  readonly exitMs: number
}

/** How to run it. */
export interface RunOptions {
  readonly args?: readonly string[]
  /** A state root to share with another run. Default: one of its own. */
  readonly home?: string
  /** Runs it on a terminal of its own, by script of util-linux. Default false. */
  readonly onTerminal?: boolean
}

/** vitest on one of the projects, as a process of its own. */
export interface Running {
  readonly child: ChildProcess
  /** The folder that the run writes to. */
  readonly out: string
  readonly ended: Promise<Ran>
  /** Resolves when the output has the text so many times. */
  printed(text: string, times?: number): Promise<void>
  /** The engines of this run that are alive. */
  engines(): number[]
  /** Its boxes that have a record. */
  boxes(): BoxEntry[]
}

const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
const scratch = mkdtempSync(join(tmpdir(), 'boxlab-traps-'))
const children: ChildProcess[] = []
afterAll(() => {
  // Only what a failed test left still runs; a process that has ended is not signalled.
  for (const child of children) child.kill('SIGKILL')
  rmSync(scratch, { recursive: true })
})

/** Runs vitest to its end. Whatever its tests did: it is gone within a second of them, and no engine is left. */
export async function runVitest(project: string, options: RunOptions = {}): Promise<Ran & Running> {
  const running = startVitest(project, options)
  const ran = await running.ended
  expect(running.engines()).toEqual([])
  expect(ran.exitMs).toBeLessThan(1000)
  return { ...running, ...ran }
}

/** How each test ended. */
export function statuses({ tests }: Ran): Record<string, string> {
  return Object.fromEntries([...tests.values()].map(({ fullName, status }) => [fullName, status]))
}

/** Starts vitest on a project below `projects/`. */
export function startVitest(project: string, { args = ['run'], home, onTerminal = false }: RunOptions = {}): Running {
  const out = join(scratch, `${project}-${children.length}`)
  mkdirSync(out)
  const disk = join(out, 'boot.img')
  writeFileSync(disk, bootDisk('hello from the boot sector\r\n', 10))
  const root = home ?? join(out, 'home')
  const folder = join(import.meta.dirname, 'projects', project)
  const command = [process.execPath, vitest, ...args, '--root', folder]
  const quoted = command.map((word) => `'${word}'`).join(' ')
  const [file = '', ...rest] = onTerminal ? ['script', '-qec', `exec ${quoted}`, '/dev/null'] : command
  // This process is a worker of a vitest itself: none of its variables may reach the other one.
  const own = Object.entries(process.env).filter(([name]) => !/^(VITEST|CI$|TEST$|NODE_ENV$|FORCE_COLOR$)/.test(name))
  const env = { ...Object.fromEntries(own), NO_COLOR: '1', TRAP_OUT: out, TRAP_DISK: disk, BOXLAB_HOME: root }
  const child = spawn(file, rest, { stdio: ['pipe', 'pipe', 'pipe'], env })
  children.push(child)
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
  const exited = once(child, 'exit').then(() => Date.now())
  const ended = once(child, 'close').then(async ([code, signal]): Promise<Ran> => {
    const endedAt = join(out, 'ended')
    const endedMs = existsSync(endedAt) ? Number(readFileSync(endedAt, 'utf8')) : Number.NaN
    return { code, signal, output, tests: readReport(join(out, 'report.json')), exitMs: (await exited) - endedMs }
  })
  return {
    child,
    out,
    ended,
    async printed(text, times = 1) {
      while (output.split(text).length <= times) {
        const more = once(child.stdout, 'data').then(() => true)
        if (!(await Promise.race([more, ended.then(() => false)])))
          throw new Error(`it ended without "${text}":\n${output}`)
      }
    },
    engines: () =>
      engineCandidates().flatMap(({ pid, argv }) => (argv.some((word) => word.includes(disk)) ? [pid] : [])),
    boxes: () => listBoxes(root, { all: true }),
  }
}

function readReport(path: string): Ran['tests'] {
  if (!existsSync(path)) return new Map()
  const { testResults } = JSON.parse(readFileSync(path, 'utf8')) as {
    readonly testResults: readonly { readonly assertionResults: readonly ReportedTest[] }[]
  }
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults)
  return new Map(tests.map((test) => [test.fullName, test]))
}
