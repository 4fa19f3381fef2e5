import type { ClockSample, MarkLine } from './record.ts'

/** One guest instant with the host interval it lies in. */
export interface ClockAnchor {
  readonly guestNs: number
  readonly hostNs: number
  /** Half the width of the interval around `hostNs`, in ns. */
  readonly errorNs: number
}

/** An instant on one clock's axis with its error, in ns. */
export interface HostInstant {
  readonly atNs: number
  readonly errorNs: number
}

/** Which of the guest's clocks: CLOCK_MONOTONIC, or the sched_clock that printk stamps lines with. */
export type GuestClock = 'monotonic' | 'printk'

/** How guest stamps become host instants, or why they cannot. */
export type ClockMapping =
  | {
      readonly state: 'mapped'
      readonly basis: 'pings' | 'console-receipt'
      readonly clock: GuestClock
      /** Host nanoseconds in one guest nanosecond. */
      readonly rate: number
      /** Half the width of the interval that holds the true rate. */
      readonly rateError: number
      /** How far the worst anchor lies off the line beyond its own error; part of every error of this mapping. */
      readonly residualNs: number
      readonly anchors: number
      toHost(guestNs: number): HostInstant
    }
  | { readonly state: 'invalid'; readonly why: string }
  | { readonly state: 'absent'; readonly why: string }

/** A guest clock further than this from the host's rate is invalid: its TSC was calibrated wrongly. */
export const MAX_RATE_ERROR = 0.005

/** How late the host may read a console line after the guest stamped it, in ns. Measured under TCG: 3 to 33 ms. */
export const RECEIPT_LAG_NS = 50e6

/**
 * printk's clock is not CLOCK_MONOTONIC but runs ahead of it, by what the kernel needs before it keeps time. Measured
 * with Linux 6.1 and 6.12 under TCG: 24 to 149 ms. A stamp of the one clock that is mapped by anchors of the other gets
 * this much more error, in ns.
 */
export const PRINTK_SKEW_NS = 250e6

/** Reading a clock takes time: no exchange is more exact than this, in ns. */
export const READ_ERROR_NS = 500

/** The anchors that pings to the agent give: the guest read its clock somewhere between send and receipt. */
export function pingAnchors(samples: readonly ClockSample[]): ClockAnchor[] {
  return samples.map(({ hostSendNs, guestNs, hostRecvNs }) => ({
    guestNs,
    hostNs: (hostSendNs + hostRecvNs) / 2,
    errorNs: Math.max((hostRecvNs - hostSendNs) / 2, READ_ERROR_NS),
  }))
}

/** The anchors that console lines stamped by `which` clock give: the host read each at most a lag later. */
export function receiptAnchors(marks: readonly MarkLine[], which: GuestClock): ClockAnchor[] {
  const console = marks.filter(({ mark, source }) => source === 'console' && mark !== HELD_BACK)
  return console
    .filter((line) => line.clock === 'guest' && guestClockOf(line) === which)
    .flatMap((stamp) => {
      const receipt = console.find(({ mark, clock }) => mark === stamp.mark && clock === 'host')
      if (receipt === undefined) return []
      const lag = RECEIPT_LAG_NS / 2
      return [{ guestNs: stamp.atNs, hostNs: receipt.atNs - lag, errorNs: lag + (receipt.errorNs ?? 0) }]
    })
}

// The kernel holds its first lines back until the console is registered, so their receipt says nothing on their stamp.
const HELD_BACK = 'kernel-first-line'

/** Which guest clock a guest-clock mark was read from: on the console printk's, but for the line of our agent. */
export function guestClockOf({ mark, source }: MarkLine): GuestClock {
  return source === 'console' && mark !== 'agent-up' ? 'printk' : 'monotonic'
}

/** Maps the guest's clock: by pings where there are some, else by when console lines came. */
export function mapClock(samples: readonly ClockSample[], marks: readonly MarkLine[]): ClockMapping {
  if (samples.length > 0) return fitClock(pingAnchors(samples), 'pings', 'monotonic')
  for (const which of ['monotonic', 'printk'] as const) {
    const receipts = receiptAnchors(marks, which)
    if (receipts.length > 0) return fitClock(receipts, 'console-receipt', which)
  }
  return { state: 'absent', why: 'no ping to the agent and no stamped console line says where the guest clock stands' }
}

/** Fits offset and rate through the best early and the best late anchor. */
export function fitClock(
  anchors: readonly ClockAnchor[],
  basis: 'pings' | 'console-receipt',
  clock: GuestClock,
): ClockMapping {
  const sorted = anchors.toSorted((a, b) => a.guestNs - b.guestNs)
  const third = Math.ceil(sorted.length / 3)
  const early = best(sorted.slice(0, third))
  const late = best(sorted.slice(-third))
  if (early === undefined || late === undefined) return { state: 'absent', why: 'no clock sample' }
  const line = throughTwo(early, late) ?? throughOne(best(sorted) ?? early)
  const off = Math.abs(line.rate - 1) - line.rateError
  if (off > MAX_RATE_ERROR) return { state: 'invalid', why: wrongRate(line.rate) }
  const residualNs = Math.max(...sorted.map((anchor) => residual(anchor, line.toHost(anchor.guestNs))))
  const reachNs = late.guestNs - early.guestNs
  if (residualNs > MAX_RATE_ERROR * reachNs) return { state: 'invalid', why: stepped(residualNs) }
  return {
    state: 'mapped',
    basis,
    clock,
    rate: line.rate,
    rateError: line.rateError,
    residualNs,
    anchors: anchors.length,
    toHost(guestNs) {
      const { atNs, errorNs } = line.toHost(guestNs)
      return { atNs, errorNs: errorNs + residualNs }
    },
  }
}

/** A host instant on the guest's clock: the same line read the other way. `errorNs` is of the guest's nanoseconds. */
export function toGuest(mapping: ClockMapping & { readonly state: 'mapped' }, hostNs: number): HostInstant {
  const guestNs = (hostNs - mapping.toHost(0).atNs) / mapping.rate
  return { atNs: guestNs, errorNs: mapping.toHost(guestNs).errorNs / mapping.rate }
}

interface Line {
  readonly rate: number
  readonly rateError: number
  toHost(guestNs: number): HostInstant
}

function throughTwo(early: ClockAnchor, late: ClockAnchor): Line | undefined {
  const guestNs = late.guestNs - early.guestNs
  const rateError = (early.errorNs + late.errorNs) / guestNs
  // Anchors too close together (or one anchor) say less about the rate than the bound that holds anyway.
  if (!(rateError <= MAX_RATE_ERROR)) return undefined
  const hostNs = late.hostNs - early.hostNs
  return {
    rate: hostNs / guestNs,
    rateError,
    toHost(at) {
      const share = (at - early.guestNs) / guestNs
      // The two errors move the ends of the line; this is the furthest it can then be off at `at`.
      const errorNs = Math.abs(1 - share) * early.errorNs + Math.abs(share) * late.errorNs
      return { atNs: early.hostNs + share * hostNs, errorNs }
    },
  }
}

function throughOne(anchor: ClockAnchor): Line {
  return {
    rate: 1,
    rateError: MAX_RATE_ERROR,
    toHost(at) {
      const fromAnchor = at - anchor.guestNs
      return { atNs: anchor.hostNs + fromAnchor, errorNs: anchor.errorNs + MAX_RATE_ERROR * Math.abs(fromAnchor) }
    },
  }
}

function best(anchors: readonly ClockAnchor[]): ClockAnchor | undefined {
  return anchors.reduce<ClockAnchor | undefined>(
    (a, b) => (a === undefined || b.errorNs < a.errorNs ? b : a),
    undefined,
  )
}

function residual(anchor: ClockAnchor, mapped: HostInstant): number {
  return Math.max(0, Math.abs(mapped.atNs - anchor.hostNs) - anchor.errorNs - mapped.errorNs)
}

function wrongRate(rate: number): string {
  const percent = (Math.abs(1 / rate - 1) * 100).toFixed(2)
  const way = rate < 1 ? 'fast' : 'slow'
  return `the guest clock runs ${percent} % ${way}; pass the host's measured TSC frequency as tsc_early_khz`
}

function stepped(residualNs: number): string {
  return `the guest clock was stepped: a sample is ${(residualNs / 1e6).toFixed(1)} ms off the line through the others`
}
