/** What can be done with an output. */
export interface Terminal {
  /** Characters a line has; of a file 100. */
  readonly width: number
  readonly color: boolean
  /** Whether lines can be drawn again: a terminal with a person before it, not a log of CI. */
  readonly live: boolean
}

/** Looks at an output and the environment (`NO_COLOR`, `FORCE_COLOR`, `TERM`, `CI`). */
export function terminalOf(stream: NodeJS.WriteStream, environment: NodeJS.ProcessEnv = process.env): Terminal {
  if (!stream.isTTY) return { width: 100, color: false, live: false }
  return {
    // A pseudo terminal that nobody gave a size says 0.
    width: stream.columns || 100,
    color: stream.hasColors(environment),
    live: environment['TERM'] !== 'dumb' && !environment['CI'],
  }
}
