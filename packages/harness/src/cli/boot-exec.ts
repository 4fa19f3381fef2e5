import type { ExecExit } from '@boxlab/native'
import type { Box } from '../box.ts'

/** How one line of `--exec` went. */
export interface CommandReport {
  readonly line: string
  /** Absent when it was not captured, because it went straight to the terminal. */
  readonly stdout?: string
  readonly stderr?: string
  readonly exitCode?: number
  readonly signal?: string
  readonly durationMs?: number
  /** One sentence; absent when it succeeded. */
  readonly failure?: string
}

/** How lines are run. */
export interface LinesOptions {
  /** Captures their output instead of passing it on. */
  readonly quiet: boolean
  /** Cuts them short. */
  readonly arrived: Promise<NodeJS.Signals>
}

/** Runs lines in the guest's shell, one after the other; the first that fails is the last. */
export async function runLines(box: Box, lines: readonly string[], options: LinesOptions): Promise<CommandReport[]> {
  const reports: CommandReport[] = []
  const cut = new AbortController()
  void options.arrived.then((signal) => cut.abort(new Error(signal)))
  for (const line of lines) {
    const report = await runLine(box, line, options.quiet, cut.signal)
    reports.push(report)
    if (report.failure !== undefined) break
  }
  return reports
}

async function runLine(box: Box, line: string, quiet: boolean, signal: AbortSignal): Promise<CommandReport> {
  try {
    if (!quiet) return { line, ...outcome(line, await passOn(box, line, signal)) }
    const { stdout, stderr, ...exit } = await box.shell(line, { signal })
    return { line, stdout: stdout.toString('utf8'), stderr: stderr.toString('utf8'), ...outcome(line, exit) }
  } catch (error) {
    return { line, failure: `\`${line}\`: ${error instanceof Error ? error.message : String(error)}` }
  }
}

async function passOn(box: Box, line: string, signal: AbortSignal): Promise<ExecExit> {
  const command = await box.spawn(['/bin/sh', '-c', line], { signal })
  command.stdin.on('error', () => {}).end()
  // An error of a stream is also the error of wait(), which tells more.
  command.stdout.on('error', () => {}).pipe(process.stdout, { end: false })
  command.stderr?.on('error', () => {}).pipe(process.stderr, { end: false })
  return command.wait()
}

function outcome(
  line: string,
  { exitCode, signal, durationMs }: Omit<ExecExit, 'outputHeld'>,
): Omit<CommandReport, 'line'> {
  const how = signal === undefined ? `exited with code ${exitCode}` : `was ended by ${signal}`
  return {
    durationMs,
    ...(exitCode !== undefined && { exitCode }),
    ...(signal !== undefined && { signal }),
    ...(exitCode !== 0 && { failure: `\`${line}\` ${how}` }),
  }
}
