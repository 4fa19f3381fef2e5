import type { Duplex } from 'node:stream'
import type { NativeBox } from './binding.ts'
import { type EngineExit, toBoxError, typed } from './errors.ts'
import { type ExecRequest, type RunningCommand, runningCommand } from './exec.ts'
import type { Turn } from './ledger.ts'
import { native } from './loader.ts'
import type { BootPlan } from './plan.ts'
import { duplex } from './stream.ts'
import { type SystemdManager, type SystemdText, type SystemdUnit, Watch } from './systemd.ts'

/** The states of a box. */
export type BoxState = 'created' | 'booting' | 'running' | 'stopped' | 'failed'

/** One line of marks.jsonl. */
export interface MarkLine {
  readonly mark: string
  readonly source: 'runtime' | 'harness' | 'console' | 'qmp' | 'agent' | 'systemd'
  readonly clock: 'host' | 'guest'
  /** Nanoseconds of that clock. */
  readonly atNs: number
  readonly errorNs?: number
  readonly detail?: unknown
}

/** What an engine's process has used. */
export interface Usage {
  /** Processor time of all its threads, in milliseconds. */
  readonly cpuMs: number
  /** The part in which KVM ran guest code, in milliseconds; 0 under TCG. */
  readonly guestMs: number
  /** Resident memory in bytes. */
  readonly memoryBytes: number
  /** Processor time over wall time since its start, in percent of one CPU. */
  readonly cpuPercent: number
}

/** What is asked for: a box that has not been planned yet. */
export interface BoxOrder {
  readonly id: string
  readonly name?: string | undefined
  readonly recordDir: string
  /** A folder, not there yet, for what the engine puts aside while it runs; removed at its end. */
  readonly asideDir: string
  /** When the box was asked for, on the host's monotonic clock in nanoseconds. */
  readonly startNs: bigint
  /** When its record stays: kept in the record, for who sweeps it. */
  readonly keep: 'always' | 'on-failure' | 'never'
  /** The most that each file of the record may have, in bytes. */
  readonly limitBytes: number
  /** The test that asked for it. */
  readonly bootedBy?: { readonly file: string; readonly test?: string } | undefined
  /** Its place in the ledger, which it leaves when its engine is gone. */
  readonly turn?: Turn
}

/** What the guest's kernel tells of a file. */
export interface FileFacts {
  /** Bytes. */
  readonly size: number
  /** Permission bits. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
}

/** How a box was stopped. */
export interface Stopped {
  /** The step that ended the engine; `none` where none ran any more. */
  readonly by: 'none' | 'agent' | 'acpi' | 'quit' | 'kill'
  readonly exit?: EngineExit
  /** What of the record could not be written, as a sentence. */
  readonly recordProblem?: string
}

/** One exchange of clocks, in nanoseconds. */
export interface ClockSample {
  readonly hostSendNs: number
  readonly guestNs: number
  readonly hostRecvNs: number
}

/** The typed handle of one box of the runtime. Every method that fails throws a `BoxError`. */
export class Machine {
  readonly #native: NativeBox

  /** Makes the record folder, which must not hold a record yet. */
  constructor({ turn, startNs, ...order }: BoxOrder) {
    const { NativeBox } = native()
    const json = JSON.stringify({ ...order, startedAt: new Date().toISOString() })
    try {
      this.#native = new NativeBox(json, startNs, turn?.native ?? null)
    } catch (thrown) {
      throw toBoxError(thrown)
    }
  }

  /** Sets a mark of the harness's, at this instant or at a host time in nanoseconds. */
  mark(mark: string, atNs: bigint = process.hrtime.bigint()): void {
    this.#native.mark(mark, atNs)
  }

  /** Boots the plan; resolves when the box is ready. On any error no process is left when this rejects. */
  async boot(plan: BootPlan): Promise<void> {
    await typed(this.#native.boot(JSON.stringify(plan)))
  }

  /** Stops it, gently first; resolves when its process is gone. In any state, any number of times. */
  async stop(): Promise<Stopped> {
    return JSON.parse(await typed(this.#native.stop())) as Stopped
  }

  /** Kills it at once; its process is gone when this returns. In any state, any number of times. */
  kill(): void {
    this.#native.kill()
  }

  /** The box is ready, of a plan that names no mark for that. */
  becomeReady(atNs: number): void {
    this.#native.becomeReady(BigInt(atNs))
  }

  /** Ends the box because its boot failed in the harness; resolves when its process is gone and the record says why. */
  async giveUp(code: string, message: string): Promise<void> {
    await typed(this.#native.giveUp(code, message))
  }

  get state(): BoxState {
    return this.#native.state() as BoxState
  }

  /** Its engine's process id while it runs. */
  get pid(): number | undefined {
    return this.#native.pid() ?? undefined
  }

  /** Its marks from an index on, in the order in which they were set. */
  marks(since = 0): MarkLine[] {
    return JSON.parse(this.#native.marks(since)) as MarkLine[]
  }

  /** boot.json as it stands. */
  bootFile(): Record<string, unknown> {
    return JSON.parse(this.#native.bootJson()) as Record<string, unknown>
  }

  /** The last lines of the console. */
  consoleTail(): string {
    return this.#native.consoleTail()
  }

  /** What its engine's process has used; absent when none runs. */
  usage(): Usage | undefined {
    const json = this.#native.usage()
    return json === null ? undefined : (JSON.parse(json) as Usage)
  }

  /** Keeps what its engine's process has used in counters.jsonl. */
  count(mark?: string): void {
    this.#native.count(mark)
  }

  /** Reads KVM's counters of a box that runs under kvm with `counters` in its plan; resolves when they are in counters.jsonl. */
  async countKvm(): Promise<void> {
    await typed(this.#native.countKvm())
  }

  /** The machine's memory map, as `info mtree -f -o` prints it, and the JSON of query-pci, `null` on a machine without PCI. */
  async memoryMap(): Promise<{ readonly mtree: string; readonly pci: string }> {
    const [mtree = '', pci = 'null'] = await typed(this.#native.memoryMap())
    return { mtree, pci }
  }

  /** How many commands ran, and how many of them failed to run or were cut short. */
  commands(): { readonly executed: number; readonly errors: number } {
    const [executed, errors] = this.#native.commands()
    return { executed, errors }
  }

  /** Waits for a mark, at most `timeoutMs`. */
  async waitMark(mark: string, timeoutMs: number): Promise<MarkLine> {
    return JSON.parse(await typed(this.#native.waitMark(mark, timeoutMs))) as MarkLine
  }

  /** Resolves when there are more marks than `index`, or after `timeoutMs`. */
  async waitBeyond(index: number, timeoutMs: number): Promise<void> {
    await typed(this.#native.waitBeyond(index, timeoutMs))
  }

  /** How many bytes of the console are in the record. */
  consoleLength(): number {
    return this.#native.consoleLength()
  }

  /** Resolves with that number when it is more than `length`, at most after `timeoutMs`. */
  async waitConsole(length: number, timeoutMs: number): Promise<number> {
    return typed(this.#native.waitConsole(length, timeoutMs))
  }

  /** Resolves with how the engine ended, once it did. Keeps the process alive while it waits. */
  async waitExit(): Promise<EngineExit> {
    return JSON.parse(await typed(this.#native.waitExit())) as EngineExit
  }

  /** Starts a command; resolves when it runs. */
  async exec(request: ExecRequest): Promise<RunningCommand> {
    return runningCommand(await typed(this.#native.exec(JSON.stringify(request))))
  }

  /** What is at a path of the guest, through symbolic links; of any kind. */
  async stat(path: string, limitMs: number): Promise<FileFacts> {
    return JSON.parse(await typed(this.#native.stat(path, limitMs))) as FileFacts
  }

  /** Reads a file of the guest. `limitMs` bounds this and the other transfers. */
  async readFile(path: string, limitMs: number): Promise<Buffer> {
    return typed(this.#native.readFile(path, limitMs))
  }

  /** Writes a file of the guest; missing folders above it are made. */
  async writeFile(path: string, bytes: Buffer, mode: number, limitMs: number): Promise<void> {
    await typed(this.#native.writeFile(path, bytes, mode, limitMs))
  }

  /** Copies a file or folder of the host's into the guest, under the path `to`. */
  async copyIn(from: string, to: string, limitMs: number): Promise<void> {
    await typed(this.#native.copyIn(from, to, limitMs))
  }

  /** Copies a file or folder of the guest's to the host, under the path `to`. */
  async copyOut(from: string, to: string, limitMs: number): Promise<void> {
    await typed(this.#native.copyOut(from, to, limitMs))
  }

  /** Connects to a TCP port on the guest's loopback. */
  async dial(port: number, limitMs: number): Promise<Duplex> {
    return duplex(await typed(this.#native.dial(port, limitMs)))
  }

  /** All properties of a unit of systemd's, or of its manager. */
  async systemdProperties(unit: string | undefined, limitMs: number): Promise<Record<string, unknown>> {
    return JSON.parse(await typed(this.#native.systemdProperties(unit ?? null, limitMs))) as Record<string, unknown>
  }

  /** A text about systemd, as a person at the guest's shell would get it; nothing of the image's runs for it. */
  async systemdText(what: SystemdText, limitMs: number): Promise<Buffer> {
    return typed(this.#native.systemdText(what, limitMs))
  }

  /** Follows a unit of systemd's. */
  async watchUnit(name: string): Promise<Watch<SystemdUnit>> {
    return new Watch(await typed(this.#native.systemdWatch(name)))
  }

  /** Follows systemd's manager. */
  async watchManager(): Promise<Watch<SystemdManager>> {
    return new Watch(await typed(this.#native.systemdWatch(null)))
  }

  /** Sets a mark by one of systemd's own stamps, in µs of the guest's CLOCK_MONOTONIC. */
  systemdMark(mark: string, atUs: number): void {
    this.#native.systemdMark(mark, BigInt(atUs))
  }

  /** Asks the agent for the guest's clock, `count` times. */
  async pings(count: number): Promise<ClockSample[]> {
    return JSON.parse(await typed(this.#native.pings(count))) as ClockSample[]
  }
}
