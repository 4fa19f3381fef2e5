import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readJsonLines } from '@boxlab/probes'

/** What is waited for in the first record of a state root. */
export interface Reached {
  readonly mark: string
  /** Also waited for, but not beyond the start of the machine. */
  readonly and: () => boolean
  /** How the owner ended, once it has: an error. */
  readonly isOver: () => string
}

/** Resolves with the record's folder when its marks.jsonl holds the mark. Looks every millisecond. */
export async function markReached(home: string, { mark, and, isOver }: Reached, boundMs: number): Promise<string> {
  const endMs = performance.now() + boundMs
  while (performance.now() < endMs) {
    const record = recordsOf(home)[0]
    const marks = record === undefined ? [] : marksOf(record)
    if (record !== undefined && marks.includes(mark) && (and() || marks.includes('vm-start'))) return record
    const over = isOver()
    if (over) throw new Error(`the owner ended before its box had the mark \`${mark}\`: ${over}`)
    await sleep(1)
  }
  throw new Error(`no box had the mark \`${mark}\` within ${boundMs} ms`)
}

/** The folders of all records of a state root. */
export function recordsOf(home: string): string[] {
  try {
    return readdirSync(join(home, 'records')).map((name) => join(home, 'records', name))
  } catch {
    return []
  }
}

/** The marks of a record in their order, of the host's clock. */
export function marksOf(record: string): string[] {
  let bytes: Buffer
  try {
    bytes = readFileSync(join(record, 'marks.jsonl'))
  } catch {
    return []
  }
  const lines = readJsonLines(bytes, { file: 'marks.jsonl' }, (line) => line as { mark: string; clock: string })
  return lines.items.filter(({ clock }) => clock === 'host').map(({ mark }) => mark)
}

/** How far the boot had come when it ended. */
export function lastMark(record: string): string {
  const aftermath = ['engine-exit', 'guest-shutdown', 'guest-reset', 'stop-begin']
  return marksOf(record).findLast((mark) => !aftermath.includes(mark)) ?? 'none'
}

/** What boot.json says; absent where there is none. */
export function bootOf(record: string): { outcome: string; owner?: { pid: number } } | undefined {
  try {
    return JSON.parse(readFileSync(join(record, 'boot.json'), 'utf8')) as { outcome: string; owner?: { pid: number } }
  } catch {
    return undefined
  }
}
