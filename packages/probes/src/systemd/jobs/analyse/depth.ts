import type { QueueDepth } from '../jobs-report.ts'
import type { Played } from '../model/play-recording.ts'

/** How many jobs were queued; absent without a recording that has the answer to ListJobs. */
export function queueDepth({ atConnect, steps }: Played): QueueDepth | undefined {
  const [first] = steps
  if (atConnect === undefined || first === undefined) return undefined
  let most = first
  for (const step of steps) if (step.jobs > most.jobs) most = step
  return {
    atConnect: atConnect.jobs,
    max: most.jobs,
    maxAtUs: most.atUs,
    atEnd: steps.at(-1)?.jobs ?? 0,
    steps,
  }
}
