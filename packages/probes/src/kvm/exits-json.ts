import type { ExitsOverBoots } from './over-boots.ts'
import type { ExitsReport, NoExits } from './exits.ts'

/** The result as it is stored: the same data with the name and version of its format (schema/exits-v1.schema.json). */
export type ExitsJson = { readonly format: 'boxlab-exits'; readonly version: 1 } & (
  | ExitsReport
  | ExitsOverBoots
  | (NoExits & { readonly phases: readonly [] })
)

/** The result as plain data for `JSON.stringify`. Absent values are left out, never null or 0. */
export function exitsJson(result: ExitsReport | ExitsOverBoots | NoExits): ExitsJson {
  const head = { format: 'boxlab-exits', version: 1 } as const
  return result.found ? { ...head, ...result } : { ...head, ...result, phases: [] }
}
