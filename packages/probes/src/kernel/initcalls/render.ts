import { problemLine } from '../../text/problem-line.ts'
import { exactMs } from '../../text/milliseconds.ts'
import { page, sectionLines } from '../../text/page.ts'
import { table } from '../../text/table.ts'
import type { Initcall, InitcallsReport, InitcallsResult } from './initcalls-report.ts'
import { callName, counted, durationText, probeText } from './words.ts'

/** How a boot's calls are drawn. */
export interface InitcallsRenderOptions {
  /** Characters a line of prose may have; rows of tables are never cut. Default 100. */
  readonly width?: number
  /** How many of the longest calls and gaps are listed, each; default 10. */
  readonly longest?: number
}

/** The calls as text tables: the longest with their probes, the longest gaps, what returned no 0, and what was not finished. */
export function renderInitcalls(result: InitcallsResult, options: InitcallsRenderOptions = {}): string {
  const { width = 100, longest = 10 } = options
  const lines = result.found
    ? reportLines(result, longest)
    : [`no initcalls: ${result.message}`, ...result.diagnostics.problems.map(problemLine)]
  return page(lines, width)
}

function reportLines(report: InitcallsReport, longest: number): string[] {
  const sections = [
    report.findings.map(({ name, message }) => `${name}: ${message}`),
    longestLines(report, longest),
    gapLines(report, longest),
    [...nonZeroLines(report), ...unfinishedLines(report), ...levelLines(report)],
  ]
  return [
    headLine(report),
    clockLine(report),
    ...sectionLines(sections),
    ...(report.diagnostics.problems.length === 0 ? [] : ['', ...report.diagnostics.problems.map(problemLine)]),
  ]
}

function headLine({ summary, kernel, boot, fixups }: InitcallsReport): string {
  const { count, nonZero, unfinished, modules, probes, inCallsUs } = summary
  const parts = [
    ...(kernel === undefined ? [] : [`Linux ${kernel}`]),
    counted(count, 'initcall'),
    ...(modules === 0 ? [] : [`${modules} of modules`]),
    `${nonZero} returned no 0`,
    ...(unfinished === 0 ? [] : [`${unfinished} unfinished`]),
    ...(inCallsUs === undefined ? [] : [`${exactMs(inCallsUs)} ms in calls`]),
    ...(probes === 0 ? [] : [counted(probes, 'probe')]),
    ...(fixups.length === 0 ? [] : [counted(fixups.length, 'device fixup')]),
    ...(boot === undefined ? [] : [`boot ${boot.number} of ${boot.of}`]),
    'n=1',
  ]
  return parts.join(' · ')
}

function clockLine({ clock, calls }: InitcallsReport): string {
  const { exactFromPair, exactFromLine, tickUs, clocksource } = clock
  const paired = calls.filter(({ returned }) => returned !== undefined).length
  const stamped = calls.some(({ source }) => source === 'timestamps')
  const before = stamped ? 'differences of stamps' : 'whole ticks'
  const tick = tickUs === undefined ? '' : `, since the kernel’s figures are ticks of ${tickUs} us there`
  if (exactFromPair === undefined) return `durations: ${before}${tick}; none of ${paired} figures is exact`
  const to = clocksource === undefined ? '' : `, clocksource ${clocksource}`
  const early = exactFromPair === 1 ? '' : `${before} for the first ${exactFromPair - 1}${tick}; `
  return `durations: ${early}the kernel’s own figures from return ${exactFromPair} of ${paired} on (line ${exactFromLine ?? '?'}${to})`
}

/** Longest first; calls of which nobody knows come last. */
export function byDuration(calls: readonly Initcall[]): Initcall[] {
  return calls
    .filter(({ durationUs }) => durationUs !== undefined)
    .toSorted((a, b) => (b.durationUs ?? 0) - (a.durationUs ?? 0) || a.line - b.line)
}

function longestLines({ calls, levels }: InitcallsReport, longest: number): string[] {
  const chosen = byDuration(calls).slice(0, longest)
  if (chosen.length === 0) return []
  const level = (text: string): string[] => (levels.length === 0 ? [] : [text])
  const rows = chosen.flatMap((call) => [
    [
      durationText(call),
      call.selfUs === undefined ? '' : exactMs(call.selfUs),
      call.startUs === undefined ? '-' : exactMs(call.startUs),
      call.source === 'timestamps' ? 'stamps' : 'usecs',
      ...level(call.level ?? '-'),
      call.returned === undefined ? '-' : String(call.returned),
      `${callName(call)}${call.disagreementUs === undefined || call.source === 'timestamps' ? '' : `; ${exactMs(Math.abs(call.disagreementUs))} ms ${call.disagreementUs > 0 ? 'more' : 'less'} than its stamps`}`,
    ],
    ...(call.probes ?? []).map((probe) => ['', '', '', '', ...level(''), '', `  ${probeText(probe)}`]),
  ])
  const heading = ['ms', 'without probes', 'from ms', 'by', ...level('level'), 'returned', 'call']
  return ['longest:', ...table([heading, ...rows], levels.length === 0 ? [3, 5] : [3, 4, 6])]
}

function gapLines({ gaps, calls }: InitcallsReport, longest: number): string[] {
  if (gaps.length === 0) return []
  const chosen = gaps.toSorted((a, b) => b.durationUs - a.durationUs || a.startUs - b.startUs).slice(0, longest)
  const name = (place: number | undefined, end: string): string => {
    const call = place === undefined ? undefined : calls[place]
    return call === undefined ? end : callName(call)
  }
  const rows = chosen.map(({ durationUs, startUs, messages, first, after, before, userspace }) => [
    exactMs(durationUs),
    exactMs(startUs),
    `${name(after, userspace ? 'init' : 'kernel start')} … ${name(before, userspace ? 'the end' : 'init')}${userspace ? ', user space' : ''}; ${counted(messages, 'message')}${first === undefined ? '' : `: ${first}`}`,
  ])
  const kept = gaps.length > chosen.length ? `, the longest ${chosen.length} of ${gaps.length}` : ''
  return [`without a call for 1 ms or more${kept}:`, ...table([['ms', 'from ms', 'between'], ...rows], [2])]
}

function nonZeroLines({ calls }: InitcallsReport): string[] {
  const byCode = new Map<number, string[]>()
  for (const call of calls) {
    const { returned = 0 } = call
    if (returned === 0) continue
    const names = byCode.get(returned)
    if (names === undefined) byCode.set(returned, [callName(call)])
    else names.push(callName(call))
  }
  if (byCode.size === 0) return []
  const rows = [...byCode]
    .toSorted(([a, x], [b, y]) => y.length - x.length || a - b)
    .map(([code, names]) => [
      String(code),
      String(names.length),
      `${names.slice(0, 4).join(', ')}${names.length > 4 ? ', …' : ''}`,
    ])
  return ['returned no 0, which need not be a failure:', ...table([['value', 'calls', ''], ...rows], [2])]
}

function unfinishedLines({ calls, panic }: InitcallsReport): string[] {
  const open = calls.filter(({ unfinished }) => unfinished)
  const warned = calls.filter(({ warning }) => warning !== undefined)
  return [
    ...(open.length === 0
      ? []
      : [
          `not finished: ${open
            .slice(-5)
            .map((call) => `${callName(call)} (line ${call.line})`)
            .join(', ')}`,
        ]),
    ...(panic !== undefined && panic.call === undefined
      ? [`no initcall was open when the kernel panicked: ${panic.text}`]
      : []),
    ...warned.slice(0, 5).map((call) => `${callName(call)} returned with ${call.warning ?? ''}`),
  ]
}

function levelLines({ levels }: InitcallsReport): string[] {
  if (levels.length === 0) return []
  return [`levels: ${levels.map(({ level, calls }) => `${level} ${calls}`).join(', ')}`]
}
