/** An input that is text. */
export interface TextInput {
  readonly name: string
  readonly input: string
}

/** A unit as `systemctl show` would have it; times in us, 0 or absent is unset. */
export interface UnitSpec {
  readonly id: string
  readonly after?: readonly string[]
  readonly names?: readonly string[]
  /** ConditionTimestampMonotonic, InactiveExit, ActiveEnter, ActiveExit, InactiveEnter. */
  readonly at?: readonly [condition: number, exit?: number, enter?: number, activeExit?: number, inactiveEnter?: number]
  /** Further properties, such as `NRestarts`. */
  readonly more?: { readonly [key: string]: string | number }
}

/** One block of `systemctl show --all`. */
export function showBlock({ id, after = [], names = [], at = [0], more = {} }: UnitSpec): string {
  // Fractions of a second are handy in a test and inexact in binary.
  const [condition = 0, exit = 0, enter = 0, activeExit = 0, inactiveEnter = 0] = at.map((us = 0) => Math.round(us))
  return [
    `Id=${id}`,
    `Names=${[id, ...names].join(' ')}`,
    `After=${after.join(' ')}`,
    `ConditionTimestampMonotonic=${condition}`,
    `InactiveExitTimestampMonotonic=${exit}`,
    `ActiveEnterTimestampMonotonic=${enter}`,
    `ActiveExitTimestampMonotonic=${activeExit}`,
    `InactiveEnterTimestampMonotonic=${inactiveEnter}`,
    ...Object.entries(more).map(([key, value]) => `${key}=${typeof value === 'number' ? Math.round(value) : value}`),
    '',
  ].join('\n')
}

/** The output of `systemctl show --all` for some units. */
export function showUnits(units: readonly UnitSpec[]): string {
  return units.map(showBlock).join('\n')
}

/** The manager of the small boots: PID 1 starts at 1 s, its units are loaded at 1.5 s. */
export const MANAGER_TIMES = {
  Userspace: 1_000_000,
  SecurityStart: 1_010_000,
  SecurityFinish: 1_020_000,
  GeneratorsStart: 1_100_000,
  GeneratorsFinish: 1_300_000,
  UnitsLoadStart: 1_301_000,
  UnitsLoadFinish: 1_500_000,
  Finish: 90_000_000,
}

/** The output of `systemctl show` for PID 1. */
export function showManager(times: { readonly [stamp: string]: number } = MANAGER_TIMES): string {
  return `Version=252\n${Object.entries(times)
    .map(([name, us]) => `${name}TimestampMonotonic=${Math.round(us)}\n`)
    .join('')}`
}

/** Both outputs of a small boot. */
export function aBoot(
  units: readonly UnitSpec[],
  times?: { readonly [stamp: string]: number },
): readonly [TextInput, TextInput] {
  return [
    { name: 'units', input: showUnits(units) },
    { name: 'manager', input: showManager(times) },
  ]
}
