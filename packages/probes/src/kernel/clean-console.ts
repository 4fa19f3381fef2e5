import { type AsyncByteInput, type ByteInput, chunksOf, encodeChunks } from '../input/byte-input.ts'
import { countDiagnostics, type Diagnostic } from '../input/diagnostics.ts'
import { type InputLine, LINE_CAP_BYTES, splitLines } from '../input/line-splitter.ts'
import { type AllowedBy, type AllowEntry, allowList, type UnusedAllow } from './allow.ts'
import { consoleMessages } from './console-message.ts'
import { collectProblems, type ConsoleProblem } from './collect-problems.ts'
import { plainText } from './terminal.ts'

/** A problem on a console, and whether the suite allows it. */
export interface ConsoleFinding extends ConsoleProblem {
  readonly allowedBy?: AllowedBy
}

/** What a console shows that a clean boot does not. */
export interface ConsoleReport {
  /** Every problem in order, allowed or not. */
  readonly findings: readonly ConsoleFinding[]
  /** The entries of the allow list that allowed nothing. */
  readonly unusedAllow: readonly UnusedAllow[]
  /** How much this is based on: an empty console is not a clean one. */
  readonly lines: number
  readonly bytes: number
  readonly diagnostics: readonly Diagnostic[]
}

/** How a console is read. */
export interface ConsoleOptions {
  /** Problems that are acceptable, each with its reason; default none. */
  readonly allow?: readonly AllowEntry[]
  /** The longest line, in bytes; default 64 MiB. */
  readonly lineCapBytes?: number
}

/**
 * Finds what the kernel, systemd and initramfs tools say when something is wrong: panics, oopses, BUGs, WARNINGs,
 * lockups, stalls, hung tasks, kills for memory, crashed programs, emergency shells, ordering cycles. Reads console
 * bytes, or text pasted from a log. Linear in the input; throws only on an allow entry without pattern or reason.
 */
export function findConsoleProblems(input: ByteInput, allow: readonly AllowEntry[] = []): ConsoleReport {
  const scan = scanConsole({ allow })
  for (const chunk of chunksOf(input)) scan.push(chunk)
  return scan.end()
}

/** The same for a console that arrives in chunks; rejects only if the stream itself fails. */
export async function findConsoleProblemsIn(
  input: AsyncByteInput,
  allow: readonly AllowEntry[] = [],
): Promise<ConsoleReport> {
  const scan = scanConsole({ allow })
  for await (const chunk of input) scan.push(chunk)
  return scan.end()
}

/** A console that is read while it is written. */
export interface ConsoleScan {
  push(chunk: Uint8Array | string): void
  end(): ConsoleReport
}

/** Begins to read a console. */
export function scanConsole({ allow = [], lineCapBytes = LINE_CAP_BYTES }: ConsoleOptions = {}): ConsoleScan {
  const allowed = allowList(allow)
  const diagnostics = countDiagnostics('console.bin')
  const encoder = encodeChunks()
  const splitter = splitLines(lineCapBytes)
  const decoder = new TextDecoder()
  const problems = collectProblems()
  let lines = 0
  let bytes = 0

  function feed(chunk: Uint8Array): void {
    bytes += chunk.length
    splitter.push(chunk).forEach(take)
  }

  function take(line: InputLine): void {
    lines += 1
    if (line.tooLong) diagnostics.add('line-too-long', line.number)
    const messages = consoleMessages(plainText(decoder.decode(line.bytes)), line.number === 1)
    for (const message of messages) problems.take(message, line)
  }

  return {
    push(chunk) {
      feed(encoder.push(chunk))
    },
    end() {
      feed(encoder.end())
      splitter.end().forEach(take)
      const findings = problems.end().map((problem) => withAllowance(problem, allowed.find(problem.text)))
      return { findings, unusedAllow: allowed.unused(), lines, bytes, diagnostics: diagnostics.list() }
    },
  }
}

function withAllowance(problem: ConsoleProblem, allowedBy: AllowedBy | undefined): ConsoleFinding {
  return allowedBy === undefined ? problem : { ...problem, allowedBy }
}
