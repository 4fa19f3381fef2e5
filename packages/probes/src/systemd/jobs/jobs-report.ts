import type { Dispatch } from './analyse/dispatch.ts'
import type { JobsFinding } from './analyse/findings.ts'
import type { SignalLag } from './analyse/lag.ts'
import type { JobsDiagnostic } from './jobs-diagnostics.ts'
import type { SaidRelations } from './model/add-snapshots.ts'
import type { JobSource, JobState } from './model/job-life.ts'
import type { DepthStep, Hole, ReloadWindow } from './model/play-recording.ts'
import type { JobType, QueuedState } from './words.ts'

/** What to ask of the queue. */
export interface JobsOptions {
  /** Which jobs were set off between two moments, us on CLOCK_MONOTONIC, such as those of a login; default none. */
  readonly between?: Interval
}

/** A time from `fromUs` to `toUs`, both included, us on CLOCK_MONOTONIC. */
export interface Interval {
  readonly fromUs: number
  readonly toUs: number
}

/**
 * A job of PID 1's queue. Times are us on the guest's CLOCK_MONOTONIC, whose zero is kernel start. No signal of systemd
 * carries a time: `installedUs`, `runningUs` and `removedUs` are when a recorder read them, or when journald received what
 * PID 1 wrote; `releasedUs`, `unitStartUs` and `unitEndUs` are PID 1's own stamps of the unit.
 */
export interface Job {
  /** systemd's, unique in a boot. Gaps between ids mean nothing. */
  readonly id: number
  /** The unit; where `cut` is set, what a narrow terminal left of its name. */
  readonly unit: string
  readonly cut?: true
  /** `unknown` for a job that only signals tell of: JobNew has no type. */
  readonly type: JobType | 'unknown'
  /** The last one that is known; `unknown` for a job that only another one's row names. */
  readonly state: JobState
  /** systemd's word. Absent while it is queued, and where nobody saw the end. */
  readonly result?: string
  readonly sources: readonly JobSource[]
  readonly installedUs?: number
  /** Of a recorded job without JobNew: it was there when the recorder connected, or it came in a hole. */
  readonly since?: 'before-connect' | 'in-hole' | 'not-announced'
  /** PID 1 ran it: it tested the unit's conditions. */
  readonly releasedUs?: number
  /** The first sign that it ran. Most jobs have none: they are done before PID 1 says so. */
  readonly runningUs?: number
  /** The unit left inactive. */
  readonly unitStartUs?: number
  /** The unit's start was over. */
  readonly unitEndUs?: number
  readonly removedUs?: number
  /** What told of its end; `hole`: it was gone when the queue was listed again, and its result is not known. */
  readonly endSeen?: 'signal' | 'journal' | 'hole'
  /** Its State signals, in their order; a restart goes from running to waiting to running under one id. */
  readonly states?: readonly { readonly state: QueuedState; readonly atUs: number }[]
  /** How often it was said to be waiting while it was: another request was merged into it. */
  readonly merges?: number
  /** Of a slice of a template's instances: the jobs of the instances that were queued with it. */
  readonly sliceOf?: readonly number[]
  /** Ids of the jobs that it waited on, or waits on; empty also where nobody knows (see `findings`). */
  readonly waitedOn: readonly number[]
  /** The reverse: ids of the jobs that waited on it. */
  readonly blocking: readonly number[]
}

/** How many jobs were queued. */
export interface QueueDepth {
  /** In the first answer to ListJobs. */
  readonly atConnect: number
  readonly max: number
  /** When it was first that many, us. */
  readonly maxAtUs: number
  readonly atEnd: number
  /** Each change; between a hole's ends it is not known. */
  readonly steps: readonly DepthStep[]
}

/** What StartupFinished says, us. */
export interface StartupFinished {
  /** When it was read. */
  readonly atUs: number
  /** PID 1's own stamp of the end of the boot. */
  readonly finishUs: number
}

/** What the readers had to go on. */
export interface JobsDiagnostics {
  readonly lines: number
  /** Lines that are of none of the formats. */
  readonly unparsed: number
  /** Units beside the jobs. */
  readonly units: number
  readonly problems: readonly JobsDiagnostic[]
}

/** What PID 1's job queue did. */
export interface JobsReport {
  readonly found: true
  /** What tells of the jobs, most precise first. */
  readonly sources: readonly JobSource[]
  /** By id. */
  readonly jobs: readonly Job[]
  /** Ids of jobs that are still queued at the end of a recording, or in a text. */
  readonly queued: readonly number[]
  /** Ids of jobs that failed, by the moment of it: every result but done, skipped, canceled and collected. */
  readonly failed: readonly number[]
  /** How often each result came. */
  readonly results: { readonly [result: string]: number }
  /** When the recorder connected, us; absent without a recording or its header. */
  readonly connectedUs?: number
  /** The last message of a recording, us. */
  readonly lastUs?: number
  /** Absent without a recording that has the answer to ListJobs. */
  readonly depth?: QueueDepth
  /** How PID 1 ran many jobs in one go; absent without the stamps of a recording and the units' After=. */
  readonly dispatches?: readonly Dispatch[]
  /** Absent where no job has both times. */
  readonly lag?: SignalLag
  readonly holes: readonly Hole[]
  readonly reloads: readonly ReloadWindow[]
  readonly startupFinished?: StartupFinished
  /** What texts say of who waits for whom; absent where none does. */
  readonly relations?: SaidRelations
  /** What was asked with `between`: ids of the jobs announced in that time, in the order of their JobNew. */
  readonly between?: Interval & { readonly jobs: readonly number[] }
  readonly findings: readonly JobsFinding[]
  readonly diagnostics: JobsDiagnostics
}

/** There is no answer, and why. */
export interface NoJobs {
  readonly found: false
  /** `no-jobs`: nothing that tells of jobs could be read; `only-units`: units, which have no jobs in them. */
  readonly reason: 'no-jobs' | 'only-units'
  /** A sentence with the remedy. */
  readonly message: string
  readonly diagnostics: JobsDiagnostics
}

export type JobsResult = JobsReport | NoJobs
