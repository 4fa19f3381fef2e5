import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BootedEngine, BootSample } from './boxed-boot.ts'
import { findMarker } from './find-marker.ts'
import { ownCpuMs, processCost } from './process-cost.ts'

/** How long the reader sleeps between two looks at the console's file. */
export const POLL_MS = 1
/** Looks between two checks that the engine still lives. */
const LOOKS_A_CHECK = 100
const LIMIT_MS = 120_000

/**
 * The command line of a box as somebody without a harness would start it: the virtual CPUs run at once, the console
 * goes into a file, nobody is at the monitor. Each device stays; the agent's port has a socket pair that nobody writes to.
 */
export function plainArguments(argv: readonly string[], consoleFile: string): string[] {
  const pipe = argv.indexOf('-add-fd')
  const replaced = argv
    .filter((argument, index) => argument !== '-S' && (pipe < 0 || index < pipe || index > pipe + 1))
    .map((argument) =>
      argument
        .replace(/^socket,id=qmp,fd=\d+$/, 'null,id=qmp')
        .replace(/^file,id=console,path=.*$/, `file,id=console,path=${consoleFile}`)
        .replace(/^socket,id=agent,fd=\d+$/, 'socket,id=agent,fd=3'),
    )
  const left = replaced.find((argument) => /fd=(?!3$)/.test(argument))
  if (left !== undefined) throw new Error(`the plain arm does not know the channel \`${left}\``)
  return replaced
}

/** Starts the engine and waits for the marker in the console's file. The engine is gone when this resolves. */
export async function plainBoot({ binary, argv }: BootedEngine, marker: string): Promise<BootSample> {
  const folder = mkdtempSync(join(tmpdir(), 'boxlab-bench-'))
  const consoleFile = join(folder, 'console')
  closeSync(openSync(consoleFile, 'w'))
  const log = openSync(join(folder, 'log'), 'w')
  const args = plainArguments(argv, consoleFile)
  const cpu = process.cpuUsage()
  const spawnNs = process.hrtime.bigint()
  const child = spawn(binary, args, { cwd: folder, stdio: ['ignore', log, log, 'pipe'] })
  const bury = (): void => void child.kill('SIGKILL')
  process.once('exit', bury)
  try {
    waitForMarker(child, consoleFile, marker, () => readFileSync(join(folder, 'log'), 'utf8'))
    const readyMs = Number(process.hrtime.bigint() - spawnNs) / 1e6
    return { markerMs: readyMs, readyMs, engine: processCost(child.pid ?? 0), harnessCpuMs: ownCpuMs(cpu) }
  } finally {
    const gone = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined
    bury()
    await gone
    process.removeListener('exit', bury)
    closeSync(log)
    rmSync(folder, { recursive: true })
  }
}

const bell = new Int32Array(new SharedArrayBuffer(4))

/**
 * The small reader: a tail that looks once a millisecond. It blocks its thread: a timer of the event loop would be
 * less exact, and a file watch would be woken for each byte of the emulated serial port.
 */
function waitForMarker(child: ChildProcess, path: string, marker: string, words: () => string): void {
  const file = openSync(path, 'r')
  const piece = Buffer.alloc(64 * 1024)
  let seen = Buffer.alloc(0)
  try {
    const deadline = performance.now() + LIMIT_MS
    for (let looks = 1; performance.now() < deadline; looks += 1) {
      const length = readSync(file, piece, 0, piece.length, null)
      if (length > 0) {
        // Only the end can complete the marker.
        seen = Buffer.concat([seen.subarray(-marker.length), piece.subarray(0, length)])
        if (findMarker(seen, marker) !== undefined) return
      } else if (looks % LOOKS_A_CHECK === 0 && isOver(child)) break
      Atomics.wait(bell, 0, 0, POLL_MS)
    }
  } finally {
    closeSync(file)
  }
  throw new Error(`the plain engine did not print \`${marker}\`: ${words().trim() || 'it said nothing'}`)
}

/** Node learns of an exit only in its event loop, which is blocked here: the kernel tells a zombie (proc(5)). */
function isOver(child: ChildProcess): boolean {
  if (child.pid === undefined) return true
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${child.pid}/stat`, 'latin1'))
  } catch {
    return true
  }
}
