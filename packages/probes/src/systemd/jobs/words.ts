/** The types of a job in the queue of systemd 247 to 262 (src/core/job.h). */
export type JobType = (typeof JOB_TYPES)[number]

// try-restart, try-reload and reload-or-start become one of the others before a job is queued; a job of a list never
// has them.
const JOB_TYPES = ['start', 'verify-active', 'stop', 'reload', 'restart', 'nop'] as const

/** The states of a queued job; `finished` is systemd's own from 261 on, and ours for one that has left the queue. */
export type QueuedState = (typeof QUEUED_STATES)[number]

const QUEUED_STATES = ['waiting', 'running', 'finished'] as const

/** True for a type of systemd's. */
export function isJobType(text: unknown): text is JobType {
  return JOB_TYPES.some((type) => type === text)
}

/** True for a state of systemd's. */
export function isQueuedState(text: unknown): text is QueuedState {
  return QUEUED_STATES.some((state) => state === text)
}

/** An id of a job: a positive u32 that systemd counts up from 1 in each boot; `undefined` for anything else. */
export function readJobId(value: unknown): number | undefined {
  const id = typeof value === 'string' && /^[1-9]\d{0,9}$/.test(value) ? Number(value) : value
  return typeof id === 'number' && Number.isInteger(id) && id >= 1 && id <= MAX_JOB_ID ? id : undefined
}

const MAX_JOB_ID = 2 ** 32 - 1

// Results that are nobody's failure: done; a check or a start that had nothing to do; somebody took the job away.
const NO_FAILURE: ReadonlySet<string> = new Set(['done', 'skipped', 'canceled', 'collected'])

/** True for a result by which something did not come about, such as `failed`, `dependency` or `timeout`. */
export function isFailure(result: string): boolean {
  return !NO_FAILURE.has(result)
}

/** True for a text that a result of systemd's may be; later versions have words of their own. */
export function isResultWord(text: unknown): text is string {
  return typeof text === 'string' && /^[a-z][a-z-]{0,30}$/.test(text)
}
