import type { MmioReport, MmioResult, NoMmio } from './report.ts'

/**
 * The result as it is stored (schema/mmio-v1.schema.json). `format` is that of the trace's lines. Absent values are left out,
 * never null or 0.
 */
export type MmioJson = { readonly version: 1 } & (MmioReport | NoMmio)

/** The result as plain data for `JSON.stringify`. */
export function mmioJson(result: MmioResult): MmioJson {
  return { version: 1, ...result }
}
