import type { Episode } from './episode.ts'

/** A time in which no unit was activating, in us on the clock of the input. */
export interface IdleGap {
  readonly startUs: number
  readonly endUs: number
  /** The unit whose end opened it. */
  readonly openedBy: string
  /** The unit whose start closed it. */
  readonly closedBy: string
}

/**
 * The idle gaps of the whole boot up to `untilUs`, whatever the path is. A unit that starts and ends in one instant closes
 * a gap and opens the next. Devices do not count as activating: a tentative one would cover everything. What lies before
 * `fromUs`, when PID 1 had loaded its units, is a phase and no gap.
 */
export function idleGaps(episodes: Iterable<Episode>, fromUs: number, untilUs: number): readonly IdleGap[] {
  const sorted = [...episodes]
    .filter(({ unit, startUs }) => unit.type !== 'device' && startUs <= untilUs)
    .toSorted(byStart)
  const gaps: IdleGap[] = []
  let latest: { readonly endUs: number; readonly id: string } | undefined
  for (const { unit, startUs, endUs = Number.POSITIVE_INFINITY } of sorted) {
    if (latest !== undefined && startUs > Math.max(latest.endUs, fromUs))
      gaps.push({ startUs: Math.max(latest.endUs, fromUs), endUs: startUs, openedBy: latest.id, closedBy: unit.id })
    if (latest === undefined || endUs > latest.endUs) latest = { endUs, id: unit.id }
  }
  return gaps
}

function byStart(a: Episode, b: Episode): number {
  const ends = (a.endUs ?? Number.POSITIVE_INFINITY) - (b.endUs ?? Number.POSITIVE_INFINITY)
  return a.startUs - b.startUs || (Number.isNaN(ends) ? 0 : ends) || (a.unit.id < b.unit.id ? -1 : 1)
}
