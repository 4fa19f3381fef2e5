import { median, percentile } from '../../stats/sample.ts'
import type { Initcall, InitcallsReport } from './initcalls-report.ts'

/** A call over several boots. */
export interface CallOverBoots {
  readonly name: string
  readonly module?: string
  readonly occurrence: number
  readonly level?: string
  /** The boots in which it has a duration that is not a whole number of ticks. */
  readonly n: number
  /** Of those, nearest rank; withheld below 5 of them. */
  readonly p50Us?: number
  readonly minUs?: number
  readonly maxUs?: number
  /** The middle one, or the mean of the two middle ones, of however few there are. */
  readonly medianUs?: number
  /** The worst of the boots, where it is more than a microsecond or two. */
  readonly errorUs?: number
}

/** Several boots of one kernel. */
export interface InitcallsOverBoots {
  readonly kernels: readonly string[]
  readonly boots: number
  /** Longest first; those without a duration come last. */
  readonly calls: readonly CallOverBoots[]
}

/** Puts boots of one kernel together, call by call: by name, module and occurrence. */
export function initcallsOverBoots(reports: readonly InitcallsReport[]): InitcallsOverBoots {
  const kernels = [...new Set(reports.flatMap(({ kernel }) => kernel ?? []))]
  return { kernels, boots: reports.length, calls: longestFirst([...callsOverBoots(reports).values()]) }
}

/** Longest first; those of which nothing is known come last. */
export function longestFirst(calls: readonly CallOverBoots[]): CallOverBoots[] {
  return calls.toSorted((a, b) => (b.medianUs ?? -1) - (a.medianUs ?? -1) || (a.name < b.name ? -1 : 1))
}

/** The calls of several boots by what is the same in all of them, and in other kernels. */
export function callsOverBoots(reports: readonly InitcallsReport[]): ReadonlyMap<string, CallOverBoots> {
  const all = new Map<string, Initcall[]>()
  for (const { calls } of reports) {
    for (const [key, call] of keyedCalls(calls)) {
      const same = all.get(key)
      if (same === undefined) all.set(key, [call])
      else same.push(call)
    }
  }
  return new Map([...all].map(([key, same]) => [key, overBoots(same)]))
}

function overBoots(same: readonly Initcall[]): CallOverBoots {
  const [{ name, module, occurrence, level }] = same as readonly [Initcall, ...Initcall[]]
  const known = same.filter(({ quantised }) => !quantised)
  const durations = known.flatMap(({ durationUs }) => durationUs ?? [])
  const p50Us = percentile(durations, 50)
  const medianUs = median(durations)
  const errorUs = known.reduce((worst, call) => Math.max(worst, call.errorUs ?? 0), 0)
  return {
    name,
    ...(module !== undefined && { module }),
    occurrence,
    ...(level !== undefined && { level }),
    n: durations.length,
    ...(p50Us !== undefined && { p50Us }),
    ...(medianUs !== undefined && {
      minUs: durations.reduce((a, b) => Math.min(a, b)),
      maxUs: durations.reduce((a, b) => Math.max(a, b)),
      medianUs,
    }),
    ...(errorUs > 0 && medianUs !== undefined && { errorUs }),
  }
}

/**
 * Calls by what is the same in another boot, or in another kernel: module and name, and the how manyth of those. A kernel
 * that was built with clang's LTO calls them `__initstub__kmod_MODULE__COUNTER_LINE_FUNCTION6` (include/linux/init.h), where
 * counter and line change from build to build.
 */
function keyedCalls(calls: readonly Initcall[]): [string, Initcall][] {
  const seen = new Map<string, number>()
  return calls.map((call) => {
    const stub = /^__initstub__kmod_(.+)__\d+_\d+_(.+)$/.exec(call.name)
    const name = stub === null ? call.name : `${stub[1]} ${stub[2]}`
    const base = `${call.module ?? ''} ${name}`
    const occurrence = (seen.get(base) ?? 0) + 1
    seen.set(base, occurrence)
    return [`${base} ${occurrence}`, call]
  })
}
