import type { UnitType } from './unit-name.ts'

/** The last time of each change of a unit's state, in us on the clock of its input; `undefined` was never set. */
export interface UnitTimes {
  /** Conditions were tested: the moment PID 1 ran a start job of the unit. */
  readonly conditionUs: number | undefined
  /** It left inactive or failed. */
  readonly inactiveExitUs: number | undefined
  readonly activeEnterUs: number | undefined
  readonly activeExitUs: number | undefined
  readonly inactiveEnterUs: number | undefined
}

/** A unit as PID 1 had it when the input was made. */
export interface SystemdUnit extends UnitTimes {
  readonly id: string
  readonly type: UnitType
  /** All its names, the id too. */
  readonly names: readonly string[]
  /** `Type=` of a service, such as `oneshot` or `idle`; empty for other units. */
  readonly serviceType: string
  /** The names in `After=`, sorted. */
  readonly after: readonly string[]
  readonly conditionFailed: boolean
  readonly assertFailed: boolean
  /** How often systemd restarted it by itself. */
  readonly restarts: number
  /** True while it has a job. */
  readonly queued: boolean
  /** How long its start job may run, in us; `undefined` without a limit, or where the input does not say. */
  readonly jobRunningTimeoutUs: number | undefined
  readonly triggeredBy: readonly string[]
  /** The units that require, bind to or want it, by `systemctl show`; empty where only a dump tells of it. */
  readonly pulledInBy: readonly string[]
  /** `TimeoutStartSec=` of a service, in us; `undefined` without a limit, or where the input does not say. */
  readonly startTimeoutUs: number | undefined
  /** Its unit file; empty without one. */
  readonly fragmentPath: string
  /** The fork of its main process. */
  readonly execStartUs: number | undefined
  /** The exec of its main process, systemd 256 and later. */
  readonly handoffUs: number | undefined
}

/** PID 1's own stamps, in us on the clock of the input; a stamp that is not there was not reached or not printed. */
export type ManagerTimes = { readonly [stamp in ManagerStamp]?: number }

export type ManagerStamp = (typeof MANAGER_STAMPS)[number]

/** The stamps of the system manager that a boot is cut at (src/core/manager.h), in their order. */
export const MANAGER_STAMPS = [
  'initrd',
  'userspace',
  'security-start',
  'security-finish',
  'generators-start',
  'generators-finish',
  'units-load-start',
  'units-load-finish',
  'finish',
  'units-load',
] as const

/** PID 1 as far as the input tells of it. */
export interface ManagerFacts {
  readonly times: ManagerTimes
  readonly ofUser: boolean
  readonly softReboots: number
}

/** What an input says of one boot. */
export interface SystemdState {
  /** `show`: properties in microseconds; `dump`: `systemd-analyze dump`, whole seconds. */
  readonly source: 'show' | 'dump'
  readonly resolution: 'microsecond' | 'second'
  /** By id, sorted. */
  readonly units: ReadonlyMap<string, SystemdUnit>
  /** Each name and alias to its id. */
  readonly ids: ReadonlyMap<string, string>
  /** Names of units that stand in the input but could not be read whole. */
  readonly damaged: ReadonlySet<string>
  /** True where the units are those of a user's manager, which is no boot. */
  readonly ofUser: boolean
  /** Absent where the input has nothing of PID 1 itself. */
  readonly manager: ManagerFacts | undefined
}
