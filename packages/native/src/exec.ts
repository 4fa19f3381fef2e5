import { constants } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import type { NativeExec } from './binding.ts'
import { typed } from './errors.ts'
import { readable, writable } from './stream.ts'

/** A command as the runtime takes it (`crates/runtime/src/exec.rs`). */
export interface ExecRequest {
  readonly argv: readonly string[]
  readonly env?: readonly (readonly [name: string, value: string])[]
  readonly cwd?: string
  readonly user?: string
  readonly pty?: { readonly rows: number; readonly cols: number }
  /** The command's process group is killed after this time, in milliseconds. */
  readonly timeoutMs: number
}

/** How a command ended. Exactly one of `exitCode` and `signal` is there. */
export interface ExecExit {
  readonly exitCode?: number
  /** The signal's name, for example `SIGKILL`. */
  readonly signal?: string
  /** From spawn to exit on the guest's clock, in milliseconds. */
  readonly durationMs: number
  /** A process that it left behind still held an output stream, which was closed all the same. */
  readonly outputHeld: boolean
}

/** A command that runs in the guest. */
export interface RunningCommand {
  /** Its process id in the guest, also its process group. */
  readonly pid: number
  readonly stdin: Writable
  /** All its output where it has a terminal. */
  readonly stdout: Readable
  /** Absent with a terminal. */
  readonly stderr?: Readable
  /** Resolves when it has ended. Rejects with a `BoxError` when it was cut short or the box ended. */
  wait(): Promise<ExecExit>
  /** Sends a signal to its process group. */
  signal(name: NodeJS.Signals): void
  /** Tells its terminal a new size. */
  resize(size: { readonly rows: number; readonly cols: number }): void
  /** Kills its process group; `wait()` then rejects with `ERR_BOX_EXEC_ABORTED`. */
  kill(): void
}

interface ExitJson {
  readonly code: number | null
  readonly signal: number | null
  readonly tookNs: number
  readonly outputHeld: boolean
}

/** The name of a signal's number on this system (guests of the same architecture have the same numbers). */
export function signalName(number: number): string {
  const known = Object.entries(constants.signals).find(([, value]) => value === number)
  return known?.[0] ?? `signal ${number}`
}

/** Makes a handle of a running command. */
export function runningCommand(native: NativeExec): RunningCommand {
  const stderr = native.stderr()
  return {
    pid: native.pid,
    stdin: writable(native.stdin()),
    stdout: readable(native.stdout()),
    ...(stderr && { stderr: readable(stderr) }),
    async wait() {
      const exit = JSON.parse(await typed(native.wait())) as ExitJson
      return {
        ...(exit.code !== null && { exitCode: exit.code }),
        ...(exit.signal !== null && { signal: signalName(exit.signal) }),
        durationMs: exit.tookNs / 1e6,
        outputHeld: exit.outputHeld,
      }
    },
    signal: (name) => native.signal(constants.signals[name]),
    resize: ({ rows, cols }) => native.resize(rows, cols),
    kill: () => native.kill(),
  }
}
