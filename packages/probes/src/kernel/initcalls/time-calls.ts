import type { LoggedBoot, LoggedCall, LoggedFixup } from './collect-calls.ts'
import type { InitcallsProblems } from './initcalls-diagnostics.ts'
import type { Fixup, Initcall, InitcallGap, Probe } from './initcalls-report.ts'
import type { JudgedClock } from './judge-clock.ts'

/** A difference between the kernel's figure and the stamps that is told. */
export const DISAGREEMENT_US = 1000
/** Shorter gaps are what it takes to print a line. */
export const GAP_US = 1000
/** The longest tick there is (HZ=100), where the log does not tell which it is. */
const LONGEST_TICK_US = 10_000

/** The calls with their durations, each from the better of what the log has. */
export function timeCalls(
  boot: LoggedBoot,
  clock: JudgedClock,
  probesOf: ReadonlyMap<number, readonly Probe[]>,
  problems: InitcallsProblems,
): Initcall[] {
  const seen = new Map<string, number>()
  return boot.calls.map((logged, place) => {
    const occurrence = (seen.get(logged.name) ?? 0) + 1
    seen.set(logged.name, occurrence)
    const { caller: _caller, returnLost, stampErrorUs: _stampErrorUs, overlapped, ...facts } = logged
    const probes = probesOf.get(place)
    const time = timeOf(logged, clock, problems)
    const selfUs = probes && time.durationUs !== undefined ? selfTime(logged, time.durationUs, probes) : undefined
    return {
      ...facts,
      occurrence,
      ...time,
      ...(selfUs !== undefined && { selfUs }),
      ...(logged.returned === undefined && returnLost === undefined && { unfinished: true as const }),
      ...(logged.returned === undefined && {
        unknown: returnLost ? ('return-lost' as const) : ('unfinished' as const),
      }),
      ...(overlapped && { overlapped }),
      ...(probes && { probes }),
    }
  })
}

type Time = Pick<Initcall, 'durationUs' | 'source' | 'quantised' | 'errorUs' | 'disagreementUs'>

function timeOf(call: LoggedCall, clock: JudgedClock, problems: InitcallsProblems): Time {
  const { usecs, startUs, endUs, returnedLine = 0, line } = call
  if (usecs === undefined) return {}
  const { unitNs, exactLine, tickUs = LONGEST_TICK_US } = clock
  const printedUs = Math.round((usecs * (unitNs ?? 1000)) / 1000)
  const stampsUs = startUs === undefined || endUs === undefined ? undefined : endUs - startUs
  if (stampsUs !== undefined && stampsUs < 0) problems.add('stamps-backwards', returnedLine, call.name)
  const differUs = stampsUs === undefined ? 0 : printedUs - stampsUs
  const disagreement = Math.abs(differUs) > DISAGREEMENT_US ? { disagreementUs: differUs } : {}
  const byStamps = stampsUs !== undefined && stampsUs >= 0
  const exact = exactLine !== undefined && returnedLine >= exactLine
  if (byStamps && (!exact || call.overlapped)) {
    const { stampErrorUs } = call
    if (stampErrorUs !== undefined) problems.add('stamps-stuck', line, call.name)
    const error = stampErrorUs === undefined ? {} : { errorUs: stampErrorUs }
    return { durationUs: stampsUs, source: 'timestamps', ...error, ...disagreement }
  }
  const figure = { durationUs: printedUs, source: 'usecs' as const, ...disagreement }
  if (!exact) return { ...figure, quantised: true, errorUs: tickUs }
  // It began on the clock that ticks and ended on the other one.
  if (line < exactLine) return { ...figure, errorUs: tickUs }
  return unitNs === undefined ? { ...figure, errorUs: Math.ceil(usecs * 0.024) + 1 } : figure
}

/** The duration without what lies inside it; undefined where probes cross, since then one of them ran in another thread. */
function selfTime({ startUs, endUs }: LoggedCall, durationUs: number, probes: readonly Probe[]): number | undefined {
  if (startUs === undefined || endUs === undefined) return undefined
  const inside = probes.filter(({ asynchronous }) => !asynchronous)
  if (inside.length === 0 || inside.some((probe) => probe.startUs === undefined)) return undefined
  const spans = inside
    .map(({ startUs: from = 0, durationUs: took }) => ({ from, to: from + took }))
    .toSorted((a, b) => a.from - b.from || b.to - a.to)
  let insideUs = 0
  let end = -Infinity
  for (const { from, to } of spans) {
    // The start is reckoned from two clocks: a microsecond or two of crossing is none.
    if (from < end - 2 && to > end + 2) return undefined
    insideUs += Math.max(0, to - Math.max(from, end))
    end = Math.max(end, to)
  }
  return Math.max(0, durationUs - insideUs)
}

/** Quirks of devices. Before the switch their figures are ticks, as those of calls; their unit is always 1024 ns. */
export function timeFixups(fixups: readonly LoggedFixup[], { exactLine }: JudgedClock): Fixup[] {
  return fixups.map(({ device, name, line, startUs, endUs, endLine = 0, usecs }) => {
    const printed = usecs === undefined ? undefined : Math.round(usecs * 1.024)
    const exact = exactLine !== undefined && endLine >= exactLine
    const stampsUs = startUs === undefined || endUs === undefined || endUs < startUs ? undefined : endUs - startUs
    const time =
      printed === undefined
        ? {}
        : !exact && stampsUs !== undefined
          ? { durationUs: stampsUs, source: 'timestamps' as const }
          : { durationUs: printed, source: 'usecs' as const, ...(!exact && { quantised: true as const }) }
    return { device, name, line, ...(startUs !== undefined && { startUs }), ...time }
  })
}

/** The gaps that are long enough to be told. */
export function timeGaps({ gaps }: LoggedBoot): InitcallGap[] {
  return gaps.flatMap(({ startUs, endUs, userspace, ...gap }) => {
    if (startUs === undefined || endUs === undefined || endUs - startUs < GAP_US) return []
    return [{ startUs, endUs, durationUs: endUs - startUs, ...gap, ...(userspace && { userspace: true as const }) }]
  })
}

/** How long at least one call ran, by the stamps. */
export function timeInCalls(calls: readonly Initcall[]): number | undefined {
  const spans = calls
    .flatMap(({ startUs, endUs }) => (startUs === undefined || endUs === undefined ? [] : [{ startUs, endUs }]))
    .toSorted((a, b) => a.startUs - b.startUs)
  if (spans.length === 0) return undefined
  let sum = 0
  let end = -Infinity
  for (const span of spans) {
    sum += Math.max(0, span.endUs - Math.max(span.startUs, end))
    end = Math.max(end, span.endUs)
  }
  return sum
}
