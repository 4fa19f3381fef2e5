import type { NativeWatch } from './binding.ts'
import { typed } from './errors.ts'

/** A unit's state in systemd's words; times in µs of the guest's CLOCK_MONOTONIC, 0 for never (`crates/protocol`). */
export interface SystemdUnit {
  /** Its own name, whatever alias was asked for. */
  readonly id: string
  readonly loadState: string
  readonly activeState: string
  readonly subState: string
  /** `Type` of a service. */
  readonly type?: string
  /** `Result`, of the kinds that have one. */
  readonly result?: string
  /** A job for it is in the queue. */
  readonly hasJob: boolean
  readonly conditionMet: boolean
  /** When its start job ran. */
  readonly conditionUs: number
  readonly inactiveExitUs: number
  readonly activeEnterUs: number
  readonly inactiveEnterUs: number
  /** How the last job for it ended that was seen to end: `done`, `failed`, `dependency`, `timeout`, `canceled`, … */
  readonly lastJob?: string
  /** systemd has finished the boot. */
  readonly booted: boolean
}

/**
 * The texts about systemd (`crates/protocol`). `units`: the manager and its units in blocks, as `systemctl show --all` prints
 * them; `queued-units`: of these the ones with a job; `jobs`: as `systemctl list-jobs` prints them; `recording`: what the
 * recorder of jobs has taken, a line of JSON for each D-Bus message.
 */
export type SystemdText = 'units' | 'queued-units' | 'jobs' | 'recording'

/** The state of systemd's manager. */
export interface SystemdManager {
  /** `initializing`, `starting`, `running`, `degraded`, `maintenance`, `stopping`. */
  readonly state: string
  /** Units that failed. */
  readonly failed: readonly string[]
  /** Jobs in the queue. */
  readonly jobs: number
  /** Its stamps that are set (`Userspace`, `Finish`, …), in µs of the guest's CLOCK_MONOTONIC. */
  readonly times: Readonly<Record<string, number>>
}

/** Follows something of systemd's. */
export class Watch<State> {
  readonly #native: NativeWatch

  constructor(native: NativeWatch) {
    this.#native = native
  }

  /** The state: at once the first time, then whenever it has changed. Rejects when the box or systemd ends. */
  async next(): Promise<State> {
    return JSON.parse(await typed(this.#native.next())) as State
  }

  /** Nobody wants it any more. */
  end(): void {
    this.#native.end()
  }
}
