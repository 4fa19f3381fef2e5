import { type AsyncByteInput, type ByteInput, chunksOf, encodeChunks } from '../../input/byte-input.ts'
import { type InputLine, LINE_CAP_BYTES, splitLines } from '../../input/line-splitter.ts'
import { plainText } from '../terminal.ts'
import { collectCalls, type LoggedBoot } from './collect-calls.ts'
import { findingsOf } from './findings.ts'
import { countInitcallsProblems } from './initcalls-diagnostics.ts'
import type { InitcallsReport, InitcallsResult, InitcallsSummary } from './initcalls-report.ts'
import { judgeClock } from './judge-clock.ts'
import { logMessages } from './log-messages.ts'
import { placeProbes } from './place-probes.ts'
import { timeCalls, timeFixups, timeGaps, timeInCalls } from './time-calls.ts'

/** How a log is read. */
export interface InitcallsOptions {
  /** The log's name in diagnostics; default `log`. */
  readonly file?: string
  /** Which boot of the log, from 1, counted over those that have initcalls; default the last one. */
  readonly boot?: number
  /** The longest line, in bytes; default 64 MiB. */
  readonly lineCapBytes?: number
}

/**
 * The kernel's boot, call by call, from its log with `initcall_debug`: what dmesg, a serial console, journald or /dev/kmsg
 * give of it. Linear in the input; never throws on what it holds. Without a call it says so.
 */
export function initcalls(log: ByteInput, options: InitcallsOptions = {}): InitcallsResult {
  const scan = scanInitcalls(options)
  for (const chunk of chunksOf(log)) scan.push(chunk)
  return scan.end()
}

/** The same for a log that arrives in chunks; rejects only if the stream itself fails. */
export async function initcallsIn(log: AsyncByteInput, options: InitcallsOptions = {}): Promise<InitcallsResult> {
  const scan = scanInitcalls(options)
  for await (const chunk of log) scan.push(chunk)
  return scan.end()
}

function scanInitcalls({ file = 'log', boot, lineCapBytes = LINE_CAP_BYTES }: InitcallsOptions): {
  push(chunk: Uint8Array | string): void
  end(): InitcallsResult
} {
  const problems = countInitcallsProblems(file)
  const collector = collectCalls(problems)
  const encoder = encodeChunks()
  const splitter = splitLines(lineCapBytes)
  const decoder = new TextDecoder()
  let lines = 0

  function take({ bytes, number, terminated, tooLong }: InputLine): void {
    lines += 1
    if (tooLong) return problems.add('line-too-long', number)
    const messages = logMessages(plainText(decoder.decode(bytes)), number)
    // A torn line is no less torn for having been readable up to here.
    if (!terminated && /(?:^|\s)(?:calling {2}|initcall |probe of )\S*$/.test(messages.at(-1)?.text ?? '')) {
      problems.add('torn-tail', number)
      return
    }
    for (const message of messages) collector.take(message)
  }

  return {
    push(chunk) {
      splitter.push(encoder.push(chunk)).forEach(take)
    },
    end() {
      splitter.push(encoder.end()).forEach(take)
      splitter.end().forEach(take)
      return reportOf(collector.end(), boot, () => {
        const met = problems.list()
        return { lines, unparsed: met.find(({ name }) => name === 'unreadable')?.count ?? 0, problems: met }
      })
    },
  }

  function reportOf(
    all: readonly LoggedBoot[],
    wanted: number | undefined,
    diagnostics: () => InitcallsReport['diagnostics'],
  ): InitcallsResult {
    const boots = all.filter(({ calls }) => calls.length > 0)
    const number = wanted ?? boots.length
    const logged = boots[number - 1]
    if (logged === undefined) {
      const message =
        boots.length > 0
          ? `the log has ${boots.length} boots with initcalls, and boot ${number} is none of them`
          : 'the log has no initcall: boot with `initcall_debug`, and read the log with `dmesg`, or from a console with `loglevel=8` (its lines are KERN_DEBUG)'
      return { found: false, message, diagnostics: diagnostics() }
    }
    for (const other of boots) {
      if (other !== logged) problems.add('other-boot', other.calls[0]?.line ?? 1)
    }
    const clock = judgeClock(logged)
    const placed = placeProbes(logged, clock)
    for (const { line, device } of placed.alone) problems.add('probe-unplaced', line, device)
    const calls = timeCalls(logged, clock, placed.byCall, problems)
    const { exactLine: _exactLine, ...toldClock } = clock
    const fixups = timeFixups(logged.fixups, clock)
    const report = {
      found: true as const,
      ...(logged.kernel !== undefined && { kernel: logged.kernel }),
      ...(boots.length > 1 && { boot: { number, of: boots.length } }),
      calls,
      levels: levelsOf(logged),
      gaps: timeGaps(logged),
      fixups,
      otherProbes: placed.alone,
      clock: toldClock,
      ...(logged.panic && { panic: logged.panic }),
      summary: summaryOf(logged, calls, fixups.length),
    }
    return { ...report, findings: findingsOf(report, logged), diagnostics: diagnostics() }
  }
}

function levelsOf({ levels, calls }: LoggedBoot): InitcallsReport['levels'] {
  const counts = new Map<string, number>()
  for (const { level } of calls) if (level !== undefined) counts.set(level, (counts.get(level) ?? 0) + 1)
  return levels.map((one) => ({ ...one, calls: counts.get(one.level) ?? 0 }))
}

function summaryOf(boot: LoggedBoot, calls: InitcallsReport['calls'], fixups: number): InitcallsSummary {
  const inCallsUs = timeInCalls(calls)
  const count = (holds: (call: InitcallsReport['calls'][number]) => boolean): number => calls.filter(holds).length
  return {
    count: calls.length,
    paired: count(({ returned, pid }) => returned !== undefined && pid !== undefined),
    nonZero: count(({ returned = 0 }) => returned !== 0),
    unfinished: count(({ unfinished }) => unfinished === true),
    modules: count(({ module }) => module !== undefined),
    probes: boot.probes.length,
    fixups,
    disagreements: count(({ disagreementUs }) => disagreementUs !== undefined),
    ...(inCallsUs !== undefined && { inCallsUs }),
  }
}
