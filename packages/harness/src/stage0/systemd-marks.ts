import type { Machine } from '@boxlab/native'

/** A look at systemd's own stamps takes milliseconds; a guest that is busy with something else has none. */
const limitMs = 3000

/** The manager's stamps and the marks that they are (org.freedesktop.systemd1(5)). */
const managerMarks = {
  Userspace: 'userspace',
  SecurityStart: 'security-start',
  SecurityFinish: 'security-finish',
  GeneratorsStart: 'generators-start',
  GeneratorsFinish: 'generators-finish',
  UnitsLoadStart: 'units-load-start',
  UnitsLoadFinish: 'units-load-finish',
  Finish: 'systemd-finish',
} as const

/** Targets whose time is a mark. */
const targetMarks = { 'basic.target': 'basic-target', 'multi-user.target': 'multi-user-target' } as const

/**
 * Sets the marks of a systemd boot from what systemd says about itself. Resolves with whether the boot was over by then:
 * if not, some are still to come. A guest without systemd, or without an answer, has none.
 */
export async function systemdMarks(machine: Machine, known: Set<string>): Promise<boolean> {
  const set = (mark: string, atUs: unknown): void => {
    if (typeof atUs !== 'number' || atUs === 0 || known.has(mark)) return
    known.add(mark)
    machine.systemdMark(mark, atUs)
  }
  try {
    const manager = await machine.systemdProperties(undefined, limitMs)
    for (const [name, mark] of Object.entries(managerMarks)) set(mark, manager[`${name}TimestampMonotonic`])
    for (const [unit, mark] of Object.entries(targetMarks)) {
      const properties = await machine.systemdProperties(unit, limitMs)
      set(mark, properties['ActiveEnterTimestampMonotonic'])
    }
    return known.has(managerMarks.Finish)
  } catch {
    return false
  }
}
