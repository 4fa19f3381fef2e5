/** The types of units of systemd 247 to 262, as the last part of a unit's name (src/basic/unit-def.c). */
export type UnitType = (typeof UNIT_TYPES)[number]

const UNIT_TYPES = [
  'service',
  'socket',
  'device',
  'mount',
  'automount',
  'swap',
  'target',
  'path',
  'timer',
  'slice',
  'scope',
] as const

// VALID_CHARS of src/basic/unit-name.c. The limit is UNIT_NAME_MAX, 255 characters.
const UNIT_NAME = new RegExp(`^[A-Za-z0-9:_.\\\\@-]{1,255}\\.(${UNIT_TYPES.join('|')})$`)

/**
 * The type of a unit by its name; `undefined` for a text that is no unit name. Being strict here is what tells a name
 * that a kernel message tore apart from a whole one.
 */
export function unitTypeOf(name: string): UnitType | undefined {
  return name.length > 255 ? undefined : (UNIT_NAME.exec(name)?.[1] as UnitType | undefined)
}
