import { countProblems, type Problem, type Problems } from '../../input/problems.ts'

/** What the reader of a trace could not use, by kind. */
export type GraphDiagnosticName = keyof typeof MEANINGS

/** A kind with how often and where. */
export type GraphDiagnostic = Problem<GraphDiagnosticName>

/** Counts what one input could not give. */
export type GraphProblems = Problems<GraphDiagnosticName>

const MEANINGS: {
  readonly unparsed: string
  readonly 'torn-tail': string
  readonly 'line-too-long': string
  readonly 'other-tracer': string
  readonly 'console-line': string
  readonly 'no-header': string
} = {
  unparsed: 'Lines that do not have the columns of the trace, or whose end is torn off; they are ignored.',
  'torn-tail': 'The last line has no end and cannot be read: the text was cut off there.',
  'line-too-long': 'Lines longer than the reader accepts; they are ignored.',
  'other-tracer': 'Lines of a trace that is not of function_graph; they are ignored.',
  'console-line': 'Lines of the kernel’s log between those of the trace; they are not part of it.',
  'no-header': 'The trace has no header, as text of trace_pipe; its columns are told by the look of its first line.',
}

const INFO: ReadonlySet<GraphDiagnosticName> = new Set(['console-line', 'no-header', 'other-tracer'])

/** Makes a counter for the input called `file`. */
export function countGraphProblems(file: string): GraphProblems {
  return countProblems(file, MEANINGS, INFO)
}
