// By offset, in order; PCI Local Bus 3.0 section 6.1 and PCI Express base section 7.5.1. Bridges have their bus numbers and
// windows where endpoints have the later BARs.
const GROUPS: readonly (readonly [from: number, name: string])[] = [
  [0x00, 'id'],
  [0x04, 'command'],
  [0x08, 'class'],
  [0x0c, 'header'],
  [0x10, 'bars'],
  [0x28, 'subsystem'],
  [0x30, 'rom'],
  [0x34, 'capabilities'],
  [0x3c, 'interrupt'],
  [0x40, 'device'],
  [0x100, 'extended'],
]

/** The names, in the order of their offsets. */
export const REGISTER_GROUPS: readonly string[] = GROUPS.map(([, name]) => name)

/** The group of a register of configuration space: `id`, `command` (with status), … `device` (0x40 to 0xff), `extended`. */
export function registerGroup(register: number): string {
  return GROUPS.findLast(([from]) => register >= from)?.[1] ?? 'extended'
}
