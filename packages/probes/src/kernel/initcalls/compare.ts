import type { InitcallsReport } from './initcalls-report.ts'
import { type CallOverBoots, callsOverBoots, longestFirst } from './over-boots.ts'

/** What two kernels differ in. */
export interface InitcallsCompareOptions {
  /** A duration moved when it differs by more than this, in us (default 1000), and by more than 10 % of the longer one. */
  readonly fromUs?: number
}

/** One side. */
export interface ComparedSide {
  readonly kernels: readonly string[]
  readonly boots: number
  readonly calls: number
}

/** A call that both have. Durations are medians over the side's boots. */
export interface MovedCall extends Pick<CallOverBoots, 'name' | 'module' | 'occurrence'> {
  readonly aUs: number
  readonly bUs: number
  readonly deltaUs: number
  /** Boots behind each. */
  readonly n: readonly [number, number]
}

/** Two kernels, call by call. */
export interface InitcallsComparison {
  readonly a: ComparedSide
  readonly b: ComparedSide
  /** In `b` alone, longest first. */
  readonly appeared: readonly CallOverBoots[]
  /** In `a` alone. */
  readonly vanished: readonly CallOverBoots[]
  /** Longer or shorter, the largest difference first. */
  readonly moved: readonly MovedCall[]
  /** In another level; empty where one of the kernels tells none. */
  readonly relevelled: readonly { readonly name: string; readonly a: string; readonly b: string }[]
  /** Calls of both whose duration did not move. */
  readonly unmoved: number
  /** Calls of both of which one duration is not known, or is whole ticks, or is known no better than it moved. */
  readonly notCompared: number
}

/** Compares the boots of two kernels: which calls came, went, and took longer or shorter. */
export function compareInitcalls(
  a: readonly InitcallsReport[],
  b: readonly InitcallsReport[],
  { fromUs = 1000 }: InitcallsCompareOptions = {},
): InitcallsComparison {
  const [left, right] = [callsOverBoots(a), callsOverBoots(b)]
  const moved: MovedCall[] = []
  const relevelled: { readonly name: string; readonly a: string; readonly b: string }[] = []
  let unmoved = 0
  let notCompared = 0
  for (const [key, one] of left) {
    const other = right.get(key)
    if (other === undefined) continue
    if (one.level !== undefined && other.level !== undefined && one.level !== other.level) {
      relevelled.push({ name: one.name, a: one.level, b: other.level })
    }
    if (one.medianUs === undefined || other.medianUs === undefined) {
      notCompared += 1
      continue
    }
    const deltaUs = other.medianUs - one.medianUs
    const size = Math.abs(deltaUs)
    if (size <= fromUs || size <= 0.1 * Math.max(one.medianUs, other.medianUs)) unmoved += 1
    else if (size <= (one.errorUs ?? 0) + (other.errorUs ?? 0)) notCompared += 1
    else {
      const { name, module, occurrence } = other
      const n = [one.n, other.n] as const
      moved.push({
        name,
        ...(module !== undefined && { module }),
        occurrence,
        aUs: one.medianUs,
        bUs: other.medianUs,
        deltaUs,
        n,
      })
    }
  }
  return {
    a: sideOf(a, left.size),
    b: sideOf(b, right.size),
    appeared: only(right, left),
    vanished: only(left, right),
    moved: moved.toSorted((x, y) => Math.abs(y.deltaUs) - Math.abs(x.deltaUs)),
    relevelled,
    unmoved,
    notCompared,
  }
}

function only(side: ReadonlyMap<string, CallOverBoots>, other: ReadonlyMap<string, CallOverBoots>): CallOverBoots[] {
  return longestFirst([...side].flatMap(([key, call]) => (other.has(key) ? [] : [call])))
}

function sideOf(reports: readonly InitcallsReport[], calls: number): ComparedSide {
  return { kernels: [...new Set(reports.flatMap(({ kernel }) => kernel ?? []))], boots: reports.length, calls }
}
