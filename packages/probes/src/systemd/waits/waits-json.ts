import type { NoWaits, WaitsReport, WaitsResult } from './waits-report.ts'

/** The result as it is stored: the same data with the name and version of its format (schema/waits-v1.schema.json). */
export type WaitsJson = { readonly format: 'boxlab-waits'; readonly version: 1 } & (WaitsReport | NoWaits)

/** The result as plain data for `JSON.stringify`. Absent values are left out, never null or 0. */
export function waitsJson(result: WaitsResult): WaitsJson {
  return { format: 'boxlab-waits', version: 1, ...result }
}
