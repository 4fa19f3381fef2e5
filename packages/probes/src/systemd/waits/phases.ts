import type { ManagerStamp, ManagerTimes } from '../model.ts'

/** What runs before the first unit, in order. */
export type PhaseName = 'kernel' | 'initrd' | 'start' | 'security' | 'setup' | 'generators' | 'units-load' | 'dispatch'

/** A span of PID 1's (or the kernel's) own work, in us on the clock of the input. */
export interface Phase {
  readonly name: PhaseName
  readonly startUs: number
  readonly endUs: number
}

// A phase is named by the stamp that ends it. What PID 1 does between two phases that it stamps is `setup`: before the
// generators cgroups and BPF, and a second, short one before the units are loaded.
const ENDS: readonly (readonly [PhaseName, ManagerStamp])[] = [
  ['kernel', 'initrd'],
  ['initrd', 'userspace'],
  ['start', 'security-start'],
  ['security', 'security-finish'],
  ['setup', 'generators-start'],
  ['generators', 'generators-finish'],
  ['setup', 'units-load-start'],
  ['units-load', 'units-load-finish'],
]

/**
 * The phases from `originUs` to `untilUs`, without a hole. Where a stamp is missing (a container has no security phase) or
 * not in order, its time is part of the phase that ends next.
 */
export function phasesUntil(times: ManagerTimes, originUs: number, untilUs: number): readonly Phase[] {
  const phases: Phase[] = []
  let startUs = originUs
  function until(name: PhaseName, endUs: number): void {
    if (endUs <= startUs) return
    phases.push({ name, startUs, endUs })
    startUs = endUs
  }
  for (const [name, stamp] of ENDS) {
    const endUs = times[stamp]
    const noInitrd = stamp === 'userspace' && times.initrd === undefined
    if (endUs !== undefined) until(noInitrd ? 'kernel' : name, Math.min(endUs, untilUs))
  }
  until('dispatch', untilUs)
  return phases
}
