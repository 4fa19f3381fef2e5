import { readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { FOREIGN_LIMIT_MS, fateOf } from '../owner.ts'
import { type BootFile, readBootFile, type RecordedOwner } from './boot-file.ts'
import { recordWriters, type Writers } from './processes.ts'

/** How a box stands by its record and the processes of this host. `reason` is the end of a sentence about it. */
export type Judgement =
  | { readonly state: 'running'; readonly ownerPid: number; readonly boot: BootFile }
  /** Its record was begun and does not say yet whose it is. */
  | { readonly state: 'starting'; readonly ownerPid?: number }
  | { readonly state: 'orphaned'; readonly ownerPid?: number; readonly reason: string; readonly boot?: BootFile }
  | { readonly state: 'unknown'; readonly ownerPid?: number; readonly reason: string; readonly boot?: BootFile }
  | { readonly state: 'ended'; readonly boot: BootFile }

// Between the making of a record's folder and its boot.json lies nothing that takes this long.
const beginningMs = 60_000

// The names that `newBoxId` gives; any other folder without a boot.json is somebody's own.
const boxFolder = /^b[0-9a-f]{10}$/

const hiddenOwner = 'its owner may live in another container or as another user, where it cannot be seen from here'

/** A judgement and the folder it is about. */
export interface JudgedRecord {
  readonly record: string
  readonly judgement: Judgement
}

/** Judges record folders; one that is no record, or not any more, is left out. Changes nothing. */
export function judgeRecords(records: readonly string[]): JudgedRecord[] {
  // Read before the processes are looked at: who had written a boot.json by then is among them, if it lives.
  const read = records.map((record) => ({ record, boot: readBootFile(record) }))
  let known: Writers | undefined
  const writers: Writers = { of: (marks) => (known ??= recordWriters()).of(marks) }
  return read.flatMap(({ record, boot }) => {
    const judgement = judge(record, boot, writers)
    return judgement === undefined ? [] : [{ record, judgement }]
  })
}

function judge(record: string, boot: ReturnType<typeof readBootFile>, writers: Writers): Judgement | undefined {
  if (boot === 'absent') return judgeBeginning(record, writers)
  if ('problem' in boot) return { state: 'unknown', reason: boot.problem }
  if (boot.outcome !== 'running') return { state: 'ended', boot }
  const judged = boot.owner ? judgeByOwner(record, boot, boot.owner, writers) : judgeByWriter(record, boot, writers)
  if (judged.state !== 'orphaned') return judged
  // The owner may have written the end as its last act, after this was read and before it was looked up.
  const last = readBootFile(record)
  if (last === 'absent' || 'problem' in last) return undefined
  return last.outcome === 'running' ? { ...judged, boot: last } : { state: 'ended', boot: last }
}

function judgeByOwner(record: string, boot: BootFile, owner: RecordedOwner, writers: Writers): Judgement {
  const { pid: ownerPid } = owner
  const fate = fateOf(owner)
  if (fate === 'alive') return { state: 'running', ownerPid, boot }
  if (fate === 'rebooted') {
    return { state: 'orphaned', ownerPid, reason: 'its owner lived before this host booted', boot }
  }
  const reason = `its owner, process ${ownerPid}, is gone`
  // Its pid may count in another namespace than this process's, unless the record says that it does not.
  const isLookedUp = fate === 'gone' && owner.pidNamespace !== undefined
  if (isLookedUp) return { state: 'orphaned', ownerPid, reason, boot }
  return judgeByWriter(record, boot, writers, { ownerPid, reason })
}

/** Without a pid that means something here: who writes the record lives, and where all processes are seen, nobody is nobody. */
function judgeByWriter(
  record: string,
  boot: BootFile,
  writers: Writers,
  known: { readonly ownerPid?: number; readonly reason: string } = { reason: 'no process records it any more' },
): Judgement {
  const writer = writers.of(join(record, 'marks.jsonl'))
  if (typeof writer === 'number') return { state: 'running', ownerPid: writer, boot }
  if (writer === 'none') return { state: 'orphaned', ...known, boot }
  return { state: 'unknown', ...known, reason: hiddenOwner, boot }
}

function judgeBeginning(record: string, writers: Writers): Judgement | undefined {
  const quietMs = boxFolder.test(basename(record)) ? quietTime(record) : undefined
  if (quietMs === undefined) return undefined
  const writer = writers.of(join(record, 'marks.jsonl'))
  if (typeof writer === 'number') return { state: 'starting', ownerPid: writer }
  if (quietMs < beginningMs) return { state: 'starting' }
  if (writer === 'unseen' && quietMs < FOREIGN_LIMIT_MS) return { state: 'unknown', reason: hiddenOwner }
  return { state: 'orphaned', reason: 'its record has no boot.json, and no process writes it' }
}

/** Milliseconds since anything in a record that was just begun changed; undefined when it is gone. */
function quietTime(record: string): number | undefined {
  try {
    const paths = [record, ...readdirSync(record).map((name) => join(record, name))]
    return Date.now() - Math.max(...paths.map((path) => statSync(path).mtimeMs))
  } catch {
    return undefined
  }
}
