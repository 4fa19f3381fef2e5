import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Duplex } from 'node:stream'
import {
  BoxError,
  type BoxState,
  Machine,
  type MarkLine,
  type RunningCommand,
  type Stopped,
  type SystemdManager,
  type Turn,
} from '@boxlab/native'
import { type BootedBy, bootedBy } from './booted-by.ts'
import { checkOptions } from './check-options.ts'
import {
  type ExecDefaults,
  type ExecOptions,
  execDefaults,
  type ExecResult,
  execCommand,
  plainReason,
  spawnCommand,
} from './exec.ts'
import { explainFailure } from './failure/explain-failure.ts'
import { type HostBefore, hostBefore } from './failure/host-memory.ts'
import { userNetworkHost } from './images/docker/neighbour.ts'
import type { RootImage } from './images/root-image.ts'
import { bootInTurn } from './ledger/index.ts'
import { type BoxMetrics, boxMetrics, networkBytes } from './metrics.ts'
import type { BoxOptions } from './options.ts'
import { newBoxId, planBoot, type Planned } from './plan.ts'
import { startEntrypoint } from './stage0/entrypoint.ts'
import { followJournal } from './stage0/journal.ts'
import { initReady } from './stage0/init-ready.ts'
import { systemdMarks } from './stage0/systemd-marks.ts'
import { verifyInGuest } from './stage0/verify.ts'
import { stateRoot } from './state-root.ts'
import { asideFolder, sweepSoon } from './sweep/index.ts'
import { strategyProblem, Wait, waitFor, type WaitStrategy } from './wait/index.ts'

/** Whether an error comes from before the engine: what was being made was given up. */
function machineless(thrown: unknown): boolean {
  return (thrown as { readonly code?: unknown }).code === 'ERR_IMAGE_ABORTED'
}

/** The bound of each file of a record, in MiB. */
const defaultMaxMib = 64

/** A box of this process has begun to boot. */
let bootedBefore = false

/** After these there is no guest to ask any more. */
const lostBy = new Set(['ERR_BOX_ENGINE_EXITED', 'ERR_BOX_PANIC', 'ERR_BOX_RESET', 'ERR_BOX_POWERED_OFF'])

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
  /** Whether this boot found things ready: a first one is another measurement than those that follow. */
  readonly warm?: {
    /** The image, the initramfs and the modules were in the cache. */
    readonly images: boolean
    /** Another box of this process booted before. */
    readonly process: boolean
  }
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
  #defaults: ExecDefaults
  #machine: Machine | undefined
  #planned: Planned | undefined
  #ended: 'stopped' | 'failed' | undefined
  #keep = false
  #held = false
  #booting: Promise<void> | undefined
  /** Ends the wait for a turn. */
  readonly #leaving: AbortController = new AbortController()
  #unlisten: () => void = () => {}
  #record: string | undefined
  #host: HostBefore | undefined
  /** Why it is of no use any more, and the test that saw it first. */
  /** The first error that its end made, with the evidence. */
  #end: Promise<unknown> | undefined
  #isLater = false
  readonly #systemdMarks = new Set<string>()
  #systemdBooted = true
  #lost: { readonly why: string; readonly test?: string | undefined } | undefined

  /** Checks the options: a refusal is a `BoxError` with `ERR_BOX_OPTIONS` that names the option. Starts nothing. */
  constructor(options: BoxOptions = {}) {
    checkOptions(options)
    this.options = options
    this.#defaults = execDefaults(options)
    const limit = ({ timeoutMs }: TransferOptions = {}): number => timeoutMs ?? this.#defaults.execMs
    this.files = {
      read: async (path, transfer) => this.#ask('command', (machine) => machine.readFile(path, limit(transfer))),
      write: async (path, content, transfer) => {
        const bytes = Buffer.from(content as string)
        const mode = transfer?.mode ?? 0o644
        await this.#ask('command', (machine) => machine.writeFile(path, bytes, mode, limit(transfer)))
      },
      copyIn: async (from, to, transfer) =>
        this.#ask('command', (machine) => machine.copyIn(resolve(from), to, limit(transfer))),
      copyOut: async (from, to, transfer) =>
        this.#ask('command', (machine) => machine.copyOut(from, resolve(to), limit(transfer))),
    }
  }

  /** The native handle; there from the start of the boot on. */
  get machine(): Machine {
    if (this.#machine) return this.#machine
    throw new BoxError('ERR_BOX_STATE', `the box is ${this.state}; it must boot first`)
  }

  get state(): BoxState {
    return this.#ended ?? this.#machine?.state ?? (this.#booting ? 'booting' : 'created')
  }

  /** The address at which the guest reaches this host's loopback: a port that a server here listens on. */
  get host(): string {
    const { devices, image } = this.options
    if ((devices?.net ?? (image ? 'user' : 'none')) === 'user') return userNetworkHost
    throw new BoxError(
      'ERR_BOX_STATE',
      "the box has no network, so its guest does not reach the host: set `devices.net: 'user'`",
    )
  }

  /** The folder of its record: written while the box lives, kept after it by `record.keep`. */
  get record(): string {
    if (this.#record !== undefined) return this.#record
    throw new BoxError('ERR_BOX_STATE', `the box is ${this.state}; it has a record once it boots`)
  }

  /**
   * Boots in turn with all boxes of this user on this host (`limitHost`), and resolves when the box is ready. On any error
   * nothing is left but the record.
   */
  async boot({ signal = this.options.signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<this> {
    if (this.state !== 'created') {
      throw new BoxError('ERR_BOX_STATE', `the box is ${this.state}; a box boots once, make a new one`)
    }
    // A runner shows where a stack begins: the caller's line tells more than ours.
    this.#booting = this.#bootInTurn(signal, new Error('asked here'))
    try {
      await this.#booting
    } catch (thrown) {
      const error = thrown as Error
      this.#lose(error instanceof BoxError ? error.summary : error.message)
      throw thrown
    }
    return this
  }

  async #bootInTurn(signal: AbortSignal | undefined, calledFrom: Error): Promise<void> {
    const { name, memoryMib = 512, cpus = 1, timeouts } = this.options
    const by = bootedBy(this)
    const claim = { want: 'box', id: this.id, label: name ?? by?.test ?? by?.file, memoryMib, cpus } as const
    const either = signal ? AbortSignal.any([signal, this.#leaving.signal]) : this.#leaving.signal
    const turn = { root: stateRoot(), signal: either, timeoutMs: timeouts?.turnMs ?? 600_000 }
    let began = false
    try {
      await bootInTurn(claim, turn, async (taken) => {
        began = true
        await this.#boot({ signal, either }, taken, by, calledFrom)
      })
    } catch (thrown) {
      if (began) throw thrown
      this.#ended ??= 'failed'
      if (this.#leaving.signal.aborted) throw new BoxError('ERR_BOX_KILLED', 'the box was stopped before it booted')
      if (!signal?.aborted) throw thrown
      const message = 'the box was not booted: its signal had aborted'
      throw new BoxError('ERR_BOX_ABORTED', message, {}, { cause: plainReason(signal) })
    }
  }

  async #boot(
    { signal, either }: { readonly signal: AbortSignal | undefined; readonly either: AbortSignal },
    turn: Turn,
    by: BootedBy | undefined,
    calledFrom: Error,
  ): Promise<void> {
    const startNs = process.hrtime.bigint()
    this.#isLater = bootedBefore
    bootedBefore = true
    const root = stateRoot()
    const { dir, keep = 'on-failure', maxMib = defaultMaxMib } = this.options.record ?? {}
    const recordDir = resolve(dir ?? join(root, 'records', this.id))
    const limitBytes = maxMib * 1024 * 1024
    const asideDir = asideFolder(root, this.id)
    const order = { id: this.id, name: this.options.name, recordDir, asideDir, startNs, keep, limitBytes, bootedBy: by }
    const machine = new Machine({ ...order, turn })
    this.#machine = machine
    this.#record = recordDir
    this.#host = hostBefore()
    // The signal goes on to kill the box after the boot: it is the box's, not the call's.
    const abort = (): void => machine.kill()
    signal?.addEventListener('abort', abort, { once: true })
    this.#unlisten = () => signal?.removeEventListener('abort', abort)
    try {
      this.#planned = await this.#plan(machine, root, either)
      this.#defaults = execDefaults(this.options, this.#planned.root?.config)
      await this.#reachReady(machine, this.#planned)
      machine.count('ready')
    } catch (thrown) {
      this.#keep = true
      const error = await this.#bootError(thrown, signal, calledFrom)
      await this.#settle()
      throw error
    } finally {
      sweepSoon(root)
    }
  }

  async #plan(machine: Machine, root: string, signal: AbortSignal): Promise<Planned> {
    try {
      return await planBoot(this.options, machine, root, signal)
    } catch (thrown) {
      const { code = 'ERR_BOX_PLAN', message } = thrown as { code?: string; message: string }
      await machine.giveUp(code, message)
      throw thrown
    }
  }

  /** The runtime sees marks and texts of the console itself; any other strategy is followed from here. */
  async #reachReady(machine: Machine, { plan, root }: Planned): Promise<void> {
    const untilMs = performance.now() + plan.limits.bootMs
    await machine.boot(plan)
    const { waitFor: strategy, record: { journal = false, maxMib = defaultMaxMib } = {} } = this.options
    if (root?.hasInit && journal) void followJournal(machine, this.record, maxMib * 1024 * 1024)
    try {
      const timeoutMs = Math.max(1, Math.round(untilMs - performance.now()))
      const context = { machine, record: this.record, defaults: this.#defaults, timeoutMs }
      if (this.options.run === 'entrypoint') await this.#runEntrypoint(machine, root, context)
      else if (plan.ready === undefined) {
        machine.becomeReady((await (strategy ? waitFor(strategy, context) : initReady(context))).atNs)
      }
      if (!plan.agent) return
      await verifyInGuest(machine, this.options)
      if (root?.hasInit) this.#systemdBooted = await systemdMarks(machine, this.#systemdMarks)
    } catch (thrown) {
      const { code, summary } = thrown as BoxError
      await machine.giveUp(code, summary)
      throw thrown
    }
  }

  /** The image's process runs, and what is waited for comes before it fails. */
  async #runEntrypoint(
    machine: Machine,
    root: RootImage | undefined,
    context: Parameters<typeof waitFor>[1],
  ): Promise<void> {
    if (!root || root.hasInit) {
      const why = root ? 'it has an init, which runs what it is told to' : 'a bare box has none'
      throw new BoxError('ERR_BOX_OPTIONS', `\`run: 'entrypoint'\` needs an image without an init: ${why}`)
    }
    const limitBytes = (this.options.record?.maxMib ?? defaultMaxMib) * 1024 * 1024
    const { failed } = await startEntrypoint(machine, root, { ...context, limitBytes })
    const strategy = this.options.waitFor ?? Wait.forMark('process-ready')
    machine.becomeReady((await Promise.race([waitFor(strategy, context), failed])).atNs)
    failed.catch((error: BoxError) => this.#lose(error.summary))
  }

  async #bootError(thrown: unknown, signal: AbortSignal | undefined, calledFrom: Error): Promise<unknown> {
    const { options, record } = this
    const about = { doing: 'boot', machine: this.#machine, record, options, host: this.#host, calledFrom } as const
    if (this.#leaving.signal.aborted && !signal?.aborted && machineless(thrown)) {
      return explainFailure(new BoxError('ERR_BOX_KILLED', 'the box was killed while waiting for its plan'), about)
    }
    if (!signal?.aborted) return explainFailure(thrown, about)
    const [message, details] =
      thrown instanceof BoxError ? [thrown.summary, thrown.details()] : ['the boot was aborted', {}]
    const cause = { cause: plainReason(signal) }
    return explainFailure(new BoxError('ERR_BOX_ABORTED', `aborted by its signal: ${message}`, details, cause), about)
  }

  #lose(why: string): void {
    this.#lost ??= { why, test: bootedBy()?.test }
  }

  /** Asks the guest something. Of a box that was lost the first call has the whole story, and the others name it. */
  async #ask<T>(doing: 'wait' | 'command', call: (machine: Machine) => Promise<T>): Promise<T> {
    if (this.#lost) {
      const { why, test } = this.#lost
      const seen = test === undefined ? '' : ` (seen first in '${test}')`
      const details = { ...(this.#record !== undefined && { record: this.#record }) }
      throw new BoxError('ERR_BOX_STATE', `the box is of no use any more: ${why}${seen}`, details)
    }
    const { machine, options } = this
    const beganNs = process.hrtime.bigint()
    const calledFrom = new Error('asked here')
    try {
      return await call(machine)
    } catch (thrown) {
      const about = { doing, machine, record: this.#record, options, host: this.#host, beganNs, calledFrom }
      if (!(thrown instanceof BoxError) || !lostBy.has(thrown.code)) throw await explainFailure(thrown, about)
      // Many calls may wait for one box when it ends: its evidence is gathered once, so that each hears of it at once.
      const first = this.#end === undefined
      this.#end ??= explainFailure(thrown, about)
      const end = await this.#end
      this.#lose(thrown.summary)
      throw first || !(end instanceof BoxError) ? end : thrown.explain(end.details(), 'box')
    }
  }

  /** Runs a command to its end. A non-zero exit is a result, not an error. */
  async exec(argv: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    return this.#ask('command', (machine) => execCommand(machine, argv, options, this.#defaults))
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
    return this.#ask('command', (machine) => spawnCommand(machine, argv, options, this.#defaults))
  }

  /** Connects to a TCP port on the guest's loopback, within `timeoutMs`. */
  async dial(port: number, { timeoutMs = this.#defaults.execMs }: TransferOptions = {}): Promise<Duplex> {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new BoxError('ERR_BOX_OPTIONS', `\`dial\` takes a port from 1 to 65535, not ${port}`)
    }
    return this.#ask('command', (machine) => machine.dial(port, timeoutMs))
  }

  /**
   * Waits for a strategy made by `Wait`; gives the mark of the part that decided, with its time. Default bound 60 s. The
   * error of a wait that ends otherwise tells what was seen.
   */
  async waitFor(
    strategy: WaitStrategy,
    { timeoutMs = 60_000, signal }: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<MarkLine> {
    const problem = strategyProblem(strategy)
    if (problem !== undefined) throw new BoxError('ERR_BOX_OPTIONS', problem)
    const { record } = this
    const watched = this.#planned?.plan.ready
    const context = { record, watched, defaults: this.#defaults, timeoutMs, signal }
    return this.#ask('wait', (machine) => waitFor(strategy, { machine, ...context }))
  }

  /** How systemd of the guest stands: its state, the units that failed, the jobs in its queue. */
  async systemd(): Promise<SystemdManager> {
    return this.#ask('command', async (machine) => {
      const watch = await machine.watchManager()
      try {
        return await watch.next()
      } finally {
        watch.end()
      }
    })
  }

  /**
   * Bytes that the guest's network cards, all but its loopback, have sent and received, as its kernel counts them
   * (/proc/net/dev).
   */
  async networkBytes(): Promise<{ readonly sent: number; readonly received: number }> {
    const text = (await this.files.read('/proc/net/dev')).toString()
    return networkBytes(text)
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
      ...(plan && { warm: { images: plan.imagesCached, process: this.#isLater } }),
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

  /** The record stays beyond the end of the box until `releaseRecord`: whether it is wanted may be known only then. */
  holdRecord(): void {
    this.#held = true
  }

  /** Ends what `holdRecord` began: the record of a box that has ended goes now, where the policy says so. */
  async releaseRecord(): Promise<void> {
    this.#held = false
    if (this.state === 'stopped' || this.state === 'failed') await this.#settle()
  }

  /**
   * Stops it, gently first and in bounded steps; resolves when its process is gone. In any state, any number of times.
   * Rejects with ERR_BOX_RECORD, after all of that, when its record has a hole.
   */
  async stop(): Promise<Stopped> {
    this.#leaving.abort()
    const machine = this.#machine
    if (!machine) {
      await this.#booting?.catch(() => {})
      this.#ended ??= 'stopped'
      return { by: 'none' }
    }
    const ran = machine.state === 'running'
    if (ran && !this.#systemdBooted) await systemdMarks(machine, this.#systemdMarks)
    if (ran) machine.count('stop-begin')
    const stopped = await machine.stop()
    // A boot that this ended has the record's last word; its error is its caller's.
    await this.#booting?.catch(() => {})
    if (ran && stopped.recordProblem !== undefined) this.#keep = true
    await this.#settle()
    if (ran && stopped.recordProblem !== undefined) {
      throw new BoxError('ERR_BOX_RECORD', `${stopped.recordProblem}; the box has stopped`, { record: this.record })
    }
    return stopped
  }

  /** Kills it at once; its process is gone when this returns. In any state, any number of times. */
  kill(): void {
    this.#leaving.abort()
    if (this.#machine) this.#machine.kill()
    else if (!this.#booting) this.#ended ??= 'stopped'
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
    if (this.#record === undefined || this.#held || keep === 'always' || (keep === 'on-failure' && failed)) return
    await rm(this.#record, { recursive: true, force: true })
  }
}
