import { terminalOf } from './terminal.ts'

/** How a probe's result is shown. */
export interface Shown<Result> {
  readonly json?: boolean | undefined
  readonly toJson: (result: Result) => unknown
  readonly render: (result: Result, options?: { readonly width: number }) => string
}

/** Prints a result as JSON, or as the text that it is; one without an answer is an error, and exit code 1. */
export function printResult<Result extends { readonly found: boolean }>(
  result: Result,
  { json, toJson, render }: Shown<Result>,
): 0 | 1 {
  if (json) process.stdout.write(`${JSON.stringify(toJson(result), null, 2)}\n`)
  else if (result.found) process.stdout.write(render(result, { width: terminalOf(process.stdout).width }))
  else process.stderr.write(`boxlab: ${render(result)}`)
  return result.found ? 0 : 1
}
