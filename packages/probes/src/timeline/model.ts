import { type ClockMapping, guestClockOf, PRINTK_SKEW_NS } from './clock.ts'
import type { MarkLine } from './record.ts'
import { MARKS } from './vocabulary.ts'

/** An instant on the axis of the timeline, or why it has none. */
export type Instant =
  | { readonly known: true; readonly ms: number; readonly errorMs: number }
  | { readonly known: false; readonly why: string }

/** The source that was chosen for a mark, and why; every line of the mark is kept beside it. */
export interface ChosenMark {
  readonly mark: string
  readonly chosen: MarkLine
  /** Why this line and not another. */
  readonly why: string
  /** When, from the timeline's zero. */
  readonly at: Instant
  /** All lines of this mark, in the order of the file. */
  readonly sources: readonly MarkLine[]
}

/** The marks of one boot by id. */
export type Marks = ReadonlyMap<string, ChosenMark>

/** Where the axis begins. */
export interface Zero {
  readonly atNs: number
  readonly from: 'start mark' | 'startNs of boot.json' | 'first host mark'
}

/** Where the axis begins: at `start`, or what comes nearest to it; `undefined` without any host instant. */
export function zeroOf(marks: readonly MarkLine[], startNs: number | undefined): Zero | undefined {
  const host = marks.filter(({ clock }) => clock === 'host')
  const start = host.find(({ mark }) => mark === 'start')
  if (start !== undefined) return { atNs: start.atNs, from: 'start mark' }
  if (startNs !== undefined) return { atNs: startNs, from: 'startNs of boot.json' }
  const [first] = host.toSorted((a, b) => a.atNs - b.atNs)
  return first === undefined ? undefined : { atNs: first.atNs, from: 'first host mark' }
}

/** Groups the lines by mark and chooses one source for each. */
export function chooseMarks(lines: readonly MarkLine[], zero: Zero | undefined, clock: ClockMapping): Marks {
  const byMark = new Map<string, MarkLine[]>()
  for (const line of lines) {
    const sources = byMark.get(line.mark)
    if (sources === undefined) byMark.set(line.mark, [line])
    else sources.push(line)
  }
  const chosen = [...byMark].flatMap(([mark, sources]) => choose(mark, sources, zero, clock))
  return new Map(chosen.map((mark) => [mark.mark, mark]))
}

function choose(mark: string, sources: MarkLine[], zero: Zero | undefined, clock: ClockMapping): ChosenMark[] {
  // Sorting is stable, so the earlier line wins among equals.
  const [chosen, second] = sources.toSorted(compare)
  if (chosen === undefined) return []
  return [{ mark, chosen, why: whyChosen(chosen, second), at: instantOf(chosen, zero, clock), sources }]
}

/** Host clock first, then the source that defines the mark, then the smaller error. */
function compare(a: MarkLine, b: MarkLine): number {
  return rankOfClock(a) - rankOfClock(b) || rankOfSource(a) - rankOfSource(b) || errorOf(a) - errorOf(b)
}

function rankOfClock({ clock }: MarkLine): number {
  return clock === 'host' ? 0 : 1
}

function rankOfSource({ mark, source }: MarkLine): number {
  return MARKS[mark] === source ? 0 : 1
}

function errorOf({ errorNs = 0 }: MarkLine): number {
  return errorNs
}

function whyChosen(chosen: MarkLine, second: MarkLine | undefined): string {
  if (second === undefined) return 'the only source'
  if (chosen.clock !== second.clock) return 'on the host clock'
  if (rankOfSource(chosen) !== rankOfSource(second)) return 'the source that defines this mark'
  return errorOf(chosen) === errorOf(second) ? 'the first of equal lines' : 'the smallest error'
}

function instantOf(line: MarkLine, zero: Zero | undefined, clock: ClockMapping): Instant {
  if (zero === undefined) return { known: false, why: 'the record has no instant on the host clock' }
  const placed = hostInstant(line, clock)
  if (typeof placed === 'string') return { known: false, why: placed }
  return { known: true, ms: (placed.atNs - zero.atNs) / 1e6, errorMs: placed.errorNs / 1e6 }
}

function hostInstant(line: MarkLine, clock: ClockMapping): { atNs: number; errorNs: number } | string {
  if (line.clock === 'host') return { atNs: line.atNs, errorNs: errorOf(line) }
  if (clock.state !== 'mapped') return `it is on the guest clock, and ${clock.why}`
  const { atNs, errorNs } = clock.toHost(line.atNs)
  const skewNs = guestClockOf(line) === clock.clock ? 0 : PRINTK_SKEW_NS
  return { atNs, errorNs: errorNs + errorOf(line) + skewNs }
}
