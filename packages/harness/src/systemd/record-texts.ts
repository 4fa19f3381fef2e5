import { existsSync, readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Machine, SystemdText } from '@boxlab/native'
import { type ConsolePrompt, consolePrompt, type NamedInput } from '@boxlab/probes'
import type { RecordOptions } from '../options.ts'

/**
 * What systemd of the guest said, in the record. `units` is text as `systemctl show --all` prints it; `jobs` has a line of
 * JSON for each D-Bus message that the recorder took; `queue` and `queuedUnits` are of the moment in which a boot was given up.
 */
export const systemdFiles = {
  units: 'guest/systemd-units.txt',
  jobs: 'guest/systemd-jobs.jsonl',
  queue: 'guest/systemd-queue.txt',
  queuedUnits: 'guest/systemd-queued-units.txt',
} as const

export type SystemdFile = keyof typeof systemdFiles

const words: Readonly<Record<SystemdFile, SystemdText>> = {
  units: 'units',
  jobs: 'recording',
  queue: 'jobs',
  queuedUnits: 'queued-units',
}

/** The longest that an answer may take, and the most that a file of the record may have. */
export interface Bounds {
  readonly limitMs: number
  readonly limitBytes: number
}

/** Asks the guest for a text and puts it into the record, whole: in place of what was asked for before. */
export async function recordText(
  machine: Machine,
  record: string,
  file: SystemdFile,
  { limitMs, limitBytes }: Bounds,
): Promise<void> {
  const text = await machine.systemdText(words[file], limitMs)
  const path = join(record, systemdFiles[file])
  await writeFile(`${path}.new`, text.length > limitBytes ? cut(text, limitBytes) : text)
  await rename(`${path}.new`, path)
}

/** Whole lines up to the bound of a record's files; the probes say that the last one is not the end. */
function cut(text: Buffer, limitBytes: number): Buffer {
  const note = Buffer.from(
    `${JSON.stringify({ closed: { why: 'the record takes no more: raise `record.maxMib`' } })}\n`,
  )
  const end = text.subarray(0, Math.max(0, limitBytes - note.length)).lastIndexOf(10) + 1
  return Buffer.concat([text.subarray(0, end), note])
}

/** Those of the files that a record has, as inputs of a probe. */
export function systemdInputs(record: string, files: readonly SystemdFile[]): NamedInput[] {
  const paths = files.map((file) => systemdFiles[file]).filter((name) => existsSync(join(record, name)))
  return paths.map((name) => ({ name, input: readFileSync(join(record, name)) }))
}

/** When the record's console had the login prompt; undefined where it does not tell. */
export function promptOfRecord(record: string): ConsolePrompt | undefined {
  const read = (name: string): Buffer => {
    const path = join(record, name)
    return existsSync(path) ? readFileSync(path) : Buffer.alloc(0)
  }
  return consolePrompt({ marks: read('marks.jsonl'), clock: read('guest/clock.jsonl') })
}

/** The boot was over when this text was asked for: systemd stamps the end once (src/core/manager.c, manager_check_finished()). */
function isOver(record: string): boolean {
  const path = join(record, systemdFiles.units)
  return existsSync(path) && /^FinishTimestampMonotonic=[1-9]/m.test(readFileSync(path, 'utf8'))
}

/** Puts the units of a guest that runs into the record, unless those of the whole boot are there. */
export async function recordUnits(machine: Machine, record: string, bounds: Bounds): Promise<void> {
  if (!isOver(record)) await recordText(machine, record, 'units', bounds)
}

/** A box that ends is not kept from it by a guest that does not answer. */
const lastWordsMs = 10_000

/** What has come since the record was last given it: jobs of logins, the end of a boot that was not over when the box was ready. */
export async function recordLastWords(
  machine: Machine,
  record: string,
  limitBytes: number,
  { jobs = false, waits = false }: RecordOptions = {},
): Promise<void> {
  const bounds = { limitMs: lastWordsMs, limitBytes }
  try {
    if (jobs) await recordText(machine, record, 'jobs', bounds)
    if (jobs || waits) await recordUnits(machine, record, bounds)
  } catch {
    // The record has what came before.
  }
}
