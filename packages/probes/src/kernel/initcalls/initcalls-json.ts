import type { InitcallsComparison } from './compare.ts'
import type { InitcallsReport, InitcallsResult, NoInitcalls } from './initcalls-report.ts'
import type { InitcallsOverBoots } from './over-boots.ts'

/** The result as it is stored: the same data with the name and version of its format (schema/initcalls-v1.schema.json). */
export type InitcallsJson = { readonly format: 'boxlab-initcalls'; readonly version: 1 } & (
  | InitcallsReport
  | NoInitcalls
)

/** The result as plain data for `JSON.stringify`. Absent values are left out, never null or 0. */
export function initcallsJson(result: InitcallsResult): InitcallsJson {
  return { format: 'boxlab-initcalls', version: 1, ...result }
}

/** Two kernels compared, as it is stored. */
export type InitcallsComparisonJson = {
  readonly format: 'boxlab-initcalls-comparison'
  readonly version: 1
} & InitcallsComparison

/** A comparison as plain data for `JSON.stringify`. */
export function initcallsComparisonJson(comparison: InitcallsComparison): InitcallsComparisonJson {
  return { format: 'boxlab-initcalls-comparison', version: 1, ...comparison }
}

/** Several boots of one kernel, as it is stored. */
export type InitcallsOverBootsJson = {
  readonly format: 'boxlab-initcalls-boots'
  readonly version: 1
} & InitcallsOverBoots

/** Several boots as plain data for `JSON.stringify`. */
export function initcallsOverBootsJson(over: InitcallsOverBoots): InitcallsOverBootsJson {
  return { format: 'boxlab-initcalls-boots', version: 1, ...over }
}
