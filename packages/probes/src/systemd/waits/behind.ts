import type { Episode } from './episode.ts'
import type { LoginPrompt } from './prompt.ts'

/** A unit whose start was not over when the target was reached. Times in us on the clock of the input. */
export interface Behind {
  readonly unit: string
  readonly startUs: number
  /** Absent where the start is not over. */
  readonly endUs?: number
  /** Whether it was being started when the target was reached, or was started later. */
  readonly state: 'running' | 'later'
  /** What its job held back: the login prompt (getty is Type=idle), the end of the boot as systemd counts it. */
  readonly holds: readonly ('login-prompt' | 'startup-finished')[]
}

/**
 * What still starts behind `atUs`: first what was running then, then what came later, each by start and name. Devices
 * and units whose condition failed are left out.
 */
export function startsBehind(
  episodes: Iterable<Episode>,
  atUs: number,
  prompt: LoginPrompt | undefined,
  finishUs: number | undefined,
): readonly Behind[] {
  return [...episodes]
    .filter(
      ({ unit, endUs }) =>
        unit.type !== 'device' && unit.inactiveExitUs !== undefined && (endUs ?? Number.POSITIVE_INFINITY) > atUs,
    )
    .map((episode): Behind => ({
      unit: episode.unit.id,
      startUs: episode.startUs,
      ...(episode.endUs === undefined ? {} : { endUs: episode.endUs }),
      state: episode.startUs <= atUs ? 'running' : 'later',
      holds: heldBy(episode, prompt, finishUs),
    }))
    .toSorted(
      (a, b) =>
        Number(a.state === 'later') - Number(b.state === 'later') ||
        a.startUs - b.startUs ||
        (a.unit < b.unit ? -1 : 1),
    )
}

function heldBy(
  { unit, hadJob, runUs, endUs }: Episode,
  prompt: LoginPrompt | undefined,
  finishUs: number | undefined,
): Behind['holds'] {
  if (!hadJob || endUs === undefined) return []
  const holdsPrompt =
    prompt?.endedBy !== undefined && prompt.unit !== unit.id && runUs < prompt.promptUs && endUs > prompt.forkUs
  return [
    ...(holdsPrompt ? (['login-prompt'] as const) : []),
    ...(finishUs !== undefined && endUs <= finishUs ? (['startup-finished'] as const) : []),
  ]
}
