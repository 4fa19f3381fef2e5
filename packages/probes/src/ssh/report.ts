import type { Diagnostic } from '../input/diagnostics.ts'
import type { ClockResult } from '../timeline/timeline.ts'
import type { SshEvidence } from './evidence.ts'
import type { SshRefusalCause } from './refusal-words.ts'
import type { SshEvent } from './ssh-lines.ts'

/** A job of PID 1, as a recording of its queue has it. Times in us after kernel start (the guest's CLOCK_MONOTONIC). */
export interface SshJob {
  readonly id: number
  readonly unit: string
  readonly type?: string
  /** When the queue took it; absent where it was there before the recording began. */
  readonly installedUs?: number
  readonly removedUs?: number
  readonly result?: string
}

/** A time in which the queue was not recorded. us after kernel start; without an end, up to the end of the recording. */
export interface JobsHole {
  readonly startUs: number
  readonly endUs?: number
}

/**
 * One login. Times are in us after kernel start, which is where systemd's own stamps count from; each is absent where the
 * login did not come so far, or where the guest's clock is not known.
 */
export interface SshLogin {
  readonly n: number
  /** The first attempt began; with `acceptedAtOnce: false` long before the port accepted. */
  readonly dialUs?: number
  readonly acceptUs?: number
  readonly bannerUs?: number
  readonly kexUs?: number
  readonly authUs?: number
  /** The session is open: PAM's part, logind's among it, is over, and the server has taken the command. */
  readonly sessionUs?: number
  readonly firstOutputUs?: number
  readonly closedUs?: number
  /** From the accept to the first output, in us of the host's clock: needs no mapping and has no error of one. */
  readonly tookUs?: number
  /** The same from the accept to each step. */
  readonly afterAcceptUs: Readonly<Partial<Record<Exclude<SshEvent, 'dial' | 'accept'>, number>>>
  /** Connections that were tried until one was accepted. */
  readonly attempts?: number
  /** The port accepted at the first try: it was open before, so `acceptUs` is an upper bound. */
  readonly acceptedAtOnce?: boolean
  /** When the port refused for the last time: it opened between this and `acceptUs`. */
  readonly refusedUs?: number
  /** The server's version line. */
  readonly server?: string
  /** The key of the host, which any is accepted for: its type and SHA-256 fingerprint. */
  readonly hostKey?: { readonly type: string; readonly fingerprint: string }
  /** The method of the key exchange. */
  readonly keyExchange?: string
  readonly output?: string
  /** So many busy loops ran in the guest meanwhile. */
  readonly underLoad?: { readonly cpus: number }
  /**
   * Jobs that PID 1 created between accept and close: those that the login set off, and what else fell into that time.
   * Absent where no recording of the queue is given, or it has a hole in that time.
   */
  readonly jobs?: readonly SshJob[]
}

/** A login that was refused. */
export interface SshRefused {
  readonly login: number
  /** The last thing that became true before it. */
  readonly at: SshEvent
  readonly cause: SshRefusalCause
  /** A sentence with the evidence and the remedy. */
  readonly why: string
  readonly evidence: SshEvidence
}

/** Something about the result that must be known to read it. */
export interface SshFinding {
  readonly name:
    | 'clock-unknown'
    | 'accept-is-upper-bound'
    | 'no-job-recording'
    | 'hole-in-jobs'
    | 'out-of-order'
    | 'not-finished'
  readonly message: string
}

/** When somebody can log in. */
export interface SshFirst {
  readonly found: true
  /** How the connection got to the server. `agent`: the box's agent connects to the guest's loopback. */
  readonly transport: string
  readonly user: string
  readonly port: number
  /** What the times count from. */
  readonly origin: 'kernel-start'
  /** No time is further off than this; absent where the guest's clock is not known. */
  readonly errorUs?: number
  readonly accelerator?: string
  readonly logins: readonly SshLogin[]
  readonly refused?: SshRefused
  /** Which of the calls in the record this is, from 1, and how many there are. */
  readonly call: number
  readonly calls: number
  readonly clock: ClockResult
  readonly findings: readonly SshFinding[]
  readonly diagnostics: readonly Diagnostic[]
}

/** There is no answer, and why. */
export interface NoSshFirst {
  readonly found: false
  /** A sentence with the remedy. */
  readonly message: string
  readonly diagnostics: readonly Diagnostic[]
}

export type SshFirstResult = SshFirst | NoSshFirst
