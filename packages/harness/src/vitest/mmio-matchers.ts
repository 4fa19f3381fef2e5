import type { MmioReport, MmioResult, Polled, ReadsWrites, RegionRow } from '@boxlab/probes'
import { expect } from 'vitest'
import { Box } from '../box.ts'
import type { Answer } from './answer.ts'

/** An exact count, or a band with both ends in it. */
export type Count = number | { readonly min?: number; readonly max?: number }

interface Counts {
  readonly reads?: Count
  readonly writes?: Count
  /** Reads and writes together. */
  readonly accesses?: Count
  /** Only accesses of this phase, such as `initcalls`. */
  readonly phase?: string
}

/** What accesses are asked for: those to a region, or those to the configuration space of a PCI function. */
export type ToHaveMmioOptions =
  | (Counts & {
      /** QEMU's name of the region, such as `serial`; rows of several devices are summed up. */
      readonly region: string
      /** Only the region of this device: its id, its path in QEMU's object model, or its PCI function. */
      readonly device?: string
      readonly bytes?: Count
    })
  | (Counts & {
      /** A function (`00:01.0`), QEMU's name of its device (`virtio-blk-pci`), or `absent`: the functions that do not exist. */
      readonly config: string
    })

/** What boxlab adds to vitest's `expect` for accesses. */
export interface MmioMatchers<R = unknown> {
  /**
   * The guest made these accesses: of a result of `mmio()`, or of a box whose record has a trace. Without counts it holds where
   * there is any access at all. An exact count of a polled region is refused, since it is another one in the next boot; what the
   * trace does not have is an error. Both throw, also behind `not`.
   */
  toHaveMmio(expected: ToHaveMmioOptions): Promise<R>
}

declare module 'vitest' {
  interface Matchers<R, T> extends MmioMatchers<R> {}
}

async function reportOf(received: unknown): Promise<MmioReport> {
  const result = received instanceof Box ? await received.mmio() : (received as MmioResult | null)
  if (typeof result !== 'object' || result === null || !('found' in result) || !('diagnostics' in result))
    throw new TypeError('`toHaveMmio` takes a box or a result of mmio(), and this is neither')
  if (!result.found) throw new Error(result.message)
  return result
}

/** Reads and writes that were found, with their name for a person. */
interface Found {
  readonly what: string
  readonly reads: number
  readonly writes: number
  readonly bytes?: number
  readonly polled?: Polled
}

/** The matcher of accesses, for `expect.extend`. */
export const mmioMatchers: {
  toHaveMmio(received: unknown, expected: ToHaveMmioOptions): Promise<Answer>
} = {
  async toHaveMmio(received, expected) {
    const report = await reportOf(received)
    const phase = phaseOf(report, expected.phase)
    const found = 'region' in expected ? regionOf(report, expected, phase) : configOf(report, expected.config, phase)
    const bytes = 'region' in expected ? expected.bytes : undefined
    if (bytes !== undefined && phase !== undefined)
      throw new TypeError('`bytes` are known of the whole trace only: leave `phase` out')
    const wanted = [
      ['reads', expected.reads, found?.reads],
      ['writes', expected.writes, found?.writes],
      ['accesses', expected.accesses, found && found.reads + found.writes],
      ['bytes', bytes, found?.bytes],
    ] as const
    if (found === undefined) {
      if (wanted.every(([, count]) => count === undefined))
        return { pass: false, message: () => `there is no access to ${nameOf(expected)}` }
      throw new Error(
        `there is no access to ${nameOf(expected)} to count; to assert that there is none write \`not.toHaveMmio({ … })\` without counts. There are: ${namesOf(report, expected)}`,
      )
    }
    for (const [name, count] of wanted) if (count !== undefined) refuseExact(name, count, found)
    const asked = wanted.filter(([, count]) => count !== undefined)
    const sentences = asked.map(([name, count, value]) => `${value} ${name}, and ${boundOf(count!)} are asked for`)
    const where = expected.phase === undefined ? '' : ` in ${expected.phase}`
    const message =
      asked.length === 0
        ? `${found.what}${where} had ${found.reads} reads and ${found.writes} writes (n=1)`
        : `${found.what}${where} had ${sentences.join('; ')} (n=1)`
    const pass =
      asked.length === 0 ? found.reads + found.writes > 0 : asked.every(([, count, value]) => holds(count!, value ?? 0))
    return { pass, message: () => message }
  },
}

function phaseOf({ phases }: MmioReport, name: string | undefined): number | undefined {
  if (name === undefined) return undefined
  const at = phases.findIndex((phase) => phase.name === name)
  if (at !== -1) return at
  throw new Error(`the trace has no phase ${name}; it has ${phases.map((phase) => phase.name).join(', ')}`)
}

function regionOf(
  report: MmioReport,
  { region, device }: { readonly region: string; readonly device?: string },
  phase: number | undefined,
): Found | undefined {
  if (report.accesses === undefined) throw new Error('accesses to memory regions were not traced')
  const missing = report.findings.find(({ name }) => name === 'reads-not-traced' || name === 'writes-not-traced')
  if (missing) throw new Error(missing.message)
  const same = report.regions.filter(({ name }) => name === region)
  if (same.length === 0 && report.regions.some(({ named }) => named === 'address'))
    throw new Error(
      `the trace has regions without names, and ${region} may be one of them: give a memory map of the same boot, or a trace of QEMU 6.2 or later`,
    )
  if (device !== undefined && same.length > 0 && same.every((row) => row.device === undefined))
    throw new Error(`whose ${region} is, is not known: give a memory map of the same boot`)
  const rows = device === undefined ? same : same.filter((row) => row.device === device || row.bdf === device)
  return rows.length === 0 ? undefined : sumOf(rows, device === undefined ? region : `${region} of ${device}`, phase)
}

function sumOf(rows: readonly RegionRow[], what: string, phase: number | undefined): Found {
  const counts = rows.map((row) => inPhase(row, phase))
  const polled = rows[0]?.polled
  return {
    what,
    reads: counts.reduce((sum, { reads }) => sum + reads, 0),
    writes: counts.reduce((sum, { writes }) => sum + writes, 0),
    bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0),
    ...(polled && { polled }),
  }
}

function configOf({ pci }: MmioReport, config: string, phase: number | undefined): Found | undefined {
  if (pci === undefined) throw new Error('accesses to PCI configuration space were not traced')
  if (config === 'absent') {
    if (pci.absent === undefined)
      throw new Error('how many accesses went to absent functions is not known: memory_region_ops_* was not traced')
    return { what: 'absent functions', ...inPhase(pci.absent, phase) }
  }
  const same = pci.byDevice.filter(({ bdf, device }) => bdf === config || device === config)
  if (same.length === 0) return undefined
  if (new Set(same.map(({ bdf }) => bdf)).size > 1)
    throw new Error(`${config} is ${same.map(({ bdf }) => bdf).join(' and ')}: ask for one of them`)
  const rows = same.map((row) => inPhase(row, phase))
  return {
    what: config,
    reads: rows.reduce((sum, { reads }) => sum + reads, 0),
    writes: rows.reduce((sum, { writes }) => sum + writes, 0),
  }
}

function inPhase(
  { reads, writes, byPhase }: ReadsWrites & { readonly byPhase: readonly ReadsWrites[] },
  phase: number | undefined,
): ReadsWrites {
  const counts = phase === undefined ? { reads, writes } : byPhase[phase]
  return { reads: counts?.reads ?? 0, writes: counts?.writes ?? 0 }
}

function refuseExact(name: 'reads' | 'writes' | 'accesses' | 'bytes', count: Count, { polled, what }: Found): void {
  const exact = typeof count === 'number' || (count.min !== undefined && count.min === count.max)
  if (!exact || polled === undefined) return
  if (polled !== 'both' && name !== polled && (name === 'reads' || name === 'writes')) return
  throw new Error(
    `${what} is polled (${polled === 'both' ? 'reads and writes' : polled}), so its count is another one in the next boot: ask for a band, such as { max: 5000 }`,
  )
}

function holds(count: Count, value: number): boolean {
  if (typeof count === 'number') return value === count
  return value >= (count.min ?? 0) && value <= (count.max ?? Number.POSITIVE_INFINITY)
}

function boundOf(count: Count): string {
  if (typeof count === 'number') return String(count)
  const { min, max } = count
  if (min === undefined) return `at most ${max ?? 'any'}`
  return max === undefined ? `at least ${min}` : `${min} to ${max}`
}

function nameOf(expected: ToHaveMmioOptions): string {
  if ('config' in expected) return `the configuration space of ${expected.config}`
  return expected.device === undefined ? expected.region : `${expected.region} of ${expected.device}`
}

function namesOf({ regions, pci }: MmioReport, expected: ToHaveMmioOptions): string {
  const names =
    'config' in expected
      ? (pci?.byDevice ?? []).map(({ bdf, device }) => (device === undefined ? bdf : `${bdf} ${device}`))
      : regions.map(({ name, device }) => (device === undefined ? name : `${name} of ${device}`))
  return `${names.slice(0, 40).join(', ')}${names.length > 40 ? ', …' : ''}`
}

expect.extend(mmioMatchers)
