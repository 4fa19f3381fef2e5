import type { Episode } from './episode.ts'
import type { SystemdState } from '../model.ts'
import type { ConsolePrompt } from './console-prompt.ts'
import type { IdleEnd } from './path.ts'

/** When the login prompt came, in us on the clock of the input. */
export interface LoginPrompt {
  /** The getty. */
  readonly unit: string
  /** Its ActiveEnter, which is not the prompt: getty is Type=idle and waits. */
  readonly activeUs: number
  /** The fork of its process. */
  readonly forkUs: number
  readonly promptUs: number
  /** `handoff`: the exec itself (systemd 256 and later). `not-before`: worked out; getty's own start comes on top. */
  readonly from: 'handoff' | 'not-before'
  /** What ended the wait; absent where the getty is not Type=idle. */
  readonly endedBy?: IdleEnd
  /** When the host had it on the console; absent where no record tells. */
  readonly console?: ConsolePrompt
}

// MANAGER_IDLE_PIPE: a Type=idle child waits that long for the queue to drain (src/core/exec-invoke.c).
const IDLE_TIMEOUT_US = 5_000_000
// A box has its console on a serial line, so that its getty comes before those of virtual terminals.
const GETTYS = [/^serial-getty@/, /^console-getty\.service$/, /^container-getty@/, /^getty@/]

/** The prompt of the first getty that came up; `undefined` where none did. */
export function loginPrompt(state: SystemdState, episodes: ReadonlyMap<string, Episode>): LoginPrompt | undefined {
  for (const pattern of GETTYS) {
    const [first] = [...episodes.values()]
      .filter(({ unit, endUs }) => pattern.test(unit.id) && unit.type === 'service' && endUs !== undefined)
      .toSorted((a, b) => (a.endUs ?? 0) - (b.endUs ?? 0) || (a.unit.id < b.unit.id ? -1 : 1))
    if (first?.endUs !== undefined) return promptOf(first, first.endUs, state.manager?.times.finish)
  }
  return undefined
}

function promptOf({ unit }: Episode, activeUs: number, finishUs: number | undefined): LoginPrompt {
  const forkUs = unit.execStartUs ?? activeUs
  const common = { unit: unit.id, activeUs, forkUs }
  const { handoffUs } = unit
  if (handoffUs !== undefined && handoffUs >= forkUs)
    return {
      ...common,
      promptUs: Math.max(handoffUs, activeUs),
      from: 'handoff',
      ...(unit.serviceType === 'idle'
        ? { endedBy: finishUs !== undefined && finishUs <= handoffUs ? 'queue drained' : 'timeout of 5 s' }
        : {}),
    }
  if (unit.serviceType !== 'idle') return { ...common, promptUs: activeUs, from: 'not-before' }
  const drained = finishUs !== undefined && finishUs < forkUs + IDLE_TIMEOUT_US
  return {
    ...common,
    promptUs: Math.max(activeUs, drained ? finishUs : forkUs + IDLE_TIMEOUT_US),
    from: 'not-before',
    endedBy: drained ? 'queue drained' : 'timeout of 5 s',
  }
}
