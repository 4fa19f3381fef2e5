import { countProblems, type Problem, type Problems } from '../../input/problems.ts'

export type InitcallsDiagnosticName = keyof typeof MEANINGS

/** A kind of what the reader could not use, with how often and where. */
export type InitcallsDiagnostic = Problem<InitcallsDiagnosticName>

export type InitcallsProblems = Problems<InitcallsDiagnosticName>

const MEANINGS: {
  readonly unreadable: string
  readonly 'torn-tail': string
  readonly 'line-too-long': string
  readonly 'return-without-call': string
  readonly 'return-lost': string
  readonly 'seen-twice': string
  readonly 'other-boot': string
  readonly 'other-calling': string
  readonly 'stamps-backwards': string
  readonly 'stamps-stuck': string
  readonly 'probe-unplaced': string
} = {
  unreadable: 'Lines with the words of an initcall that cannot be read; they are ignored.',
  'torn-tail': 'The last line has the beginning of an initcall’s line and no end: the log was cut off there.',
  'line-too-long': 'Lines longer than the reader accepts; they are ignored.',
  'return-without-call': 'Returns of calls whose beginning is not in the log; they have no start.',
  'return-lost':
    'Calls whose return is not in the log although their thread went on: they ended, and when is not known.',
  'seen-twice': 'Lines that stand in the log twice with one stamp, as of two consoles; one of each is used.',
  'other-boot': 'Initcalls of other boots in the same log; the last boot that has some is used.',
  'other-calling': 'Lines of suspend and shutdown that say `calling` of what is no initcall; they are ignored.',
  'stamps-backwards':
    'Calls that return at an earlier stamp than they began: the kernel’s figure is used, though it is whole ticks.',
  'stamps-stuck':
    'Calls at a stamp that four lines or more have: the clock stood, and the step that ends it is their `errorUs`.',
  'probe-unplaced': 'Probes of which it is not known in which call their driver was registered; they stand alone.',
}

const INFO: ReadonlySet<InitcallsDiagnosticName> = new Set([
  'seen-twice',
  'stamps-stuck',
  'other-boot',
  'other-calling',
  'probe-unplaced',
])

/** Makes a counter for the log called `file`. */
export function countInitcallsProblems(file: string): InitcallsProblems {
  return countProblems(file, MEANINGS, INFO)
}
