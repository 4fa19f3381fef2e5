import { median, percentile } from '../stats/sample.ts'
import type { AbsentCounter } from './absent.ts'
import type { ExitsDiagnostics, ExitsReport } from './exits.ts'
import { exitsByKind, type ExitsByKind } from './kinds.ts'

/** How a counter of a phase was over boots. */
export interface CounterRange {
  /** Boots that have it. */
  readonly n: number
  readonly min: number
  readonly median: number
  readonly max: number
  /** Nearest rank; withheld below five boots. */
  readonly p50?: number
}

/** A phase over boots. */
export interface PhaseOverBoots {
  readonly name: string
  /** Medians. */
  readonly counters: { readonly [name: string]: number }
  readonly kinds: ExitsByKind
  readonly ranges: { readonly [name: string]: CounterRange }
}

/** Exits per phase over several boots. */
export interface ExitsOverBoots {
  readonly found: true
  readonly accel: 'kvm'
  readonly boots: number
  readonly phases: readonly PhaseOverBoots[]
  /** What has no value in at least one of the boots. */
  readonly absent: readonly AbsentCounter[]
  readonly diagnostics: ExitsDiagnostics
}

/** Puts boots together, phase by phase, by the phases that the first boot has them in. */
export function exitsOverBoots(reports: readonly ExitsReport[]): ExitsOverBoots {
  const names = [...new Set(reports.flatMap(({ phases }) => phases.map(({ name }) => name)))]
  const absent = new Map(reports.flatMap((one) => one.absent.map((counter) => [counter.name, counter] as const)))
  return {
    found: true,
    accel: 'kvm',
    boots: reports.length,
    phases: names.map((name) => overBoots(name, reports, absent)),
    absent: [...absent.values()],
    diagnostics: {
      samples: reports.reduce((sum, one) => sum + one.diagnostics.samples, 0),
      problems: reports.flatMap((one) => one.diagnostics.problems),
    },
  }
}

function overBoots(
  name: string,
  reports: readonly ExitsReport[],
  absent: ReadonlyMap<string, unknown>,
): PhaseOverBoots {
  const values = new Map<string, number[]>()
  for (const { phases } of reports) {
    const counters = Object.entries(phases.find((one) => one.name === name)?.counters ?? {})
    for (const [counter, value] of counters) {
      if (!absent.has(counter)) values.set(counter, [...(values.get(counter) ?? []), value])
    }
  }
  const ranges = [...values].map(([counter, all]) => [counter, rangeOf(all)] as const)
  const medians = ranges.map(([counter, range]) => [counter, range.median] as const)
  return {
    name,
    counters: Object.fromEntries(medians),
    kinds: exitsByKind(new Map(medians)),
    ranges: Object.fromEntries(ranges),
  }
}

function rangeOf(values: readonly number[]): CounterRange {
  const p50 = percentile(values, 50)
  return {
    n: values.length,
    min: Math.min(...values),
    median: median(values) ?? 0,
    max: Math.max(...values),
    ...(p50 !== undefined && { p50 }),
  }
}
