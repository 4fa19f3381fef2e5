import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Duplex } from 'node:stream'
import { BoxError, type BoxState, Machine, type MarkLine, type RunningCommand, type Stopped } from '@boxlab/native'
import { checkOptions } from './check-options.ts'
import { type ExecDefaults, type ExecOptions, type ExecResult, execCommand, plainReason, spawnCommand } from './exec.ts'
import { type BoxMetrics, boxMetrics } from './metrics.ts'
import type { BoxOptions } from './options.ts'
import { newBoxId, planBoot, type Planned } from './plan.ts'
import { explainFailure } from './boot-failure.ts'
import { bootTurn } from './boot-turn.ts'
import { stateRoot } from './state-root.ts'
import { markOf, type WaitStrategy } from './wait.ts'

/** What is known of a box without asking its guest. */
export interface BoxInfo {
  readonly id: string
  readonly name?: string
  readonly state: BoxState
  /** The folder of its record; absent before it boots. */
  readonly record?: string
  /** Its engine's process id while it runs. */
  readonly pid?: number
  /** The accelerator that was decided on and why; absent before the plan is made. */
  readonly accelerator?: {
    readonly asked: string
    readonly planned: 'kvm' | 'tcg'
    readonly proved?: string
    readonly reason: string
  }
  /** What was left out of the initramfs and why. */
  readonly notes: readonly string[]
}

/** A limit for a transfer. */
export interface TransferOptions {
  /** In milliseconds. Default: the box's `timeouts.execMs`. */
  readonly timeoutMs?: number
}

/** Files of the guest. Paths in the guest are absolute. */
export interface BoxFiles {
  /** The whole content of a file. */
  read(path: string, options?: TransferOptions): Promise<Buffer>
  /** Writes a file; missing folders above it are made. `mode` are its permission bits, default 0o644. */
  write(
    path: string,
    content: string | Uint8Array,
    options?: TransferOptions & { readonly mode?: number },
  ): Promise<void>
  /** Copies a file or folder of the host's to the path `to` in the guest. */
  copyIn(from: string, to: string, options?: TransferOptions): Promise<void>
  /** Copies a file or folder of the guest's to the path `to` on the host. */
  copyOut(from: string, to: string, options?: TransferOptions): Promise<void>
}

/**
 * One VM, from its options to its removal. It is made without effects (`created`), boots once (`booting`, `running`), and
 * ends `stopped` or `failed`. Every method that needs another state than the box has says so.
 */
export class Box implements AsyncDisposable {
  readonly id: string = newBoxId()
  readonly options: BoxOptions
  readonly files: BoxFiles
  readonly #defaults: ExecDefaults
  #machine: Machine | undefined
  #planned: Planned | undefined
  #ended: 'stopped' | 'failed' | undefined
  #keep = false
  #booting: Promise<void> | undefined
  #unlisten: () => void = () => {}
  #record: string | undefined

  /** Checks the options: a refusal is a `BoxError` with `ERR_BOX_OPTIONS` that names the option. Starts nothing. */
  constructor(options: BoxOptions = {}) {
    checkOptions(options)
    this.options = options
    this.#defaults = {
      env: options.env ?? {},
      execMs: options.timeouts?.execMs ?? 60_000,
      ...(options.user !== undefined && { user: options.user }),
      ...(options.workdir !== undefined && { workdir: options.workdir }),
    }
    const limit = ({ timeoutMs }: TransferOptions = {}): number => timeoutMs ?? this.#defaults.execMs
    this.files = {
      read: async (path, transfer) => this.machine.readFile(path, limit(transfer)),
      write: async (path, content, transfer) => {
        await this.machine.writeFile(path, Buffer.from(content as string), transfer?.mode ?? 0o644, limit(transfer))
      },
      copyIn: async (from, to, transfer) => this.machine.copyIn(resolve(from), to, limit(transfer)),
      copyOut: async (from, to, transfer) => this.machine.copyOut(from, resolve(to), limit(transfer)),
    }
  }

  /** The native handle; there from the start of the boot on. */
  get machine(): Machine {
    if (this.#machine) return this.#machine
    throw new BoxError('ERR_BOX_STATE', `the box is ${this.state}; it must boot first`)
  }

  get state(): BoxState {
    return this.#ended ?? this.#machine?.state ?? 'created'
  }

  /** The folder of its record: written while the box lives, kept after it by `record.keep`. */
  get record(): string {
    if (this.#record !== undefined) return this.#record
    throw new BoxError('ERR_BOX_STATE', `the box is ${this.state}; it has a record once it boots`)
  }

  /** Boots, and resolves when the box is ready. On any error nothing is left but the record. */
  async boot({ signal = this.options.signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<this> {
    if (this.state !== 'created' || this.#machine) {
      throw new BoxError('ERR_BOX_STATE', `the box is ${this.state}; a box boots once, make a new one`)
    }
    if (this.#booting) throw new BoxError('ERR_BOX_STATE', 'the box waits for its turn to boot; a box boots once')
    this.#booting = bootTurn(() => this.#boot(signal))
    await this.#booting
    return this
  }

  async #boot(signal: AbortSignal | undefined): Promise<void> {
    if (this.#ended) throw new BoxError('ERR_BOX_KILLED', 'the box was stopped before it booted')
    if (signal?.aborted) {
      this.#ended = 'failed'
      throw new BoxError(
        'ERR_BOX_ABORTED',
        'the box was not booted: its signal had aborted',
        {},
        { cause: plainReason(signal) },
      )
    }
    const startNs = process.hrtime.bigint()
    const root = stateRoot()
    const recordDir = resolve(this.options.record?.dir ?? join(root, 'records', this.id))
    const machine = new Machine({ id: this.id, name: this.options.name, recordDir, startNs })
    this.#machine = machine
    this.#record = recordDir
    // The signal goes on to kill the box after the boot: it is the box's, not the call's.
    const abort = (): void => machine.kill()
    signal?.addEventListener('abort', abort, { once: true })
    this.#unlisten = () => signal?.removeEventListener('abort', abort)
    try {
      this.#planned = await this.#plan(machine, root, signal)
      await machine.boot(this.#planned.plan)
      machine.count('ready')
    } catch (thrown) {
      this.#keep = true
      const error = this.#bootError(thrown, signal)
      await this.#settle()
      throw error
    }
  }

  async #plan(machine: Machine, root: string, signal: AbortSignal | undefined): Promise<Planned> {
    try {
      return await planBoot(this.options, machine, root, signal)
    } catch (thrown) {
      const { code = 'ERR_BOX_PLAN', message } = thrown as { code?: string; message: string }
      machine.noteFailure(code, message)
      throw thrown
    }
  }

  #bootError(thrown: unknown, signal: AbortSignal | undefined): unknown {
    if (!signal?.aborted) {
      if (!(thrown instanceof BoxError)) return thrown
      const { accelerator } = this.info()
      return explainFailure(thrown, { record: this.record, memoryMib: this.#planned?.plan.memoryMib, accelerator })
    }
    const message = thrown instanceof BoxError ? thrown.summary : 'the boot was aborted'
    const details = { ...(this.#record !== undefined && { record: this.#record }) }
    return new BoxError('ERR_BOX_ABORTED', `aborted by its signal: ${message}`, details, { cause: plainReason(signal) })
  }

  /** Runs a command to its end. A non-zero exit is a result, not an error. */
  async exec(argv: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    return execCommand(this.machine, argv, options, this.#defaults)
  }

  /** Runs a line of the guest's `/bin/sh`. */
  async shell(line: string, options: ExecOptions = {}): Promise<ExecResult> {
    return this.exec(['/bin/sh', '-c', line], options)
  }

  /** Starts a command and gives its streams. */
  async spawn(
    argv: readonly string[],
    options: Omit<ExecOptions, 'stdin' | 'maxOutputBytes'> = {},
  ): Promise<RunningCommand> {
    return spawnCommand(this.machine, argv, options, this.#defaults)
  }

  /** Connects to a TCP port on the guest's loopback, within `timeoutMs`. */
  async dial(port: number, { timeoutMs = this.#defaults.execMs }: TransferOptions = {}): Promise<Duplex> {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new BoxError('ERR_BOX_OPTIONS', `\`dial\` takes a port from 1 to 65535, not ${port}`)
    }
    return this.machine.dial(port, timeoutMs)
  }

  /** Waits for a mark; it races with the end of the box. Default bound 60 s. */
  async waitFor(
    strategy: WaitStrategy,
    { timeoutMs = 60_000 }: { readonly timeoutMs?: number } = {},
  ): Promise<MarkLine> {
    if (strategy.kind === 'console' && markOf(strategy) !== this.#planned?.plan.ready) {
      throw new BoxError(
        'ERR_BOX_OPTIONS',
        'a console text can be waited for only as the `waitFor` of the box, so that it is looked for from the first byte on',
      )
    }
    return this.machine.waitMark(markOf(strategy), timeoutMs)
  }

  /** Its marks in the order in which they were set. */
  marks(): MarkLine[] {
    return this.#machine?.marks() ?? []
  }

  /** Numbers about it. Looks only. */
  metrics(): BoxMetrics {
    return this.#machine ? boxMetrics(this.#machine) : { commandsExecutedTotal: 0, execErrorsTotal: 0 }
  }

  /** Facts about it. Looks only. */
  info(): BoxInfo {
    const machine = this.#machine
    const plan = this.#planned
    const file = machine?.bootFile()['accelerator'] as { proved?: string } | undefined
    return {
      id: this.id,
      ...(this.options.name !== undefined && { name: this.options.name }),
      state: this.state,
      ...(this.#record !== undefined && { record: this.#record }),
      ...(machine?.pid !== undefined && { pid: machine.pid }),
      ...(plan && {
        accelerator: {
          asked: plan.plan.engine.asked,
          planned: plan.plan.engine.accel,
          ...(file?.proved !== undefined && { proved: file.proved }),
          reason: plan.plan.engine.reason,
        },
      }),
      notes: plan?.notes ?? [],
    }
  }

  /** Both fingerprints with their parts, from the record; absent until the engine has told its part. */
  fingerprint(): unknown {
    return this.#machine?.bootFile()['fingerprints']
  }

  /** The record stays, whatever `record.keep` says for a box that did well: something about this one failed. */
  keepRecord(): void {
    this.#keep = true
  }

  /** Stops it, gently first and in bounded steps; resolves when its process is gone. In any state, any number of times. */
  async stop(): Promise<Stopped> {
    const machine = this.#machine
    if (!machine) {
      this.#ended ??= 'stopped'
      return { by: 'none' }
    }
    if (machine.state === 'running') machine.count('stop-begin')
    const stopped = await machine.stop()
    // A boot that this ended has the record's last word; its error is its caller's.
    await this.#booting?.catch(() => {})
    await this.#settle()
    return stopped
  }

  /** Kills it at once; its process is gone when this returns. In any state, any number of times. */
  kill(): void {
    if (this.#machine) this.#machine.kill()
    else this.#ended ??= 'stopped'
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** The box is gone: lets go of the signal, and removes the record where the policy says so. */
  async #settle(): Promise<void> {
    this.#unlisten()
    if (this.#machine?.state === 'created') this.#ended ??= 'stopped'
    const keep = this.options.record?.keep ?? 'on-failure'
    const failed = this.#keep || this.state === 'failed'
    if (this.#record === undefined || keep === 'always' || (keep === 'on-failure' && failed)) return
    await rm(this.#record, { recursive: true, force: true })
  }
}
