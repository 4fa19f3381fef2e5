import type { JobsReport, JobsResult, NoJobs } from './jobs-report.ts'

/** The result as it is stored: the same data with the name and version of its format (schema/jobs-v1.schema.json). */
export type JobsJson = { readonly format: 'boxlab-jobs'; readonly version: 1 } & (JobsReport | NoJobs)

/** The result as plain data for `JSON.stringify`. Absent values are left out, never null or 0. */
export function jobsJson(result: JobsResult): JobsJson {
  return { format: 'boxlab-jobs', version: 1, ...result }
}
