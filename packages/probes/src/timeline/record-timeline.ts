import type { ByteInput } from '../input/byte-input.ts'
import { isCount, isObject } from '../input/fields.ts'
import { readJsonLines } from '../input/json-lines.ts'
import { bootTimeline, type RecordParts } from './analyse.ts'
import { consoleFacts } from './console-facts.ts'
import { readBoot } from './read-boot.ts'
import type { Timeline } from './timeline.ts'
import { readClock, readMarks } from './tokenize.ts'

/** The files of a record as bytes or text; what the record does not have is left out. */
export interface RecordFiles {
  /** `boot.json` */
  readonly boot?: Uint8Array | string
  /** `marks.jsonl` */
  readonly marks: ByteInput
  /** `guest/clock.jsonl` */
  readonly clock?: ByteInput
  /** `console.bin` */
  readonly console?: ByteInput
  /** `console.idx.jsonl` */
  readonly consoleIndex?: ByteInput
}

/** The timeline of a record, from its files. Never throws on what they hold. */
export function timelineOfRecord(files: RecordFiles, options: Pick<RecordParts, 'kind' | 'minGapMs'> = {}): Timeline {
  const { boot, diagnostics } = readBoot(files.boot ?? '{}')
  const marks = readMarks(files.marks)
  const clock = readClock(files.clock ?? '')
  const lastSignNs = lastReadNs(files.consoleIndex ?? '')
  return bootTimeline({
    ...options,
    ...consoleFacts(files.console ?? ''),
    boot,
    marks: marks.items,
    markLines: marks.lines,
    clock: clock.items,
    ...(lastSignNs === undefined ? {} : { lastSignNs }),
    diagnostics: [...diagnostics, ...marks.diagnostics, ...clock.diagnostics],
  })
}

function lastReadNs(index: ByteInput): number | undefined {
  const { items } = readJsonLines(index, { file: 'console.idx.jsonl' }, (value) =>
    isObject(value) && isCount(value['atNs']) ? value['atNs'] : undefined,
  )
  return items.at(-1)
}
