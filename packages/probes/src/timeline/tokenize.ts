import type { ByteInput } from '../input/byte-input.ts'
import type { DiagnosticCounter } from '../input/diagnostics.ts'
import { countUnknownFields, isCount, isObject, isOneOf, isText } from '../input/fields.ts'
import { type ItemReader, type JsonLines, readJsonLines } from '../input/json-lines.ts'
import type { ClockSample, MarkLine } from './record.ts'
import { isKnownMark, MARK_CLOCKS, MARK_SOURCES, USER_MARK_PREFIX } from './vocabulary.ts'

const isSource = isOneOf(MARK_SOURCES)
const isClock = isOneOf(MARK_CLOCKS)
const MARK_FIELDS = ['mark', 'source', 'clock', 'atNs', 'errorNs', 'detail']
const SAMPLE_FIELDS = ['hostSendNs', 'guestNs', 'hostRecvNs']

/** Reads `marks.jsonl`. For a stream use `readJsonLinesFrom(stream, { file }, readMarkLine)`. */
export function readMarks(input: ByteInput): JsonLines<MarkLine> {
  return readJsonLines(input, { file: 'marks.jsonl' }, readMarkLine)
}

/** Reads `guest/clock.jsonl`. */
export function readClock(input: ByteInput): JsonLines<ClockSample> {
  return readJsonLines(input, { file: 'guest/clock.jsonl' }, readClockSample)
}

/** Reads one line of `marks.jsonl`: `{"mark":"spawn","source":"runtime","clock":"host","atNs":81234567}`. */
export const readMarkLine: ItemReader<MarkLine> = (value, line, problems) => {
  if (!isObject(value)) return bad(problems, line, 'not an object')
  const { mark, source, clock, atNs, errorNs, detail } = value
  if (!isText(mark)) return bad(problems, line, 'mark')
  if (!isSource(source)) return bad(problems, line, 'source')
  if (!isClock(clock)) return bad(problems, line, 'clock')
  if (!isCount(atNs)) return bad(problems, line, 'atNs')
  // A mark without its error would look exact, so the whole line goes.
  if (errorNs !== undefined && !isCount(errorNs)) return bad(problems, line, 'errorNs')
  countUnknownFields(value, MARK_FIELDS, line, problems)
  if (!isKnownMark(mark) && !mark.startsWith(USER_MARK_PREFIX)) problems.add('unknown-mark', line, mark.slice(0, 64))
  return {
    mark,
    source,
    clock,
    atNs,
    ...(errorNs === undefined ? {} : { errorNs }),
    ...(detail === undefined ? {} : { detail }),
  }
}

/** Reads one line of `guest/clock.jsonl`: `{"hostSendNs":900,"guestNs":120,"hostRecvNs":940}`. */
export const readClockSample: ItemReader<ClockSample> = (value, line, problems) => {
  if (!isObject(value)) return bad(problems, line, 'not an object')
  const { hostSendNs, guestNs, hostRecvNs } = value
  if (!isCount(hostSendNs)) return bad(problems, line, 'hostSendNs')
  if (!isCount(guestNs)) return bad(problems, line, 'guestNs')
  if (!isCount(hostRecvNs) || hostRecvNs < hostSendNs) return bad(problems, line, 'hostRecvNs')
  countUnknownFields(value, SAMPLE_FIELDS, line, problems)
  return { hostSendNs, guestNs, hostRecvNs }
}

function bad(problems: DiagnosticCounter, line: number, field: string): undefined {
  problems.add('bad-field', line, field)
  return undefined
}
