import { isDead, visiblePids, visibleStat } from '../../src/proc.ts'
import { textOrEmpty } from '../../src/read-or-empty.ts'

/** A process of a cell, alive. */
export interface CellProcess {
  readonly pid: number
  readonly startTicks: string
  readonly isEngine: boolean
}

/** The variable that every process of a cell inherits, so that it is known whoever its parent has become. */
export const CELL_VARIABLE = 'BOXLAB_KILL_CELL'

/** The processes of one cell, each remembered from its first sight on: a zombie tells nothing of itself. */
export class CellProcesses {
  readonly #entry: string
  readonly #known = new Map<string, CellProcess>()

  constructor(cell: string) {
    this.#entry = `${CELL_VARIABLE}=${cell}`
  }

  /** Those that live now. */
  alive(): CellProcess[] {
    return visiblePids().flatMap((pid) => {
      const stat = visibleStat(pid)
      if (stat === undefined || isDead(stat)) return []
      const key = `${pid} ${stat.startTicks}`
      // Looked up anew until it is an engine: a fork is its parent's copy until its exec.
      if (!this.#known.get(key)?.isEngine) {
        if (!textOrEmpty(`/proc/${pid}/environ`).split('\0').includes(this.#entry)) return []
        const isEngine = textOrEmpty(`/proc/${pid}/cmdline`).includes('\0-name\0boxlab-')
        this.#known.set(key, { pid, startTicks: stat.startTicks, isEngine })
      }
      const found = this.#known.get(key)
      return found ? [found] : []
    })
  }

  /** Engines that have ended and were not waited for, and those of them whose parent is the given process. */
  zombieEngines(owner: number): { readonly all: number; readonly ofOwner: number } {
    const engines = [...this.#known.values()].filter(({ isEngine }) => isEngine)
    const zombies = engines.flatMap(({ pid, startTicks }) => {
      const stat = visibleStat(pid)
      return stat?.startTicks === startTicks && isDead(stat) ? [stat] : []
    })
    return { all: zombies.length, ofOwner: zombies.filter(({ parent }) => parent === owner).length }
  }
}
