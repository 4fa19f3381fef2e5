import { encodeChunks } from '../../input/byte-input.ts'
import { accessEventId, ACCESS_EVENTS, isOtherEvent, KNOWN_EVENT, type OtherEventName } from './events.ts'
import { newRegionAccess, readRegionAccess, type RegionAccess } from './region-access.ts'
import { newStamp, readStamp, type Stamp, type StampKind, stampUs } from './stamp.ts'
import { countTraceProblems, type TraceDiagnostic, type TraceProblems } from './trace-diagnostics.ts'
import { wholeLines } from './whole-lines.ts'

/** Where the events of a trace go. What it is given is only lent, until it returns. */
export interface TraceSink {
  /** An access to a memory region; `bytes` holds its name. */
  access(access: RegionAccess, bytes: Uint8Array): void
  /**
   * Another event that is known; `args` is what stands behind its name and one blank. False when no known QEMU prints such
   * arguments: the line is counted as malformed.
   */
  event(name: OtherEventName, args: string): boolean
}

/** What a whole trace was made of. */
export interface TraceFacts {
  /** Lines, whole or torn, with an event or without. */
  readonly lines: number
  /** Every event by its name, foreign ones too; those whose arguments could not be read are not in it. */
  readonly events: { readonly [name: string]: number }
  /** Events by what was in front of them. */
  readonly stamps: { readonly [kind in StampKind]: number }
  /** How many threads wrote events; absent where the stamps do not name them. */
  readonly threads?: number
  /** First and last stamp, in microseconds since 1970 by the host's clock. */
  readonly firstUs?: number
  readonly lastUs?: number
  /** Names of events that QEMU said it does not have, and other complaints of QEMU's about tracing. */
  readonly complaints: readonly string[]
  readonly diagnostics: readonly TraceDiagnostic[]
}

/** Reads the log backend's lines, stamped or not, as they arrive; memory does not grow with the trace. */
export interface TraceTokenizer {
  push(chunk: Uint8Array | string): void
  end(): TraceFacts
  /** The number of the line that is read just now, from 1. */
  readonly line: number
  /** The stamp of that line, in microseconds since 1970; `undefined` without one. */
  nowUs(): number | undefined
  readonly problems: TraceProblems
}

/** How a trace is read. */
export interface TokenizeOptions {
  /** The name in diagnostics; default `trace`. */
  readonly file?: string
  /** A longer line is dropped; default 1 MiB, since QEMU prints none of a kilobyte. */
  readonly lineCapBytes?: number
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const BLANK = 0x20
const LINE_CAP_BYTES = 1024 * 1024
// Foreign text must not grow the answer without bound.
const MAX_NAMES = 500
const MAX_THREADS = 4096
const MAX_COMPLAINTS = 10
const OTHER_NAMES = '(others)'
// QEMU's event names are words with underscores (docs/devel/tracing.rst); without a stamp nothing else tells one from text.
const EVENT_SHAPE = /^[a-z][a-z0-9]*(?:_[a-zA-Z0-9]+)+(?= |$)/
const STAMPED_SHAPE = /^[a-zA-Z][a-zA-Z0-9_]*(?= |$)/
const LONGEST_NAME = 100
// A line of foreign text may be full of names; a trace has at most a few cut ones in front of a whole one.
const MAX_TRIES = 4
const LONGEST_ARGS = 8192
// QEMU (trace/control.c): "warning: trace event 'X' does not exist", "... cannot be traced", "... is not traceable".
const COMPLAINT = /trace event '?[^']{1,80}'? (?:does not exist|is not traceable|cannot be traced)|no such trace event/

/** Makes a {@link TraceTokenizer} that gives what it reads to `sink`. */
export function tokenizeTrace(sink: TraceSink, options: TokenizeOptions = {}): TraceTokenizer {
  const { file = 'trace', lineCapBytes = LINE_CAP_BYTES } = options
  const problems = countTraceProblems(file)
  const encoder = encodeChunks()
  const access = newRegionAccess()
  const stamp = newStamp()
  const accessCounts = ACCESS_EVENTS.map(() => 0)
  const eventCounts = new Map<string, number>()
  const stampCounts = { none: 0, tid: 0, iso: 0 }
  const threads = new Set<number>()
  const complaints: string[] = []
  let line = 0
  let lastTid = -1
  let firstUs: number | undefined
  let lastUs: number | undefined
  let current: Uint8Array = new Uint8Array(0)
  // Where the last stamp of the block stands, to be read once a block and not once a line.
  let stamped: Stamp | undefined

  function seen({ kind, tid, from, eventFrom }: Stamp): void {
    stampCounts[kind] += 1
    if (kind === 'none') return
    if (kind === 'tid' && tid !== lastTid) {
      lastTid = tid
      if (threads.size < MAX_THREADS) threads.add(tid)
    }
    if (stamped === undefined) {
      stamped = newStamp()
      firstUs ??= stampUs(current, stamp)
    }
    stamped.kind = kind
    stamped.from = from
    stamped.eventFrom = eventFrom
  }

  function block(bytes: Uint8Array, from: number, to: number): void {
    current = bytes
    stamped = undefined
    for (let at = from; at < to;) {
      line += 1
      readStamp(bytes, at, stamp)
      let end = readRegionAccess(bytes, stamp.eventFrom, access)
      if (end >= 0 && end - at <= lineCapBytes) {
        accessCounts[access.event]! += 1
        seen(stamp)
        sink.access(access, bytes)
      } else {
        end = at
        while (bytes[end] !== LINE_FEED) end += 1
        if (end - at > lineCapBytes) problems.add('line-too-long', line)
        else otherLine(bytes, at, end)
      }
      at = end + 1
    }
    if (stamped !== undefined) lastUs = stampUs(bytes, stamped) ?? lastUs
  }

  /** A line that is no access from its first byte on. */
  function otherLine(bytes: Uint8Array, at: number, lineEnd: number): void {
    const end = lineEnd > at && bytes[lineEnd - 1] === CARRIAGE_RETURN ? lineEnd - 1 : lineEnd
    if (end === at) return problems.add('empty-line', line)
    let nameEnd = stamp.eventFrom
    while (nameEnd < end && bytes[nameEnd] !== BLANK) nameEnd += 1
    if (nameEnd - stamp.eventFrom <= LONGEST_NAME) {
      const name = textOf(bytes, stamp.eventFrom, nameEnd)
      if (isOtherEvent(name) && give(name, argsOf(bytes, Math.min(nameEnd + 1, end), end))) return
    }
    search(textOf(bytes, at, end), at)
  }

  /**
   * Looks for an event anywhere in the line `text`, whose first byte stands at `from`. More than one stand on a line where the
   * first was cut off, as by a full disk.
   */
  function search(text: string, from: number): void {
    const known = new RegExp(KNOWN_EVENT, 'g')
    let tries = 0
    for (let match = known.exec(text); match !== null && tries < MAX_TRIES; match = known.exec(text)) {
      tries += 1
      stampBefore(text, from, match.index)
      if (!use(match[0], from + match.index, from + text.length)) continue
      if (stamp.from > from) problems.add('glued', line)
      if (tries > 1) problems.add('malformed', line)
      return
    }
    if (tries > 0) problems.add('malformed', line)
    else foreignLine(text, from)
  }

  /** Uses the event of a known name that begins at `at`, if it is whole. */
  function use(name: string, at: number, end: number): boolean {
    const id = accessEventId(name)
    if (id < 0) return isOtherEvent(name) && give(name, argsOf(current, at + name.length + 1, end))
    if (readRegionAccess(current, at, access) < 0) return false
    accessCounts[id]! += 1
    seen(stamp)
    sink.access(access, current)
    return true
  }

  /** Reads the stamp that ends where the event begins, behind whatever else is in front. */
  function stampBefore(text: string, from: number, at: number): void {
    const head = text.slice(Math.max(0, at - 48), at)
    const found = /\d+@\d+\.\d{6}:$|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z $/.exec(head)
    readStamp(current, from + at - (found?.[0].length ?? 0), stamp)
  }

  /** A line without a known event: another event, or no trace at all. */
  function foreignLine(text: string, from: number): void {
    readStamp(current, from, stamp)
    const event = text.slice(stamp.eventFrom - from)
    const name = (stamp.kind === 'none' ? EVENT_SHAPE : STAMPED_SHAPE).exec(event.slice(0, LONGEST_NAME + 1))?.[0]
    if (name === undefined) {
      if (complaints.length < MAX_COMPLAINTS && COMPLAINT.test(text)) complaints.push(text.slice(0, 200))
      return problems.add('unparsed', line)
    }
    count(name)
    seen(stamp)
    problems.add('foreign-event', line, name)
  }

  function give(name: OtherEventName, args: string): boolean {
    if (!sink.event(name, args)) return false
    count(name)
    seen(stamp)
    return true
  }

  function count(name: string): void {
    const key = eventCounts.has(name) || eventCounts.size < MAX_NAMES ? name : OTHER_NAMES
    eventCounts.set(key, (eventCounts.get(key) ?? 0) + 1)
  }

  const lines = wholeLines(
    block,
    () => {
      line += 1
      problems.add('line-too-long', line)
    },
    // With its line feed.
    lineCapBytes + 1,
  )

  /** A last line without an end is used where it shows that it is whole: where the quote of a region's name closes it. */
  function tail(rest: Uint8Array, tooLong: boolean): void {
    if (tooLong || rest.length > lineCapBytes) {
      line += 1
      return problems.add('line-too-long', line)
    }
    const ended = new Uint8Array(rest.length + 1)
    ended.set(rest)
    ended[rest.length] = LINE_FEED
    readStamp(ended, 0, stamp)
    if (readRegionAccess(ended, stamp.eventFrom, access) >= 0 && access.nameTo > 0) return block(ended, 0, ended.length)
    line += 1
    problems.add('torn-tail', line)
  }

  return {
    push(chunk) {
      lines.push(encoder.push(chunk))
    },
    end() {
      lines.push(encoder.end())
      const last = lines.end()
      if (last !== undefined) tail(last.rest, last.tooLong)
      for (const [id, name] of ACCESS_EVENTS.entries()) {
        if (accessCounts[id]! > 0) eventCounts.set(name, accessCounts[id]!)
      }
      return {
        lines: line,
        events: Object.fromEntries(eventCounts),
        stamps: stampCounts,
        ...(threads.size > 0 && { threads: threads.size }),
        ...(firstUs !== undefined && { firstUs }),
        ...(lastUs !== undefined && { lastUs }),
        complaints,
        diagnostics: problems.list(),
      }
    },
    get line() {
      return line
    },
    nowUs: () => stampUs(current, stamp),
    problems,
  }
}

/** No QEMU prints more; what is cut here does not end as its event does. */
function argsOf(bytes: Uint8Array, from: number, to: number): string {
  return textOf(bytes, from, Math.min(to, from + LONGEST_ARGS))
}

const CODES_AT_ONCE = 4096

/** Bytes as text, one character each, so that places in both are the same. */
function textOf(bytes: Uint8Array, from: number, to: number): string {
  let text = ''
  for (let at = from; at < to; at += CODES_AT_ONCE) {
    const codes: ArrayLike<number> = bytes.subarray(at, Math.min(to, at + CODES_AT_ONCE))
    // Not spread: an iterator's step for each byte would make it several times as slow.
    text += String.fromCharCode.apply(undefined, codes as number[])
  }
  return text
}
