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
  /** Built in here and a module there, or of another module; their durations are compared too. */
  readonly rehoused: readonly { readonly name: string; readonly a?: string; readonly b?: string }[]
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
  const both = [...left].flatMap(([key, one]): Pair[] => {
    const other = right.get(key)
    return other === undefined ? [] : [[one, other]]
  })
  const rehoused = rehousedCalls(only(left, right), only(right, left))
  const houses = new Set(rehoused.flat())
  const moved: MovedCall[] = []
  let unmoved = 0
  let notCompared = 0
  for (const [one, other] of [...both, ...rehoused]) {
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
      const home = module === undefined ? {} : { module }
      moved.push({ name, ...home, occurrence, aUs: one.medianUs, bUs: other.medianUs, deltaUs, n })
    }
  }
  return {
    a: sideOf(a, left.size),
    b: sideOf(b, right.size),
    appeared: only(right, left).filter((call) => !houses.has(call)),
    vanished: only(left, right).filter((call) => !houses.has(call)),
    moved: moved.toSorted((x, y) => Math.abs(y.deltaUs) - Math.abs(x.deltaUs)),
    rehoused: rehoused.map(([one, other]) => ({
      name: one.name,
      ...(one.module !== undefined && { a: one.module }),
      ...(other.module !== undefined && { b: other.module }),
    })),
    relevelled: both.flatMap(([one, other]) =>
      one.level === undefined || other.level === undefined || one.level === other.level
        ? []
        : [{ name: one.name, a: one.level, b: other.level }],
    ),
    unmoved,
    notCompared,
  }
}

type Pair = readonly [CallOverBoots, CallOverBoots]

/** Calls that each side has once, in another place: what was a module is built in. */
function rehousedCalls(vanished: readonly CallOverBoots[], appeared: readonly CallOverBoots[]): Pair[] {
  const [gone, come] = [onceByName(vanished), onceByName(appeared)]
  return [...gone].flatMap(([name, one]): Pair[] => {
    const other = come.get(name)
    return other === undefined || other.module === one.module ? [] : [[one, other]]
  })
}

function onceByName(calls: readonly CallOverBoots[]): Map<string, CallOverBoots> {
  const counts = new Map<string, number>()
  for (const { name } of calls) counts.set(name, (counts.get(name) ?? 0) + 1)
  return new Map(calls.flatMap((call) => (counts.get(call.name) === 1 ? [[call.name, call]] : [])))
}

function only(side: ReadonlyMap<string, CallOverBoots>, other: ReadonlyMap<string, CallOverBoots>): CallOverBoots[] {
  return longestFirst([...side].flatMap(([key, call]) => (other.has(key) ? [] : [call])))
}

function sideOf(reports: readonly InitcallsReport[], calls: number): ComparedSide {
  return { kernels: [...new Set(reports.flatMap(({ kernel }) => kernel ?? []))], boots: reports.length, calls }
}
