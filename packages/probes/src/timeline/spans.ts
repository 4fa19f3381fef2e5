import { type ClockMapping, guestClockOf, MAX_RATE_ERROR, PRINTK_SKEW_NS } from './clock.ts'
import type { ChosenMark } from './model.ts'
import type { MarkLine } from './record.ts'

/** The time between two marks. */
export type Span =
  | { readonly state: 'measured'; readonly durationMs: number; readonly errorMs: number }
  /** The end lies before the beginning by more than the clocks can be wrong. */
  | { readonly state: 'negative'; readonly durationMs: number; readonly errorMs: number }
  | { readonly state: 'unknown'; readonly why: string }

/** The time from one mark to another. On the guest's clock alone where both were stamped by it. */
export function spanBetween(from: ChosenMark, to: ChosenMark, clock: ClockMapping): Span {
  if (from.chosen.clock === 'guest' && to.chosen.clock === 'guest') return guestSpan(from.chosen, to.chosen, clock)
  if (from.at.known && to.at.known) return judge(to.at.ms - from.at.ms, from.at.errorMs + to.at.errorMs)
  // One end cannot be placed on the host's axis; the guest may have stamped both all the same.
  const [a, b] = [guestLine(from), guestLine(to)]
  if (a !== undefined && b !== undefined) return guestSpan(a, b, clock)
  return { state: 'unknown', why: [from, to].flatMap(whyUnplaced).join(', and ') }
}

// Without a mapping the guest's seconds count as seconds, within the rate at which a clock becomes invalid.
const UNMAPPED = { rate: 1, rateError: MAX_RATE_ERROR, residualNs: 0 }

function guestSpan(from: MarkLine, to: MarkLine, clock: ClockMapping): Span {
  if (clock.state === 'invalid') return { state: 'unknown', why: clock.why }
  const guestNs = to.atNs - from.atNs
  const { rate, rateError, residualNs } = clock.state === 'mapped' ? clock : UNMAPPED
  const skewNs = guestClockOf(from) === guestClockOf(to) ? 0 : PRINTK_SKEW_NS
  const errorNs = Math.abs(guestNs) * rateError + residualNs + (from.errorNs ?? 0) + (to.errorNs ?? 0) + skewNs
  return judge((guestNs * rate) / 1e6, errorNs / 1e6)
}

/** Negative within the error is 0 plus or minus the error; beyond it is an error of a clock. */
function judge(durationMs: number, errorMs: number): Span {
  if (durationMs < -errorMs) return { state: 'negative', durationMs, errorMs }
  return { state: 'measured', durationMs: Math.max(0, durationMs), errorMs }
}

function guestLine({ sources }: ChosenMark): MarkLine | undefined {
  return sources.find(({ clock }) => clock === 'guest')
}

function whyUnplaced({ mark, at }: ChosenMark): string[] {
  return at.known ? [] : [`${mark} has no place in time: ${at.why}`]
}
