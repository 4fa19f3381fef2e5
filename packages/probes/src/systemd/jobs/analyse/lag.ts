import { percentile } from '../../../stats/sample.ts'
import type { JobLife } from '../model/job-life.ts'
import type { ReloadWindow } from '../model/play-recording.ts'

/** How long after a unit's own stamp of its end the job's JobRemoved was read, in us. */
export interface SignalLag {
  /** Jobs with both. */
  readonly n: number
  /** Nearest rank; absent where so few values do not tell. */
  readonly p50Us?: number
  readonly p95Us?: number
  readonly maxUs: number
  /** Jobs that ended inside a daemon-reload and are not counted: their signals are held back until it is over. */
  readonly inReload: number
}

/** The lag of a recording's signals; absent where no job has both times. */
export function signalLag(lives: Iterable<JobLife>, reloads: readonly ReloadWindow[]): SignalLag | undefined {
  const lags: number[] = []
  let inReload = 0
  for (const { unitEndUs, removedUs, endSeen } of lives) {
    if (unitEndUs === undefined || removedUs === undefined || endSeen !== 'signal') continue
    if (isInReload(unitEndUs, reloads)) inReload += 1
    else if (removedUs >= unitEndUs) lags.push(removedUs - unitEndUs)
  }
  if (lags.length === 0) return undefined
  const [p50Us, p95Us] = [percentile(lags, 50), percentile(lags, 95)]
  return {
    n: lags.length,
    ...(p50Us === undefined ? {} : { p50Us }),
    ...(p95Us === undefined ? {} : { p95Us }),
    maxUs: lags.reduce((max, lag) => Math.max(max, lag), 0),
    inReload,
  }
}

/** Reloads follow one another, so the last that began by then is the only one that it can be in. */
function isInReload(us: number, reloads: readonly ReloadWindow[]): boolean {
  let [low, high] = [0, reloads.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((reloads[middle]?.startUs ?? 0) <= us) low = middle + 1
    else high = middle
  }
  const window = reloads[low - 1]
  return window !== undefined && us <= (window.endUs ?? Number.POSITIVE_INFINITY)
}
