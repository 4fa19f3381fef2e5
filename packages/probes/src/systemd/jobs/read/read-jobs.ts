import { type ByteInput, chunksOf, type NamedInput } from '../../../input/byte-input.ts'
import type { Diagnostic } from '../../../input/diagnostics.ts'
import { isObject } from '../../../input/fields.ts'
import { readJsonLines } from '../../../input/json-lines.ts'
import type { SystemdState } from '../../model.ts'
import { readSystemd } from '../../read/read-systemd.ts'
import { textOf } from '../../read/text-lines.ts'
import { countJobsProblems, type JobsDiagnostic, type JobsProblems, jsonProblems } from '../jobs-diagnostics.ts'
import { type Connection, cutConnections, orderConnections } from './connections.ts'
import { isJournalRecord, type JournalJob, readJournalRecord } from './journal-record.ts'
import { readJobsText } from './read-text.ts'
import { isRecorderLine, readRecorderLine, type RecorderEvent } from './recorder-line.ts'
import type { Snapshot } from './snapshot.ts'

/** What was in the inputs. */
export interface JobsReading {
  /** Connections of a recorder, in the order of time. */
  readonly connections: readonly Connection[]
  /** What PID 1 wrote into the journal about jobs in the last boot that it holds, in the order of receipt. */
  readonly journal: readonly LocatedRecord[]
  /** Records of the journal, of jobs or not. */
  readonly journalRecords: number
  readonly snapshots: readonly Snapshot[]
  /** The units; absent where no input has a whole one. */
  readonly units: SystemdState | undefined
  readonly lines: number
  /** Where the model counts what only the comparison of inputs shows. */
  readonly problems: ProblemBook
}

/** A record and where it stands. */
export interface LocatedRecord extends JournalJob {
  readonly file: string
  readonly line: number
}

/** The counters of all inputs. */
export interface ProblemBook {
  of(file: string): JobsProblems
  list(): readonly JobsDiagnostic[]
}

/**
 * Reads what tells of PID 1's jobs, recognised by content, in any order and from any number of inputs of one boot: what
 * `systemctl list-jobs` and `systemd-analyze dump` print, `journalctl -o json`, a recording of PID 1's private socket, and
 * beside them the units of `systemctl show`. Never throws.
 */
export function readJobs(inputs: readonly NamedInput[]): JobsReading {
  const counters = new Map<string, JobsProblems>()
  const more: JobsDiagnostic[] = []
  const problems: ProblemBook = {
    of(file) {
      const counter = counters.get(file) ?? countJobsProblems(file)
      counters.set(file, counter)
      return counter
    },
    list: () => [...[...counters.values()].flatMap((counter) => counter.list()), ...more],
  }
  const read = inputs.map(({ name, input }) => {
    const chunks = [...chunksOf(input)]
    return isJsonLines(chunks) ? readJson(name, chunks, problems.of(name)) : readWords(name, chunks, problems.of(name))
  })
  const units = readSystemd(read.flatMap(({ name, text }) => (text === undefined ? [] : [{ name, input: text }])))
  more.push(
    ...read.flatMap(({ met }) => jsonProblems(met)),
    // Its lines were counted by the reader of jobs.
    ...units.diagnostics.filter(({ name }) => !LINE_KINDS.has(name)),
  )
  return {
    connections: orderConnections(
      read.flatMap((one) => one.connections),
      ({ file, line }) => problems.of(file).add('same-recording', line),
    ),
    journal: lastBoot(read, problems),
    journalRecords: read.reduce((sum, { journalRecords }) => sum + journalRecords, 0),
    snapshots: read.flatMap(({ snapshots }) => snapshots),
    units: units.state,
    lines: read.reduce((sum, { lines }) => sum + lines, 0),
    problems,
  }
}

const LINE_KINDS: ReadonlySet<string> = new Set(['unparsed', 'console-line', 'torn-line', 'torn-tail', 'line-too-long'])

interface ReadInput {
  readonly name: string
  /** Of a text with units, which have a reader of their own. */
  readonly text: string | undefined
  readonly lines: number
  readonly connections: readonly Connection[]
  readonly journal: readonly LocatedRecord[]
  readonly journalRecords: number
  readonly snapshots: readonly Snapshot[]
  /** What the reader of JSON lines could not use. */
  readonly met: readonly Diagnostic[]
}

function readWords(name: string, chunks: ByteInput, problems: JobsProblems): ReadInput {
  const text = textOf(chunks)
  const { lines, snapshots, hasUnits } = readJobsText(name, text, problems)
  return {
    name,
    text: hasUnits ? text : undefined,
    lines,
    connections: [],
    journal: [],
    journalRecords: 0,
    snapshots,
    met: [],
  }
}

function readJson(name: string, chunks: ByteInput, problems: JobsProblems): ReadInput {
  const events: { readonly event: RecorderEvent; readonly line: number }[] = []
  const journal: LocatedRecord[] = []
  let journalRecords = 0

  function take(value: unknown, line: number): void {
    if (isObject(value) && isRecorderLine(value)) {
      const event = readRecorderLine(value)
      if (event === 'bad') problems.add('bad-message', line)
      else if (event !== 'other') events.push({ event, line })
    } else if (isObject(value) && isJournalRecord(value)) {
      journalRecords += 1
      const job = readJournalRecord(value)
      if (job === 'bad') problems.add('bad-record', line)
      else if (job !== 'other') journal.push({ ...job, file: name, line })
    } else problems.add('unparsed', line)
  }

  const { lines, diagnostics } = readJsonLines(chunks, { file: name }, take)
  const connections = cutConnections(name, events, (line) => problems.add('no-header', line))
  return { name, text: undefined, lines, connections, journal, journalRecords, snapshots: [], met: diagnostics }
}

// Enough to pass over what a shell prints before the first line.
const BEGINNING_CHARS = 4096

/** True where a line in the beginning of the input is the beginning of an object; no text of systemd has that. */
function isJsonLines(chunks: readonly (Uint8Array | string)[]): boolean {
  const decoder = new TextDecoder()
  let text = ''
  for (const chunk of chunks) {
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk.subarray(0, 4 * BEGINNING_CHARS), { stream: true })
    if (text.length >= BEGINNING_CHARS) break
  }
  return /^[ \t]*\{"/m.test(text.slice(0, BEGINNING_CHARS))
}

/** Ids begin anew in each boot: only one can be told of, and the last is the one that is asked about. */
function lastBoot(read: readonly ReadInput[], problems: ProblemBook): readonly LocatedRecord[] {
  const records = read.flatMap(({ journal }) => journal)
  let last: LocatedRecord | undefined
  for (const record of records) if (last === undefined || record.realtimeUs > last.realtimeUs) last = record
  for (const { bootId, file, line } of records) if (bootId !== last?.bootId) problems.of(file).add('other-boot', line)
  return records
    .filter(({ bootId }) => bootId === last?.bootId)
    .toSorted((a, b) => a.receivedUs - b.receivedUs || a.id - b.id)
}
