import type { SystemdManager, SystemdUnit } from '@boxlab/native'

/** What a state means to one who waits: it came, it cannot come any more, or not yet. */
export type Verdict =
  | { readonly came: true }
  | { readonly came: false; readonly never: string }
  | { readonly came: false; readonly notYet: string }

const came: Verdict = { came: true }

/**
 * Whether a unit is up. A job in the queue may change everything, so nothing is final while there is one; an `inactive`
 * unit is done only where its own stamps say that it ran (systemd.service(5), Type=oneshot), not because it has not begun.
 */
export function unitVerdict(unit: SystemdUnit): Verdict {
  const { id, loadState, activeState, subState, hasJob } = unit
  const seen = `${activeState} (${subState})${hasJob ? ', a job for it is queued' : ''}`
  if (activeState === 'active' && !hasJob) return came
  if (loadState === 'masked') return never(`${id} is masked`)
  if (hasJob || activeState === 'activating' || activeState === 'reloading') return { came: false, notYet: seen }
  if (activeState === 'failed') return never(`${id} failed (Result=${unit.result ?? 'unknown'})`)
  if (loadState === 'not-found') return absent(unit, seen)
  if (activeState === 'inactive' && unit.conditionUs > 0 && !unit.conditionMet) {
    return never(`${id} was skipped: one of its conditions is not met`)
  }
  if (unit.lastJob === 'dependency') return never(`${id} was not started: something that it needs failed`)
  const ended = unit.inactiveEnterUs > 0 && unit.inactiveEnterUs >= unit.inactiveExitUs
  // systemd forgets the stamps of a unit that nothing needs; the end of its job tells then.
  const ran = ended || unit.lastJob === 'done'
  if (activeState === 'inactive' && unit.type === 'oneshot' && ran && unit.result === 'success') return came
  return { came: false, notYet: seen }
}

/** Before the boot is over a generator or a package may still bring the unit. */
function absent({ id, booted }: SystemdUnit, seen: string): Verdict {
  return booted ? never(`the guest has no unit ${id}`) : { came: false, notYet: `${seen}, not found` }
}

/** Whether the boot is over, and well enough. */
export function managerVerdict({ state, failed, jobs }: SystemdManager, wanted: 'running' | 'degraded'): Verdict {
  if (state === 'running' || (state === 'degraded' && wanted === 'degraded')) return came
  if (state === 'degraded') return never(`systemd is degraded: ${failed.join(', ')} failed`)
  if (state === 'maintenance') return never('systemd is in maintenance: the emergency or rescue target runs')
  if (state === 'stopping') return never('systemd is stopping')
  return { came: false, notYet: `systemd is ${state}, ${jobs} jobs queued` }
}

function never(reason: string): Verdict {
  return { came: false, never: reason }
}
