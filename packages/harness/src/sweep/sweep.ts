import { randomBytes } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type BootFile, readBootFile } from './boot-file.ts'
import { killEngine } from './kill-engine.ts'
import { ageText } from './age.ts'
import { sweepAside } from './aside.ts'
import { type BoxEntry, enginesOf, entryOf, type Judged, judgeBoxes } from './list-boxes.ts'
import { type Candidate, engineCandidates } from './processes.ts'

/** How to sweep. */
export interface SweepOptions {
  /** Tells what would be done, and does nothing. Default false. */
  readonly dryRun?: boolean
  /** Also removes the records, of boxes that were swept before too. Default false: they are evidence. */
  readonly remove?: boolean
  /** Also removes the records of boxes that ended longer ago than this, in milliseconds. Default: none. */
  readonly olderThanMs?: number
}

/** What a sweep did, or with `dryRun` would do. */
export interface SweepReport {
  readonly dryRun: boolean
  /** The boxes that dead owners left, then those whose records were too old. */
  readonly swept: readonly SweptBox[]
  /** Boxes that were left alone because their owner cannot be judged from here. */
  readonly unknown: readonly BoxEntry[]
}

/** A box that a dead owner left. */
export interface SweptBox extends BoxEntry {
  /** `ended`: its record says now how it ended, and is kept. `removed`: its record is gone. */
  readonly action: 'ended' | 'removed'
  /** Engines that were alive still and are gone now. */
  readonly killedPids: readonly number[]
  /** Why the action could not be carried out, as a sentence without a full stop; absent when it was. */
  readonly problem?: string
}

/** The code of the error in the record of a box whose owner was killed. */
export const OWNER_DIED = 'ERR_BOX_OWNER_DIED'

/**
 * Ends what dead owners left in `records/` of a state root: an engine that is alive still and proved to be the box's is
 * killed, and the record gets the outcome `killed` with ERR_BOX_OWNER_DIED. A box whose owner lives, or may live, is
 * never touched; nor is a record that is being begun. What dead engines had put aside goes too. Several sweeps at once are harmless. What could not be done is a
 * `problem` of its box; throws only when `records/` cannot be read.
 */
export async function sweep(root: string, options: SweepOptions = {}): Promise<SweepReport> {
  const { dryRun = false, remove = false, olderThanMs = Number.POSITIVE_INFINITY } = options
  const judged = judgeBoxes(root)
  const old = judged.filter((one) => one.state === 'ended' && isNamedByBox(one) && endedMs(one) > olderThanMs)
  const left = judged.filter((one) => one.state === 'orphaned' || (remove && wasSwept(one) && isNamedByBox(one)))
  const candidates = left.length > 0 ? engineCandidates() : []
  const swept: SweptBox[] = []
  for (const one of left) swept.push(await sweepOne(one, { dryRun, remove }, candidates))
  for (const one of old.filter((other) => !left.includes(other))) {
    const reason = `it ended ${ageText(endedMs(one))} ago`
    swept.push(await sweepOne({ ...one, reason }, { dryRun, remove: true }, []))
  }
  if (!dryRun) await sweepAside(root)
  return { dryRun, swept, unknown: judged.filter(({ state }) => state === 'unknown').map((one) => entryOf(one)) }
}

async function sweepOne(
  judged: Judged,
  { dryRun, remove }: Required<Pick<SweepOptions, 'dryRun' | 'remove'>>,
  candidates: readonly Candidate[],
): Promise<SweptBox> {
  const { id, record, boot } = judged
  const unwanted = remove || boot?.keep === 'never'
  const action = (unwanted && isNamedByBox(judged)) || isEmpty(judged) ? 'removed' : 'ended'
  const engines = boot ? enginesOf(id, boot, candidates) : []
  const killedPids: number[] = []
  const done = { ...entryOf(judged, engines[0]), action, killedPids } as const
  if (dryRun) return done
  try {
    for (const engine of engines) {
      await killEngine(engine)
      killedPids.push(engine.pid)
    }
    // Another sweep may write a file into it at the same time.
    if (action === 'removed') await rm(record, { recursive: true, force: true, maxRetries: 3 })
    else await markEnded(record, judged, boot)
    return done
  } catch (error) {
    return { ...done, problem: error instanceof Error ? error.message : String(error) }
  }
}

/** Whether the folder was made for this box: a copy that somebody put there under another name is theirs to remove. */
function isNamedByBox({ id, boot }: Judged): boolean {
  return boot === undefined || boot.boxId === id
}

/** Without boot.json nothing was decided, and without a word of the engine nothing was started: there is no evidence to keep. */
function isEmpty({ record, boot }: Judged): boolean {
  const size = (name: string): number => statSync(join(record, name), { throwIfNoEntry: false })?.size ?? 0
  return boot === undefined && size('engine.log') === 0 && size('console.bin') === 0
}

/** How long ago an ended box ended, in milliseconds: its boot.json is not written again. */
function endedMs({ record }: Judged): number {
  const written = statSync(join(record, 'boot.json'), { throwIfNoEntry: false })
  return written === undefined ? 0 : Date.now() - written.mtimeMs
}

function wasSwept({ boot, state }: Judged): boolean {
  const error = boot?.json['error'] as { readonly code?: unknown } | undefined
  return state === 'ended' && error?.code === OWNER_DIED
}

/** Replaces boot.json as a whole. Each sweep writes a file of its own first, so that two of them never mix their bytes. */
async function markEnded(record: string, { ownerPid }: Judged, boot: BootFile | undefined): Promise<void> {
  if (boot === undefined)
    throw new Error('it has no boot.json to write its end into: `boxlab sweep --remove` removes it')
  const who = ownerPid === undefined ? 'the process that owned the box' : `process ${ownerPid}, which owned the box,`
  const error = { code: OWNER_DIED, message: `${who} ended without stopping it` }
  const beside = join(record, `boot.json.sweep-${process.pid}-${randomBytes(4).toString('hex')}`)
  try {
    await writeFile(beside, `${JSON.stringify({ ...boot.json, outcome: 'killed', error }, null, 2)}\n`)
    // Another sweep may have been here first; nobody else writes here any more.
    const now = readBootFile(record)
    if (now !== 'absent' && 'outcome' in now && now.outcome === 'running')
      await rename(beside, join(record, 'boot.json'))
    await rm(join(record, 'boot.json.new'), { force: true })
  } catch (thrown) {
    if (existsSync(record)) throw thrown
  } finally {
    await rm(beside, { force: true })
  }
}
