import { countProblems, type Problem, type Problems } from '../../input/problems.ts'

/** What a reader of QEMU's traces could not use, by kind. */
export type TraceDiagnosticName = keyof typeof MEANINGS
export type TraceDiagnostic = Problem<TraceDiagnosticName>
export type TraceProblems = Problems<TraceDiagnosticName>

const MEANINGS: {
  readonly unparsed: string
  readonly malformed: string
  readonly glued: string
  readonly 'empty-line': string
  readonly 'foreign-event': string
  readonly 'torn-tail': string
  readonly 'line-too-long': string
  readonly 'too-many-regions': string
  readonly 'config-disabled': string
} = {
  unparsed: 'Lines without a trace event; they are ignored.',
  malformed: 'Lines of an event that is used here, in a form that no known QEMU prints; they are ignored.',
  glued:
    'Events behind other text on their line, as when QEMU’s stderr and a serial console share a file; they are used. Trace into a file of its own (-D FILE).',
  'empty-line': 'Empty lines, as a console byte leaves them that was a line feed.',
  'foreign-event': 'Events that say nothing of accesses; they are counted by name and not used.',
  'torn-tail': 'The last line has no end: the trace was cut off there, and the line is ignored.',
  'line-too-long': 'Lines longer than the reader accepts; they are ignored.',
  'too-many-regions': 'Accesses to more different regions than are told apart; they are in the total and in no row.',
  'config-disabled':
    'Accesses to configuration data while the index had no enable bit; QEMU answers them without asking a device.',
}

const INFO: ReadonlySet<TraceDiagnosticName> = new Set(['glued', 'empty-line', 'foreign-event', 'config-disabled'])

/** Makes a counter for the trace called `file`. */
export function countTraceProblems(file: string): TraceProblems {
  return countProblems(file, MEANINGS, INFO)
}
