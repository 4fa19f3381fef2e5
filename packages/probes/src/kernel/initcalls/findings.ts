import type { LoggedBoot } from './collect-calls.ts'
import type { InitcallsFinding, InitcallsReport } from './initcalls-report.ts'
import { counted } from './words.ts'

type Unjudged = Omit<InitcallsReport, 'findings' | 'diagnostics'>

/** What a reader should know before they trust a figure. */
export function findingsOf(report: Unjudged, boot: LoggedBoot): InitcallsFinding[] {
  return [
    ...endingOf(report),
    ...clockOf(report),
    ...(boot.whole || boot.calls[0]?.pid === 0
      ? []
      : [
          {
            name: 'begins-late' as const,
            message:
              'the log does not begin with the kernel’s first line, so earlier calls may be missing: raise `log_buf_len=`, or give the whole log',
          },
        ]),
    ...consoleOf(boot),
    ...disagreementsOf(report),
    ...overlapsOf(report),
  ]
}

function endingOf({ calls, panic }: Unjudged): InitcallsFinding[] {
  if (panic?.call !== undefined) {
    const call = calls[panic.call]
    const message = `the kernel panicked in ${call?.name ?? '?'} (line ${call?.line ?? '?'}), which did not return: ${panic.text}`
    return [{ name: 'unfinished-at-panic', message }]
  }
  const last = calls.findLast(({ unfinished }) => unfinished)
  if (last === undefined) return []
  const message = `${last.name} (line ${last.line}) had not returned when the log ended: it hangs, or the log was cut or read while it ran`
  return [{ name: 'unfinished-at-end', message }]
}

function clockOf({ calls, clock }: Unjudged): InitcallsFinding[] {
  const findings: InitcallsFinding[] = []
  const { unitNs, unitBy, tickUs, exactBy, exactFromLine } = clock
  if (unitNs === 1024) {
    const by = {
      ticks: `a tick of ${tickUs ?? '?'} us is printed as ${Math.floor(((tickUs ?? 0) * 1000) / 1024)}`,
      version: 'by its version',
      stamps: 'by the stamps',
    }
    const message = `this kernel prints ns >> 10 as usecs (${by[unitBy ?? 'version']}): its figures are multiplied by 1.024 here, those of probes are true microseconds`
    findings.push({ name: 'old-unit', message })
  }
  if (unitNs === undefined && calls.some(({ source }) => source === 'usecs')) {
    const message =
      'whether this kernel prints microseconds or ns >> 10 is not known: its figures may be 2.4 % too small; give the log from its first line on'
    findings.push({ name: 'unit-unknown', message })
  }
  if (exactBy !== 'switch') {
    const from =
      exactFromLine === undefined
        ? 'no figure is taken as exact'
        : `figures are taken as exact from line ${exactFromLine} on, ${exactBy === 'values' ? 'the first that is no whole tick' : 'the return of clocksource_done_booting'}`
    findings.push({ name: 'no-switch-line', message: `the log has no \`clocksource: Switched to\`: ${from}` })
  }
  if (!calls.some(({ startUs }) => startUs !== undefined)) {
    const message =
      'the log has no stamps of the kernel: figures are whole ticks up to the switch of the clocksource, and gaps are not known'
    findings.push({ name: 'no-stamps', message })
  }
  return findings
}

/** A serial console costs two exits a byte, inside the call that prints and around every line of initcall_debug. */
function consoleOf({ commandLine = '' }: LoggedBoot): InitcallsFinding[] {
  const loud = /(?:^| )(?:ignore_loglevel|loglevel=(?:[89]|\d\d))(?: |$)/.test(commandLine)
  if (!loud || !/(?:^| )console=/.test(commandLine)) return []
  const message =
    'the log went to a console while it was written (loglevel of 8): stamps hold the printing of each line, and so do calls that print'
  return [{ name: 'console-in-intervals', message }]
}

function disagreementsOf({ calls, clock }: Unjudged): InitcallsFinding[] {
  const exact = calls.filter(
    ({ disagreementUs, source, returnedLine = 0 }) =>
      disagreementUs !== undefined &&
      source === 'usecs' &&
      clock.exactFromLine !== undefined &&
      returnedLine >= clock.exactFromLine,
  )
  if (exact.length === 0) return []
  const named = exact
    .slice(0, 3)
    .map(({ name, disagreementUs = 0 }) => `${name} ${(disagreementUs / 1000).toFixed(3)} ms`)
  const message = `${counted(exact.length, 'exact figure')} ${exact.length === 1 ? 'differs from its' : 'differ from their'} stamps by more than 1 ms: ${named.join(', ')}${exact.length > 3 ? ', …' : ''}`
  return [{ name: 'disagreements', message }]
}

function overlapsOf({ calls }: Unjudged): InitcallsFinding[] {
  const overlapped = calls.filter((call) => call.overlapped)
  if (overlapped.length === 0) return []
  const message = `${counted(overlapped.length, 'call')} had not returned when another began: the kernel keeps one start for all (initcall_calltime), so stamps are used there`
  return [{ name: 'overlapping-calls', message }]
}
