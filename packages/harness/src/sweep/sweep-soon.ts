import { sweep } from './sweep.ts'

/** Records that nobody removed are evidence for this long, unless `BOXLAB_KEEP_DAYS` says otherwise. */
const keepDays = 14
const swept = new Set<string>()

/**
 * Sweeps a state root once in the life of this process, beside whatever else goes on: what dead owners left, and records
 * of boxes that ended long ago. What cannot be swept now can be later, so nobody hears of it; `boxlab sweep` tells.
 */
export function sweepSoon(root: string, environment: NodeJS.ProcessEnv = process.env): void {
  if (swept.has(root)) return
  swept.add(root)
  const days = Number(environment['BOXLAB_KEEP_DAYS'] || keepDays)
  const olderThanMs = days >= 0 ? days * 86_400_000 : Number.POSITIVE_INFINITY
  setImmediate(() => void sweep(root, { olderThanMs }).catch(() => {})).unref()
}
