import type { Episode } from './episode.ts'
import type { SystemdReading } from '../read/read-systemd.ts'
import type { SystemdState } from '../model.ts'

/** What a person must know to read the figures: something the input cannot show, or an estimate. */
export interface WaitsFinding {
  readonly name:
    | 'whole-seconds'
    | 'no-manager'
    | 'no-kernel-start'
    | 'not-finished'
    | 'reloaded'
    | 'soft-reboot'
    | 'container'
    | 'systemd-initrd'
    | 'no-job'
    | 'restarted'
    | 'damaged-units'
    | 'missing-units'
    | 'input-not-used'
    | 'prompt-not-before'
  readonly message: string
}

/** The blind spots of an input as far as it shows them, for the path to `target`. */
export function blindSpots(reading: SystemdReading, state: SystemdState, target: Episode): readonly WaitsFinding[] {
  const { manager, damaged } = state
  const missing = missingNames(state)
  const finding = (when: boolean, name: WaitsFinding['name'], message: string): readonly WaitsFinding[] =>
    when ? [{ name, message }] : []
  return [
    ...finding(
      state.resolution === 'second',
      'whole-seconds',
      'the times of systemd-analyze dump are whole seconds: units that ended in one second cannot be told apart; `systemctl show --all` has microseconds',
    ),
    ...finding(
      manager?.times.userspace === undefined,
      'no-manager',
      'the input has nothing of PID 1 itself: times count from kernel start, without its phases; add the output of `systemctl show`',
    ),
    ...finding(
      manager !== undefined && manager.times.finish === undefined,
      'not-finished',
      'the boot was not finished when this was read: these are the figures so far',
    ),
    ...finding(
      manager?.times['units-load'] !== undefined,
      'reloaded',
      'PID 1 was reloaded: jobs and units may have changed in between',
    ),
    ...finding(
      (manager?.softReboots ?? 0) > 0,
      'soft-reboot',
      'the system was soft-rebooted: times may be of the boot before',
    ),
    ...finding(
      manager?.times['userspace'] !== undefined &&
        manager.times['security-start'] === undefined &&
        state.source === 'show',
      'container',
      'PID 1 has no security phase, as in a container',
    ),
    ...finding(
      manager?.times.initrd !== undefined,
      'systemd-initrd',
      'systemd ran in the initrd: devices and mounts may have started there',
    ),
    ...finding(
      !target.hadJob,
      'no-job',
      `${target.unit.id} became active without a job: what precedes it on the path is order, and it waited for nothing`,
    ),
    ...finding(target.lastRunOnly, 'restarted', `${target.unit.id} was started more than once: this is its last start`),
    ...finding(
      damaged.size > 0,
      'damaged-units',
      `${damaged.size} units could not be read whole and are not used, so that one of them may be missing on the path`,
    ),
    ...finding(
      missing > 0,
      'missing-units',
      `After= names ${missing} units that are not in the input; ask systemctl with --all`,
    ),
    ...reading.unused.map((name): WaitsFinding => ({
      name: 'input-not-used',
      message: `${name} was not used: properties in microseconds were there`,
    })),
  ]
}

function missingNames(state: SystemdState): number {
  const missing = new Set<string>()
  for (const { after } of state.units.values())
    for (const name of after) if (!state.ids.has(name) && !state.damaged.has(name)) missing.add(name)
  return missing.size
}
