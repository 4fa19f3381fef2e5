import type { ReadingDiagnosticName } from '../read/reading-diagnostics.ts'
import { countProblems, type Problem, type Problems } from '../../input/problems.ts'
import type { Diagnostic } from '../../input/diagnostics.ts'

/** What the readers of jobs could not use, by kind; the kinds of the units' reader come beside them. */
export type JobsDiagnosticName = ReadingDiagnosticName | keyof typeof MEANINGS

/** A kind with how often and where. */
export type JobsDiagnostic = Problem<JobsDiagnosticName>

/** Counts what one input could not give. */
export type JobsProblems = Problems<keyof typeof MEANINGS>

const MEANINGS: {
  readonly unparsed: string
  readonly 'console-line': string
  readonly 'torn-line': string
  readonly 'torn-tail': string
  readonly 'line-too-long': string
  readonly 'bad-json': string
  readonly 'bad-row': string
  readonly 'torn-row': string
  readonly 'lost-relation': string
  readonly 'cut-name': string
  readonly 'count-differs': string
  readonly 'half-block': string
  readonly 'seen-once': string
  readonly 'bad-message': string
  readonly 'bad-record': string
  readonly 'no-header': string
  readonly 'same-recording': string
  readonly 'other-boot': string
  readonly 'other-unit': string
} = {
  unparsed: 'Lines that are of none of the formats that tell of jobs; they are ignored.',
  'console-line': 'Lines of the kernel or of the boot’s status in between; they are ignored.',
  'torn-line': 'Lines that a console message broke in two; both halves are ignored.',
  'torn-tail': 'The last line has no end: the text was cut off there, and the line is ignored.',
  'line-too-long': 'Lines longer than the reader accepts; they are ignored.',
  'bad-json': 'Lines that are not JSON in UTF-8 among lines that are; they are ignored.',
  'bad-row': 'Rows of list-jobs with a unit, type or state that systemd does not have; their job is not used.',
  'torn-row': 'Rows behind foreign text in the middle of a table: it may have broken them, so they are not used.',
  'lost-relation': 'Relations of list-jobs whose own row could not be used, or that are cut; they are ignored.',
  'cut-name': 'Names that list-jobs cut for a narrow terminal; the jobs are kept. Ask with --full.',
  'count-differs': 'Tables of list-jobs with another number of rows than the line below them says.',
  'half-block': 'Job blocks of a dump without action or state; they are not used.',
  'seen-once':
    'Jobs that a dump has in one of its two places only: the other was cut off, or asked for with a pattern.',
  'bad-message': 'Messages of a recording with a body that their member does not have; they are ignored.',
  'bad-record': 'Journal records of a job with a field that cannot be read; they are ignored.',
  'no-header': 'Messages of a recording without its header before them; when it connected is not known.',
  'same-recording': 'Connections of a recording that stand in the input more than once; one of each is used.',
  'other-boot': 'Journal records of other boots than the last one; job ids begin anew in each, so they are ignored.',
  'other-unit':
    'Jobs whose id another input has for another unit: it is of another boot, and the job is ignored there.',
}

const INFO: ReadonlySet<keyof typeof MEANINGS> = new Set(['unparsed', 'console-line', 'cut-name', 'same-recording'])

/** Makes a counter for the input called `file`. */
export function countJobsProblems(file: string): JobsProblems {
  return countProblems(file, MEANINGS, INFO)
}

/** What the reader of JSON lines met, in the words of this area. */
export function jsonProblems(met: readonly Diagnostic[]): readonly JobsDiagnostic[] {
  return met.flatMap(({ name, severity, file, count, lines }) =>
    name === 'torn-tail' || name === 'line-too-long' || name === 'bad-json'
      ? [{ name, severity, file, count, lines, about: [], meaning: MEANINGS[name] }]
      : [],
  )
}
