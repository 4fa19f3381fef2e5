import type { GraphReport, GraphResult, NoGraph } from './graph-report.ts'

/** The result as it is stored: the same data with the name and version of its format (schema/graph-v1.schema.json). */
export type GraphJson = { readonly format: 'boxlab-graph'; readonly version: 1 } & (GraphReport | NoGraph)

/** The result as plain data for `JSON.stringify`. Absent values are left out, never null or 0. */
export function graphJson(result: GraphResult): GraphJson {
  return { format: 'boxlab-graph', version: 1, ...result }
}
