import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { BootedBy } from '../booted-by.ts'
import type { BootFile } from './boot-file.ts'
import { type Judgement, judgeRecords } from './judge.ts'
import { type Candidate, descendsFrom, engineCandidates } from './processes.ts'

/** A box that has a record below the state root. */
export interface BoxEntry {
  /** Its id, which is also the name of the folder of its record. */
  readonly id: string
  readonly name?: string
  /**
   * `running`: its owner lives, from the start of the boot until the end is recorded. `starting`: its record was just
   * begun. `orphaned`: its owner is gone and could record no end. `unknown`: that cannot be told from here. `ended`: its
   * end is recorded.
   */
  readonly state: Judgement['state']
  /** How it ended, of an ended one: `stopped`, `failed` or `killed`. */
  readonly outcome?: string
  /** Why it is orphaned or unknown, without a full stop. */
  readonly reason?: string
  /** The process it belongs to, or belonged to. */
  readonly ownerPid?: number
  /** Its engine: a process that is proved to be it. Absent before there is one, and where it cannot be seen. */
  readonly enginePid?: number
  /** Milliseconds since its start by the wall clock. Absent while its record does not tell the start. */
  readonly ageMs?: number
  /** The test that asked for it. */
  readonly bootedBy?: BootedBy
  /** The folder of its record. */
  readonly record: string
}

/** Which boxes are listed. */
export interface ListOptions {
  /** Also those that have ended and whose record was kept. Default false. */
  readonly all?: boolean
}

/**
 * The boxes with a record in `records/` of a state root, oldest first; those whose record the user put elsewhere are not
 * known there. Looks only. A state root that does not exist has none. Throws when `records/` cannot be read.
 */
export function listBoxes(root: string, { all = false }: ListOptions = {}): BoxEntry[] {
  let candidates: Candidate[] | undefined
  const found = judgeBoxes(root).flatMap((judged) => {
    if (judged.state === 'ended' && !all) return []
    const { ownerPid, boot } = judged
    const isLive = judged.state === 'running' && boot !== undefined && ownerPid !== undefined
    const engines = isLive ? enginesOf(judged.id, boot, (candidates ??= engineCandidates())) : []
    const engine = engines.find(({ pid }) => ownerPid !== undefined && descendsFrom(pid, ownerPid))
    return [entryOf(judged, engine)]
  })
  return found.toSorted((one, other) => (other.ageMs ?? 0) - (one.ageMs ?? 0) || (one.id < other.id ? -1 : 1))
}

/** A record with what its box's life was judged to be. */
export type Judged = {
  readonly id: string
  readonly record: string
  readonly boot?: BootFile
  readonly ownerPid?: number
  readonly reason?: string
} & Pick<Judgement, 'state'>

/** Judges all records of a state root. */
export function judgeBoxes(root: string): Judged[] {
  const records = foldersIn(join(root, 'records'))
  return judgeRecords(records).map(({ record, judgement }) => ({ id: basename(record), record, ...judgement }))
}

/** The processes that are the engine of this very boot: the whole command line is the recorded one, not just the box's name. */
export function enginesOf(id: string, boot: BootFile, candidates: readonly Candidate[]): Candidate[] {
  const { argv, boxId = id } = boot
  if (argv === undefined) return []
  return candidates.filter((one) => one.boxId === boxId && isSame(one.argv, argv))
}

/** The entry for a judged record. */
export function entryOf({ id, record, boot, state, ownerPid, reason }: Judged, engine?: Candidate): BoxEntry {
  const startedAtMs = Date.parse(boot?.startedAt ?? '')
  return {
    id,
    ...(boot?.name !== undefined && { name: boot.name }),
    state,
    ...(state === 'ended' && boot && { outcome: boot.outcome }),
    ...(reason !== undefined && { reason }),
    ...(ownerPid !== undefined && { ownerPid }),
    ...(engine && { enginePid: engine.pid }),
    ...(boot?.bootedBy && { bootedBy: boot.bootedBy }),
    ...(!Number.isNaN(startedAtMs) && { ageMs: Math.max(0, Date.now() - startedAtMs) }),
    record,
  }
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((word, index) => word === other[index])
}

function foldersIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return []
    throw new Error(`the records in ${folder} cannot be read (${code}): is it a folder of yours?`, { cause: error })
  }
}
