import type { JobType, QueuedState } from '../words.ts'

/** What tells of a job. */
export type JobSource = 'recording' | 'journal' | 'list-jobs' | 'dump'

/** `finished` has left the queue; `unknown` is only named by another job. */
export type JobState = QueuedState | 'unknown'

/** A job while its life is put together. Times in us on CLOCK_MONOTONIC. */
export interface JobLife {
  readonly id: number
  unit: string
  /** The name is cut; it can be completed from another input. */
  cut: boolean
  type: JobType | 'unknown'
  state: JobState
  result?: string
  readonly sources: Set<JobSource>
  /** JobNew was read. */
  installedUs?: number
  /** Why there is no JobNew of a job of a recording. */
  since?: 'before-connect' | 'in-hole' | 'not-announced'
  /** PID 1 tested the unit's conditions for this job: its own stamp of the moment it ran it. */
  releasedUs?: number
  /** The unit's own stamps: it left inactive for this job, and the start that the job was for ended. */
  unitStartUs?: number
  unitEndUs?: number
  /** The first sign of running was read: the signal, or the receipt of "Starting" in journald. */
  runningUs?: number
  /** JobRemoved was read, or the receipt of the result in journald. */
  removedUs?: number
  /** What told of its end. */
  endSeen?: 'signal' | 'journal' | 'hole'
  readonly states: { readonly state: QueuedState; readonly atUs: number }[]
  /** How often it was said to be waiting when it was: another request was merged into it. */
  merges: number
  /** A condition of the unit that was tested up to this moment was for another job. */
  floorUs: number
  /** Its place in the order of messages: when it was first known, first seen running, and gone. */
  firstSeq?: number
  ranSeq?: number
  goneSeq?: number
  /** The snapshots without relations of their own that it stands in, by index. */
  readonly snapshots: Set<number>
  /** Ids of jobs that a text says it waits for. */
  readonly saidToWaitFor: Set<number>
}

/** A job of which only id and unit are known. */
export function newLife(id: number, unit: string, source: JobSource): JobLife {
  return {
    id,
    unit,
    cut: false,
    type: 'unknown',
    state: 'unknown',
    sources: new Set([source]),
    states: [],
    merges: 0,
    floorUs: 0,
    snapshots: new Set(),
    saidToWaitFor: new Set(),
  }
}
