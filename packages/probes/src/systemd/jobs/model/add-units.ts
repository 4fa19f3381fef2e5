import type { SystemdState } from '../../model.ts'
import { episodeOf } from '../../waits/episode.ts'
import type { JobLife } from './job-life.ts'

/**
 * Adds the stamps of `systemctl show` to recorded jobs whose own are not in the recording. A unit shows its last start only,
 * so it counts for its last job, and where its conditions were tested within that job's life.
 */
export function addUnitStamps(lives: ReadonlyMap<number, JobLife>, units: SystemdState): void {
  if (units.resolution !== 'microsecond') return
  const last = new Map<string, JobLife>()
  for (const life of lives.values()) {
    const id = units.ids.get(life.unit) ?? life.unit
    const known = last.get(id)
    if (life.firstSeq !== undefined && (known?.firstSeq ?? -1) < life.firstSeq) last.set(id, life)
  }
  for (const [id, life] of last) {
    const unit = units.units.get(id)
    const episode = unit === undefined ? undefined : episodeOf(unit)
    if (episode === undefined || !episode.hadJob || life.releasedUs !== undefined) continue
    const { runUs, startUs, endUs, endedBy } = episode
    const untilUs = life.removedUs ?? Number.POSITIVE_INFINITY
    if (life.type === 'nop' || runUs <= life.floorUs || runUs > untilUs) continue
    life.releasedUs = runUs
    if (endedBy === 'timeout' || endUs === undefined || endUs > untilUs) continue
    life.unitStartUs = startUs
    life.unitEndUs = endUs
  }
}
