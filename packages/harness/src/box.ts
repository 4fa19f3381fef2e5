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
import { BoxProbes, recordLimitBytes } from './box-probes.ts'
import { type BoxInfo, boxInfo } from './box-info.ts'
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
import { type BoxFiles, guestFiles, type TransferOptions } from './guest-files.ts'
import { userNetworkHost } from './images/docker/neighbour.ts'
import { bootInTurn } from './ledger/index.ts'
import { type BoxMetrics, boxMetrics, networkBytes } from './metrics.ts'
import type { BoxOptions } from './options.ts'
import { newBoxId, planBoot, type Planned } from './plan.ts'
import { reachReady } from './reach-ready.ts'
import type { SystemdMarks } from './stage0/systemd-marks.ts'
import { recordLastWords } from './systemd/record-texts.ts'
import { stateRoot } from './state-root.ts'
import { asideFolder, sweepSoon } from './sweep/index.ts'
import { strategyProblem, waitFor, type WaitStrategy } from './wait/index.ts'

/** Whether an error comes from before the engine: what was being made was given up. */
function machineless(thrown: unknown): boolean {
  return (thrown as { readonly code?: unknown }).code === 'ERR_IMAGE_ABORTED'
}

/** A box of this process has begun to boot. */
let bootedBefore = false

/** After these there is no guest to ask any more. */
const lostBy = new Set([
  'ERR_BOX_ENGINE_EXITED',
  'ERR_BOX_PANIC',
  'ERR_BOX_RESET',
  'ERR_BOX_POWERED_OFF',
  'ERR_BOX_SHARE',
])

/**
 * One VM, from its options to its removal. It is made without effects (`created`), boots once (`booting`, `running`), and
 * ends `stopped` or `failed`. Every method that needs another state than the box has says so.
 */
export class Box extends BoxProbes implements AsyncDisposable {
  readonly id: string = newBoxId()
  readonly options: BoxOptions
  readonly files: BoxFiles
  protected defaults: ExecDefaults
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
  #systemd: SystemdMarks | undefined
  #isLater = false
  /** The first error that its end made, with the evidence. */
  #end: Promise<unknown> | undefined
  /** Why it is of no use any more, and the test that saw it first. */
  #lost: { readonly why: string; readonly test?: string | undefined } | undefined

  /** Checks the options: a refusal is a `BoxError` with `ERR_BOX_OPTIONS` that names the option. Starts nothing. */
  constructor(options: BoxOptions = {}) {
    super()
    checkOptions(options)
    this.options = options
    this.defaults = execDefaults(options)
    this.files = guestFiles(
      (call) => this.ask('command', call),
      () => this.defaults.execMs,
    )
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
    const { dir, keep = 'on-failure' } = this.options.record ?? {}
    const recordDir = resolve(dir ?? join(root, 'records', this.id))
    const limitBytes = recordLimitBytes(this.options)
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
      this.defaults = execDefaults(this.options, this.#planned.root?.config)
      const boot = { machine, planned: this.#planned, options: this.options, record: recordDir, limitBytes }
      const { systemd, entrypoint } = await reachReady({ ...boot, defaults: this.defaults })
      this.#systemd = systemd
      entrypoint?.catch((error: BoxError) => this.#lose(error.summary))
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
  protected override async ask<T>(doing: 'wait' | 'command', call: (machine: Machine) => Promise<T>): Promise<T> {
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
    return this.ask('command', (machine) => execCommand(machine, argv, options, this.defaults))
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
    return this.ask('command', (machine) => spawnCommand(machine, argv, options, this.defaults))
  }

  /** Connects to a TCP port on the guest's loopback, within `timeoutMs`. */
  async dial(port: number, { timeoutMs = this.defaults.execMs }: TransferOptions = {}): Promise<Duplex> {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new BoxError('ERR_BOX_OPTIONS', `\`dial\` takes a port from 1 to 65535, not ${port}`)
    }
    return this.ask('command', (machine) => machine.dial(port, timeoutMs))
  }

  /**
   * Waits for a strategy made by `Wait`; gives the mark of the part that decided, with its time. Default bound 60 s. The
   * error of a wait that ends otherwise tells what was seen.
   */
  async waitFor(
    strategy: WaitStrategy,
    { timeoutMs = 60_000, signal }: { readonly timeoutMs?: number; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<MarkLine> {
    const problem = strategyProblem(strategy)
    if (problem !== undefined) throw new BoxError('ERR_BOX_OPTIONS', problem)
    const { record } = this
    const watched = this.#planned?.watched
    const context = { record, watched, defaults: this.defaults, timeoutMs, signal }
    return this.ask('wait', (machine) => waitFor(strategy, { machine, ...context }))
  }

  /** How systemd of the guest stands: its state, the units that failed, the jobs in its queue. */
  async systemd(): Promise<SystemdManager> {
    return this.ask('command', async (machine) => {
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
    const { id, state, options } = this
    return boxInfo(
      { id, state, name: options.name, record: this.#record, isLater: this.#isLater },
      this.#machine,
      this.#planned,
    )
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
    if (ran && this.#systemd?.isComplete === false) await this.#systemd.read()
    if (ran && this.#systemd)
      await recordLastWords(machine, this.record, recordLimitBytes(this.options), this.options.record)
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
