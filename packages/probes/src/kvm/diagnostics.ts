import { countProblems, type Problem, type Problems } from '../input/problems.ts'

const MEANINGS: {
  readonly unparsed: string
  readonly 'bad-json': string
  readonly 'torn-tail': string
  readonly 'bad-value': string
  readonly 'localised-value': string
  readonly refused: string
  readonly 'empty-reply': string
  readonly 'unknown-type': string
  readonly 'partial-sample': string
  readonly decreased: string
  readonly damaged: string
} = {
  unparsed: 'Lines that are no statistics of KVM; they are ignored.',
  'bad-json': 'Text that begins like JSON and is none; it is ignored.',
  'torn-tail': 'The last value has no end: it was cut off there, and is ignored.',
  'bad-value': 'Statistics with a value that the format does not allow; they are absent.',
  'localised-value': 'Booleans in a language that this reader does not know; they are absent.',
  refused: 'Commands that QEMU answered with an error; what they asked for is absent.',
  'empty-reply':
    'Answers without any statistics: under TCG there are none, and an unknown name or vCPU is no error to QEMU.',
  'unknown-type': 'Statistics of a type or unit that this reader does not know; they are absent.',
  'partial-sample': 'Samples that lack vCPUs which others have; no difference is made with them.',
  decreased:
    'Cumulative counters that went down from one sample to the next (another VM, or samples out of order); they are absent there.',
  damaged: 'Binary statistics whose header or offsets lie outside the file; they are not used.',
}

export type ExitsDiagnosticName = keyof typeof MEANINGS
/** What the reader of statistics could not use, counted by name. */
export type ExitsDiagnostic = Problem<ExitsDiagnosticName>
export type ExitsProblems = Problems<ExitsDiagnosticName>

const INFO: ReadonlySet<ExitsDiagnosticName> = new Set(['unparsed', 'empty-reply', 'partial-sample'])

/** Makes a counter for the input called `file`. */
export function countExitsProblems(file: string): ExitsProblems {
  return countProblems(file, MEANINGS, INFO)
}
