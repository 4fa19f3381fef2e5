import type { NativeTurn } from './binding.ts'
import { toBoxError } from './errors.ts'
import { native } from './loader.ts'

/** One entry of the ledger (`crates/runtime/src/ledger/decide.rs`): a box, or somebody who wants the host alone. */
export interface LedgerEntry {
  readonly want: 'box' | 'exclusive'
  readonly stand: 'waiting' | 'booting' | 'running'
  /** The box's id, or a word for who wants the host alone. */
  readonly id: string
  /** What a person calls it. */
  readonly label?: string
  readonly memoryMib: number
  readonly cpus: number
  /** Its process, as that counts itself. */
  readonly pid: number
}

/** What is asked of the ledger. */
export interface Claim extends Pick<LedgerEntry, 'want' | 'id'> {
  readonly label?: string | undefined
  readonly memoryMib?: number
  readonly cpus?: number
}

/** What all boxes together may have. */
export interface LedgerLimits {
  /** Guest memory of all boxes that boot or run, in MiB. */
  readonly maxMemoryMib: number
  /** Boxes that boot or run at once. */
  readonly maxBoxes?: number | undefined
  /** Virtual CPUs of all boxes that boot. */
  readonly maxBootingCpus: number
}

/** Whether it is one's turn. */
export interface Asked {
  /** What is short; absent when it is its turn. */
  readonly why?: 'exclusive' | 'others' | 'memory' | 'boxes' | 'cpus' | 'queue'
  /** Who has what it waits for. */
  readonly holders: readonly LedgerEntry[]
  /** Who is before it in the queue. */
  readonly ahead: readonly LedgerEntry[]
}

/** A place in the ledger: it is left by `leave`, by the end of the box that was given it, or by the end of the process. */
export class Turn {
  /** The addon's object, for the box that is made with it. */
  readonly native: NativeTurn

  /** Queues up in the ledger of a folder, which is made where it is missing. */
  constructor(dir: string, claim: Claim, limits: LedgerLimits) {
    const { NativeTurn } = native()
    this.native = calling(() => new NativeTurn(dir, JSON.stringify(claim), JSON.stringify(limits)))
  }

  /** Whether it is its turn, which it then has. */
  ask(): Asked {
    return JSON.parse(calling(() => this.native.ask())) as Asked
  }

  /** Gives back what it has. Again is no error. */
  leave(): void {
    this.native.leave()
  }
}

/** Who stands in the ledger of a folder, in the order in which they came. */
export function ledgerEntries(dir: string): LedgerEntry[] {
  return JSON.parse(calling(() => native().ledgerEntries(dir))) as LedgerEntry[]
}

/** The guest memory that all boxes may have together on this host where nothing else was said, in MiB. */
export function defaultMemoryMib(): number {
  return native().defaultMemoryMib()
}

function calling<T>(call: () => T): T {
  try {
    return call()
  } catch (thrown) {
    throw toBoxError(thrown)
  }
}
