import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BoxError, type BoxState, type Machine } from '@boxlab/native'
import {
  type ExitsResult,
  graph,
  type GraphResult,
  type InitcallsOptions,
  type InitcallsResult,
  jobs,
  type JobsOptions,
  type JobsResult,
  type MmioResult,
  type NamedInput,
  type SshFirst,
  waits,
  type WaitsOptions,
  type WaitsResult,
} from '@boxlab/probes'
import type { BoxInfo } from './box-info.ts'
import type { ExecDefaults } from './exec.ts'
import { recordTrace, traceInputs } from './graph/tracefs.ts'
import { readInitcalls, recordedKernelLog, recordKernelLog } from './initcalls/kernel-log.ts'
import type { BoxOptions } from './options.ts'
import { readExits } from './reports/record-exits.ts'
import { readMmio, traceFiles } from './reports/record-mmio.ts'
import { readSshFirst } from './reports/record-ssh-first.ts'
import { type SshFirstOptions, sshFirstOrder } from './ssh/options.ts'
import { recordLogins } from './ssh/ssh-first.ts'
import { promptOfRecord, recordText, recordUnits, type SystemdFile, systemdInputs } from './systemd/record-texts.ts'

/** The bound of each file of a record, in bytes. */
export function recordLimitBytes({ record }: BoxOptions): number {
  return (record?.maxMib ?? 64) * 1024 * 1024
}

/** How long a running guest's systemd may take to answer, in milliseconds. Default 60 000. */
export interface SystemdCall {
  readonly timeoutMs?: number
}

/** How the kernel's log is asked for and read. */
export interface InitcallsCall extends Omit<InitcallsOptions, 'file'> {
  /** How long a running guest may take to answer, in milliseconds. Default 60 000. */
  readonly timeoutMs?: number
}

/** What a box says of its own boot: each method gets what is missing into the record while there is a guest, and reads it. */
export abstract class BoxProbes {
  abstract readonly options: BoxOptions
  abstract get state(): BoxState
  abstract get record(): string
  abstract info(): BoxInfo
  protected abstract defaults: ExecDefaults
  protected abstract ask<T>(doing: 'command', call: (machine: Machine) => Promise<T>): Promise<T>

  /**
   * What the boot waited for on the way to a target, by what systemd says of its units. A running guest is asked once the
   * first time; of a box that has ended its record is read. Rejects with ERR_BOX_STATE where that has nothing.
   */
  async waits(options: WaitsOptions & SystemdCall = {}): Promise<WaitsResult> {
    const inputs = await this.#systemdTexts(['units'], options)
    return waits(inputs, { console: promptOfRecord(this.record), ...options })
  }

  /**
   * What PID 1's job queue did, from the recording that `record: { jobs: true }` makes. A running guest is asked for what has
   * come so far; of a box that has ended its record is read. Rejects where nothing was recorded.
   */
  async jobs(options: JobsOptions & SystemdCall = {}): Promise<JobsResult> {
    return jobs(await this.#systemdTexts(['jobs', 'units'], options), options)
  }

  /**
   * How often the guest left to the hypervisor, by kind and phase, from KVM's counters that `record: { counters: true }`
   * reads at the marks of the boot. A running box is asked for those of now too; of a box that has ended its record is read.
   * Under TCG, or where none were recorded, the result says why there are none. Rejects with ERR_BOX_STATE where the record is
   * gone.
   */
  async exits(): Promise<ExitsResult> {
    const { record, state, options } = this
    const counted = options.record?.counters && this.info().accelerator?.proved === 'kvm'
    if (counted && state === 'running') {
      try {
        await this.ask('command', (machine) => machine.countKvm())
      } catch (thrown) {
        // A QEMU without query-stats: the record has its words.
        if ((thrown as Partial<BoxError>).code !== 'ERR_BOX_QMP' || readExits(record).found) throw thrown
      }
    }
    if (state !== 'running' && !existsSync(record)) {
      const remedy = "ask while it runs, or boot it with `record: { counters: true, keep: 'always' }`"
      throw new BoxError('ERR_BOX_STATE', `the box is ${state} and its record is gone: ${remedy}`)
    }
    return readExits(record)
  }

  /**
   * The functions of the guest's function_graph trace, such as of a boot with `cmdline: bootTraceCmdline({ filter:
   * ['acpi_init'] })`. A running guest is asked by its shell, as root, and tracing rests meanwhile; of a box that has ended its
   * record is read. Where there is no function the result says why. Rejects where nobody asked.
   */
  async graph({ timeoutMs = 60_000 }: { readonly timeoutMs?: number } = {}): Promise<GraphResult> {
    const { record } = this
    const call = { timeoutMs, limitBytes: recordLimitBytes(this.options) }
    if (this.state === 'running') {
      await this.ask('command', (machine) => recordTrace(machine, record, call, this.defaults))
    }
    const inputs = traceInputs(record)
    if (inputs.length > 0) return graph(inputs)
    const remedy = "ask while it runs, with `record: { keep: 'always' }` to read it later"
    throw new BoxError('ERR_BOX_STATE', `the box is ${this.state} and its record has no trace: ${remedy}`)
  }

  /**
   * Whose the guest's accesses to devices are, from the trace that `record: { trace: true }` makes: so far, of a box that runs.
   * Rejects with ERR_BOX_STATE where the record has none.
   */
  async mmio(): Promise<MmioResult> {
    const { record, state } = this
    if (existsSync(join(record, traceFiles.trace))) return readMmio([record])
    const remedy = "boot it with `record: { trace: true, keep: 'always' }`, and a QEMU with the log backend"
    throw new BoxError('ERR_BOX_STATE', `the box is ${state} and its record has no trace: ${remedy}`)
  }

  /** Gets texts of systemd's into the record where the guest can be asked, and gives what the record has. */
  async #systemdTexts(files: readonly SystemdFile[], { timeoutMs = 60_000 }: SystemdCall): Promise<NamedInput[]> {
    const { record, options } = this
    const bounds = { limitMs: timeoutMs, limitBytes: recordLimitBytes(options) }
    if (this.state === 'running') {
      await this.ask('command', async (machine) => {
        if (files.includes('jobs')) await recordText(machine, record, 'jobs', bounds)
        await recordUnits(machine, record, bounds)
      })
    }
    const inputs = systemdInputs(record, files)
    if (inputs.length > 0) return inputs
    const remedy = "ask while it runs, or boot it with `record: { waits: true, keep: 'always' }`"
    throw new BoxError('ERR_BOX_STATE', `the box is ${this.state} and its record has nothing of systemd: ${remedy}`)
  }

  /**
   * The kernel's own boot, call by call, from a box with `record: { initcalls: true }`. A running guest is asked for its
   * kernel's log, so that modules that were loaded since are in it; of a box that has ended its record is read. Rejects with
   * ERR_BOX_STATE where that is gone or has none.
   */
  async initcalls({ timeoutMs = 60_000, ...options }: InitcallsCall = {}): Promise<InitcallsResult> {
    const { record } = this
    const bounds = { limitMs: timeoutMs, limitBytes: recordLimitBytes(this.options) }
    if (this.state === 'running' && (this.options.boot ?? 'direct') === 'direct') {
      await this.ask('command', async (machine) => recordKernelLog(machine, record, bounds))
    }
    if (recordedKernelLog(record) !== undefined) return readInitcalls(record, options)
    const remedy = "ask while it runs, or boot it with `record: { initcalls: true, keep: 'always' }`"
    throw new BoxError('ERR_BOX_STATE', `the box is ${this.state} and its record has no kernel log: ${remedy}`)
  }

  /**
   * Logs in over SSH, through the agent's connection to the guest's loopback: when the port accepts, what each step of a
   * login takes, what the second one costs. Called while the guest still boots (`waitFor: Wait.forMark('agent-ready')`) it
   * waits for the port. A login that is refused is a result, with its cause. With `record: { jobs: true }` each login has the
   * jobs that PID 1 created meanwhile. Needs the package ssh2.
   */
  async sshFirst(options: SshFirstOptions = {}): Promise<SshFirst> {
    const order = sshFirstOrder(options)
    const {
      record,
      options: { record: recorded },
    } = this
    const bounds = { limitMs: 60_000, limitBytes: recordLimitBytes(this.options) }
    const ssh = await this.ask('command', async (machine) => {
      const text = await recordLogins(machine, record, order)
      if (recorded?.jobs === true) await recordText(machine, record, 'jobs', bounds)
      return text
    })
    // What was written just now begins with its call, so there is an answer.
    return readSshFirst(record, { ssh }) as SshFirst
  }
}
