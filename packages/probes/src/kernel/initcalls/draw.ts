import { drawWaterfall, type WaterfallBar, type WaterfallRow } from '../../svg/waterfall.ts'
import { exactMs } from '../../text/milliseconds.ts'
import type { Initcall, InitcallsReport } from './initcalls-report.ts'
import { byDuration } from './render.ts'
import { callName, probeText } from './words.ts'

const KINDS = [
  { kind: 'call', colour: '#3b7dd8', meaning: 'initcall' },
  { kind: 'failed', colour: '#e5484d', meaning: 'not finished' },
  { kind: 'probe', colour: '#7fb685', meaning: 'probe' },
  { kind: 'gap', colour: '#eef1f4', meaning: 'no call' },
] as const

/**
 * The waterfall of the longest calls as an SVG document, in their order, each with its probes below it; times are stamps of
 * the guest's sched_clock. Calls without a start are left out.
 */
export function drawInitcalls(report: InitcallsReport, longest = 40): string {
  const { calls, gaps, clock, summary } = report
  const lastUs = Math.max(0, ...calls.map(({ startUs = 0, endUs = startUs }) => endUs), report.panic?.atUs ?? 0)
  const open = calls.filter(({ unfinished, startUs }) => unfinished && startUs !== undefined).slice(-5)
  const chosen = [...byDuration(calls).slice(0, longest), ...open]
    .filter(({ startUs }) => startUs !== undefined)
    .toSorted((a, b) => a.line - b.line)
  const exact = calls.find(({ returnedLine }) => returnedLine === clock.exactFromLine)
  return drawWaterfall({
    title: `Initcalls${report.kernel === undefined ? '' : ` of Linux ${report.kernel}`}: the ${chosen.length} longest of ${summary.count}`,
    kinds: [...KINDS],
    rows: chosen.flatMap(rows),
    bands: gaps
      .filter(({ userspace }) => !userspace)
      .map(({ startUs, endUs, first }) =>
        bar('gap', startUs, endUs, `no call${first === undefined ? '' : `: ${first}`}`),
      ),
    marks: [
      ...(exact?.endUs === undefined ? [] : [{ atUs: exact.endUs, label: 'figures are exact' }]),
      ...(report.panic?.atUs === undefined ? [] : [{ atUs: report.panic.atUs, label: 'panic' }]),
    ],
  })

  function rows(call: Initcall): WaterfallRow[] {
    const { startUs = 0, durationUs, unfinished, probes = [] } = call
    const endUs = durationUs === undefined ? lastUs : startUs + durationUs
    const title = `${callName(call)}${unfinished ? ' not finished' : ''}`
    return [
      { label: callName(call), bars: [bar(unfinished ? 'failed' : 'call', startUs, endUs, title)] },
      ...probes.flatMap((probe) =>
        probe.startUs === undefined
          ? []
          : [
              {
                label: probe.device,
                bars: [bar('probe', probe.startUs, probe.startUs + probe.durationUs, probeText(probe))],
              },
            ],
      ),
    ]
  }
}

function bar(kind: (typeof KINDS)[number]['kind'], startUs: number, endUs: number, title: string): WaterfallBar {
  return { kind, startUs, endUs, title: `${title}, ${exactMs(endUs - startUs)} ms from ${exactMs(startUs)} ms on` }
}
