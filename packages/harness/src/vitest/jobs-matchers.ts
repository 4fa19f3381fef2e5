import { type Job, type JobsReport, type JobsResult, renderJobs } from '@boxlab/probes'
import { expect } from 'vitest'
import { Box } from '../box.ts'
import type { Answer } from './answer.ts'

/** Jobs that were set off, by the names of their units; a pattern stands for names with numbers in them. */
export type JobNames = readonly (string | RegExp)[]

/**
 * Questions to PID 1's job queue. Each takes a box that was booted with `record: { jobs: true }`, or a result of `jobs()`; all
 * are awaited. Where there is no answer they throw, also behind `not`.
 */
export interface JobsMatchers<R = unknown> {
  /** No job failed (`failed`, `timeout`, `dependency`, `assert`, …), but for those of these units. */
  toHaveNoFailedJobs(options?: { readonly allow?: readonly string[] }): Promise<R>
  /** There were never more jobs in the queue. */
  toQueueAtMost(jobs: number): Promise<R>
  /** A login, or whatever else has `jobs`, set off jobs for these units and for no others. */
  toSetOffJobs(units: JobNames): R
}

declare module 'vitest' {
  interface Matchers<R, T> extends JobsMatchers<R> {}
}

async function report(received: unknown, matcher: string): Promise<JobsReport> {
  const result = received instanceof Box ? await received.jobs() : (received as JobsResult | null)
  if (typeof result !== 'object' || result === null || !('found' in result) || !('diagnostics' in result)) {
    throw new TypeError(`\`${matcher}\` takes a box or a result of jobs(), and this is neither`)
  }
  if (!result.found) throw new Error(result.message)
  return result
}

function jobLine({ id, unit, type, result }: Job): string {
  return `\n  ${unit} (${[`job ${id}`, ...(type === 'unknown' ? [] : [type]), result ?? 'no result'].join(', ')})`
}

/** Flags that keep a place between two calls have no meaning here. */
function matches(name: string | RegExp, unit: string): boolean {
  return typeof name === 'string' ? name === unit : new RegExp(name.source, name.flags.replace(/[gy]/g, '')).test(unit)
}

/** The matchers, for `expect.extend`; importing `@boxlab/harness/vitest` has done that. */
export const jobsMatchers: {
  toHaveNoFailedJobs(received: unknown, options?: { readonly allow?: readonly string[] }): Promise<Answer>
  toQueueAtMost(received: unknown, jobs: number): Promise<Answer>
  toSetOffJobs(received: unknown, units: JobNames): Answer
} = {
  async toHaveNoFailedJobs(received, { allow = [] } = {}) {
    const found = await report(received, 'toHaveNoFailedJobs')
    if (found.holes.length > 0) {
      throw new Error('the recording has a hole, in which jobs may have failed: PID 1 executed itself again in between')
    }
    const failed = new Set(found.failed)
    const bad = found.jobs.filter(({ id, unit }) => failed.has(id) && !allow.includes(unit))
    const message =
      bad.length === 0
        ? `none of ${found.jobs.length} jobs failed that may not`
        : `${bad.length} of ${found.jobs.length} jobs failed:${bad.map(jobLine).join('')}\n\n${renderJobs(found)}`
    return { pass: bad.length === 0, message: () => message }
  },
  async toQueueAtMost(received, jobs) {
    const { depth } = await report(received, 'toQueueAtMost')
    if (!depth)
      throw new Error('how deep the queue was is only known of a recording: boot with `record: { jobs: true }`')
    const sentence = `the queue had at most ${depth.max} jobs, at ${(depth.maxAtUs / 1000).toFixed(3)} ms after kernel start (n=1)`
    return { pass: depth.max <= jobs, message: () => `${sentence}, and the bound is ${jobs}` }
  },
  toSetOffJobs(received, units) {
    const { jobs } = (received ?? {}) as { readonly jobs?: readonly { readonly unit: string }[] }
    if (!Array.isArray(jobs)) {
      throw new TypeError(
        '`toSetOffJobs` takes something with `jobs`, such as a login of a box with `record: { jobs: true }`, and this has none',
      )
    }
    const found = (jobs as readonly { readonly unit: string }[]).map(({ unit }) => unit)
    const missing = units.filter((name) => !found.some((unit) => matches(name, unit)))
    const extra = found.filter((unit) => !units.some((name) => matches(name, unit)))
    const problems = [
      ...(missing.length > 0 ? [`no job was set off for ${missing.join(', ')}`] : []),
      ...(extra.length > 0 ? [`jobs were set off for ${extra.join(', ')} too`] : []),
    ]
    const all = `set off: ${found.length === 0 ? 'no job' : found.join(', ')}`
    return { pass: problems.length === 0, message: () => [...problems, all].join('\n') }
  },
}

expect.extend(jobsMatchers)
