import type { SystemdState, SystemdUnit } from '../model.ts'

/** What PID 1 did to bring a unit up, the last time it did. Times in us on the clock of the input. */
export interface Episode {
  readonly unit: SystemdUnit
  /** PID 1 ran the start job. */
  readonly runUs: number
  /** The unit left inactive. */
  readonly startUs: number
  /** The start was over; `undefined` while it goes on, or where nobody can say. */
  readonly endUs: number | undefined
  /** What the end was. */
  readonly endedBy: 'active' | 'finished' | 'condition' | 'timeout' | undefined
  /** True where a start job led to it. */
  readonly hadJob: boolean
  /** True where the times are of a later start, and those of the first are overwritten. */
  readonly lastRunOnly: boolean
}

/** The episodes of all units that have one, by id. */
export function episodesOf(state: SystemdState): ReadonlyMap<string, Episode> {
  const episodes = new Map<string, Episode>()
  for (const unit of state.units.values()) {
    const episode = episodeOf(unit)
    if (episode !== undefined) episodes.set(unit.id, episode)
  }
  return episodes
}

/** The episode of a unit; `undefined` for one that was never started, or whose job was deleted. */
export function episodeOf(unit: SystemdUnit): Episode | undefined {
  const { conditionUs, inactiveExitUs } = unit
  if (inactiveExitUs === undefined) return conditionUs === undefined ? undefined : unstarted(unit, conditionUs)
  return {
    unit,
    // A condition that was tested after the start belongs to a later job.
    runUs: conditionUs !== undefined && conditionUs <= inactiveExitUs ? conditionUs : inactiveExitUs,
    startUs: inactiveExitUs,
    ...endOf(unit, inactiveExitUs),
    hadJob: conditionUs !== undefined,
    lastRunOnly:
      unit.restarts > 0 ||
      isBefore(unit.activeExitUs, inactiveExitUs) ||
      isBefore(unit.inactiveEnterUs, inactiveExitUs),
  }
}

/** A job was run and the unit stayed inactive. */
function unstarted(unit: SystemdUnit, conditionUs: number): Episode {
  const common = { unit, runUs: conditionUs, startUs: conditionUs, hadJob: true, lastRunOnly: unit.restarts > 0 }
  // Until its condition was tested it held back what is ordered after it.
  if (unit.conditionFailed || unit.assertFailed) return { ...common, endUs: conditionUs, endedBy: 'condition' }
  if (unit.type === 'device' && unit.jobRunningTimeoutUs !== undefined && !unit.queued)
    return { ...common, endUs: conditionUs + unit.jobRunningTimeoutUs, endedBy: 'timeout' }
  return { ...common, endUs: undefined, endedBy: undefined }
}

function endOf(unit: SystemdUnit, startUs: number): Pick<Episode, 'endUs' | 'endedBy'> {
  const { activeEnterUs, inactiveEnterUs } = unit
  if (activeEnterUs !== undefined && activeEnterUs >= startUs) return { endUs: activeEnterUs, endedBy: 'active' }
  // A oneshot without RemainAfterExit is never active: it is done when it is inactive again.
  if (inactiveEnterUs !== undefined && inactiveEnterUs >= startUs)
    return { endUs: inactiveEnterUs, endedBy: 'finished' }
  return { endUs: undefined, endedBy: undefined }
}

function isBefore(us: number | undefined, startUs: number): boolean {
  return us !== undefined && us < startUs
}
