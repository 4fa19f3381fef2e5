import type { JsonObject } from '../input/fields.ts'
import type { MarkClock, MarkSource } from './vocabulary.ts'

/** One line of `marks.jsonl`. */
export interface MarkLine {
  readonly mark: string
  readonly source: MarkSource
  readonly clock: MarkClock
  /** Nanoseconds on `clock`. A double holds them exactly for 104 days of uptime and to 2 ns for as long again. */
  readonly atNs: number
  /** Half the width of the interval that holds the true instant, in ns; absent means that the stamp is exact. */
  readonly errorNs?: number
  /** What the source had to say, such as the text of the console line. */
  readonly detail?: unknown
}

/** One line of `guest/clock.jsonl`: a ping to the agent. */
export interface ClockSample {
  readonly hostSendNs: number
  readonly guestNs: number
  readonly hostRecvNs: number
}

export const OUTCOMES = ['running', 'stopped', 'failed', 'killed'] as const
/** How a boot stands, or ended. */
export type Outcome = (typeof OUTCOMES)[number]

/** What `boot.json` says. A field that the record does not have is absent, whatever the format asks for. */
export interface BootRecord {
  readonly version?: number
  readonly boxId?: string
  readonly name?: string
  readonly plan?: JsonObject
  readonly host?: HostFacts
  readonly engine?: { readonly binary?: string; readonly version?: string }
  readonly accelerator?: { readonly asked?: string; readonly proved?: string }
  readonly startedAt?: string
  readonly startNs?: number
  readonly outcome?: Outcome
  readonly exit?: { readonly code?: number; readonly signal?: string | number }
  readonly error?: RecordedError
}

/** Why a boot failed. */
export interface RecordedError {
  readonly code?: string
  readonly message?: string
  /** The stage it failed in, and how long that stage had run, in ms. */
  readonly stage?: string
  readonly stageMs?: number
  /** The last mark before it, and the time since then, in ms. */
  readonly lastMark?: string
  readonly sinceMs?: number
}

/** The host as it was at the start. */
export interface HostFacts {
  readonly cpuModel?: string
  readonly cpus?: number
  readonly memoryMib?: number
  readonly kernel?: string
  /** The measured frequency of the time stamp counter, in kHz. */
  readonly tscKhz?: number
  readonly loadavg1?: number
}
