import type { JsonObject } from '../../../input/fields.ts'
import { unitTypeOf } from '../../unit-name.ts'
import { isJobType, isResultWord, type JobType, readJobId } from '../words.ts'

/** What PID 1 wrote about a job into the journal (job_emit_start_message and job_emit_done_message in src/core/job.c). */
export interface JournalJob {
  readonly bootId: string
  readonly id: number
  readonly unit: string
  readonly type: JobType
  /** Absent for a job that PID 1 began to run. */
  readonly result?: string
  /** When journald received it, us on CLOCK_MONOTONIC: a little after it was so, more while journald starts. */
  readonly receivedUs: number
  /** The receipt on the clock of the day, us: tells boots apart in time. */
  readonly realtimeUs: number
}

/** A record of the journal: of a job, `other` without one, `bad` where a field of a job's cannot be read. */
export type JournalReading = JournalJob | 'other' | 'bad'

/** True for a line of `journalctl -o json`, whatever fields were asked for: these three are always there. */
export function isJournalRecord(value: JsonObject): boolean {
  return '__CURSOR' in value || '__REALTIME_TIMESTAMP' in value || '__MONOTONIC_TIMESTAMP' in value
}

/** Reads a record; those of other processes, and of the managers of users, tell of no job of PID 1. */
export function readJournalRecord(value: JsonObject): JournalReading {
  const { JOB_ID: jobId, UNIT: unit, JOB_TYPE: type, JOB_RESULT: result, _BOOT_ID: bootId } = value
  if (jobId === undefined || ('_PID' in value && value['_PID'] !== '1') || 'USER_UNIT' in value) return 'other'
  const id = readJobId(jobId)
  const receivedUs = microseconds(value['__MONOTONIC_TIMESTAMP'])
  const readable =
    typeof unit === 'string' && unitTypeOf(unit) !== undefined && (result === undefined || isResultWord(result))
  if (id === undefined || receivedUs === undefined || !readable || !isJobType(type)) return 'bad'
  return {
    bootId: typeof bootId === 'string' ? bootId : '',
    id,
    unit,
    type,
    ...(result === undefined ? {} : { result }),
    receivedUs,
    realtimeUs: microseconds(value['__REALTIME_TIMESTAMP']) ?? 0,
  }
}

function microseconds(value: unknown): number | undefined {
  const us = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN
  return Number.isSafeInteger(us) ? us : undefined
}
