import { closeSync, constants, openSync, readSync } from 'node:fs'

/** Longer records are refused with EINVAL: PRINTKRB_RECORD_MAX and CONSOLE_EXT_LOG_MAX of kernel/printk. */
const recordBytes = 8192
/** A log that grows as fast as it is read has an end here. */
const mostRecords = 200_000
/**
 * The log's stamps come from the processor's clock, which time servers do not slow down or speed up as they do
 * CLOCK_MONOTONIC: by at most 500 ppm over the host's life.
 */
const drift = 500e-6
const slackNs = 1e9

/**
 * The lines of the host's kernel log from `sinceNs` (CLOCK_MONOTONIC) on, or somewhat before; undefined where this user
 * may not read it. Never waits. Format: Documentation/ABI/testing/dev-kmsg, `PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;TEXT`.
 */
export function kernelLogSince(sinceNs: number, path = '/dev/kmsg'): string | undefined {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch {
    return undefined
  }
  try {
    const fromNs = sinceNs - slackNs - sinceNs * drift
    return records(file)
      .flatMap((record) => {
        const [, micros, text] = /^\d+,\d+,(\d+),[^;]*;([^\n]*)/.exec(record) ?? []
        return text === undefined || Number(micros) * 1000 < fromNs ? [] : [text]
      })
      .join('\n')
  } finally {
    closeSync(file)
  }
}

/** One read gives one record. EAGAIN: there are no more; EPIPE: the next ones were overwritten, so read on. */
function records(file: number): string[] {
  const buffer = Buffer.alloc(recordBytes)
  const found: string[] = []
  for (let count = 0; count < mostRecords; count += 1) {
    try {
      const length = readSync(file, buffer, 0, buffer.length, null)
      if (length === 0) break
      found.push(buffer.toString('utf8', 0, length))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EPIPE') break
    }
  }
  return found
}
