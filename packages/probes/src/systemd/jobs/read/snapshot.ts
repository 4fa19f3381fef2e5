import type { JobType, QueuedState } from '../words.ts'

/** A job that another one's row names. */
export interface Mention {
  readonly id: number
  readonly unit: string
  readonly type: JobType
}

/** A job as a text shows it at one moment. */
export interface SnapshotJob {
  readonly id: number
  /** As it stands there; `cut` where a terminal was too narrow for it. */
  readonly unit: string
  readonly cut: boolean
  readonly type: JobType
  readonly state: QueuedState
  readonly line: number
  /** What it says that it waits for. */
  readonly waitingFor: readonly Mention[]
  /** What it says that it holds back. */
  readonly blocking: readonly Mention[]
}

/** The queue at one moment: a table of `systemctl list-jobs`, or the jobs of a dump. */
export interface Snapshot {
  readonly source: 'list-jobs' | 'dump'
  readonly file: string
  readonly jobs: readonly SnapshotJob[]
}
