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

/** The marks of one systemd boot, taken from what systemd says about itself. */
export class SystemdMarks {
  readonly #machine: Machine
  readonly #known = new Set<string>()

  constructor(machine: Machine) {
    this.#machine = machine
  }

  /** The boot was over when it was last asked: no mark is still to come. */
  get isComplete(): boolean {
    return this.#known.has(managerMarks.Finish)
  }

  /** Asks, and sets the marks that have come since. A guest without systemd, or without an answer, has none. */
  async read(): Promise<void> {
    try {
      const manager = await this.#machine.systemdProperties(undefined, limitMs)
      for (const [name, mark] of Object.entries(managerMarks)) this.#set(mark, manager[`${name}TimestampMonotonic`])
      for (const [unit, mark] of Object.entries(targetMarks)) {
        const properties = await this.#machine.systemdProperties(unit, limitMs)
        this.#set(mark, properties['ActiveEnterTimestampMonotonic'])
      }
    } catch {
      // What it could not tell now it may tell at the end of the box.
    }
  }

  #set(mark: string, atUs: unknown): void {
    if (typeof atUs !== 'number' || atUs === 0 || this.#known.has(mark)) return
    this.#known.add(mark)
    this.#machine.systemdMark(mark, atUs)
  }
}
