import { countProblems, type Problem, type Problems } from '../../input/problems.ts'

export type ReadingDiagnosticName = keyof typeof MEANINGS
/** What a reader of systemd's text could not use, by kind. */
export type ReadingDiagnostic = Problem<ReadingDiagnosticName>
export type ReadingProblems = Problems<ReadingDiagnosticName>

const MEANINGS: {
  readonly unparsed: string
  readonly 'console-line': string
  readonly 'torn-line': string
  readonly 'torn-tail': string
  readonly 'line-too-long': string
  readonly 'bad-field': string
  readonly 'damaged-unit': string
  readonly 'no-id': string
  readonly 'seen-twice': string
  readonly 'other-zone': string
} = {
  unparsed: 'Lines that are not of `systemctl show` or `systemd-analyze dump`; they are ignored.',
  'console-line': 'Lines of the kernel or of the boot’s status between the blocks; they are ignored.',
  'torn-line': 'Lines that a console message broke in two; both halves are ignored.',
  'torn-tail': 'The last line has no end: the text was cut off there, and the line is ignored.',
  'line-too-long': 'Lines longer than the reader accepts; they are ignored.',
  'bad-field': 'Fields with a value that their format does not allow; their unit is not used.',
  'damaged-unit': 'Units whose block lacks a property that the analysis needs; they are not used. Ask for all of them.',
  'no-id': 'Blocks that do not name one unit; they are ignored.',
  'seen-twice': 'Units that stand in the input more than once with different values; the latest state is used.',
  'other-zone': 'Times in another time zone than the others; their unit is not used.',
}

const INFO: ReadonlySet<ReadingDiagnosticName> = new Set(['console-line', 'seen-twice', 'unparsed'])

/** Makes a counter for the input called `file`. */
export function countReadingProblems(file: string): ReadingProblems {
  return countProblems(file, MEANINGS, INFO)
}
