import { drawWaterfall, type WaterfallBar, type WaterfallRow } from '../../svg/waterfall.ts'
import { exactMs } from '../../text/milliseconds.ts'
import type { PathPart } from './path.ts'
import { PHASE_WORDS } from './phase-words.ts'
import type { WaitsReport } from './waits-report.ts'

const KINDS = [
  { kind: 'phase', colour: '#9aa5b1', meaning: 'kernel, PID 1' },
  { kind: 'starting', colour: '#f0a04b', meaning: 'starting' },
  { kind: 'activating', colour: '#3b7dd8', meaning: 'activating' },
  { kind: 'wait', colour: '#8e5bd0', meaning: 'device wait' },
  { kind: 'gap', colour: '#e5484d', meaning: 'path gap' },
  { kind: 'idle', colour: '#c9b458', meaning: 'idle' },
  { kind: 'behind', colour: '#7fb685', meaning: 'behind the target' },
  { kind: 'idle-gap', colour: '#fbe3e4', meaning: 'no unit activating' },
] as const

/**
 * The waterfall of a boot as an SVG document: one row a unit on the critical path, the gap before it in front of its bars,
 * then what started behind the target; times in which no unit was activating lie behind all rows.
 */
export function drawWaits(report: WaitsReport): string {
  const { target, totalUs, parts, behind, idleGaps } = report
  return drawWaterfall({
    title: `what ${target} waited for: ${exactMs(totalUs)} ms`,
    kinds: [...KINDS],
    rows: [...pathRows(parts), ...behind.map(behindRow)],
    bands: idleGaps.map(({ startUs, endUs, openedBy, closedBy }) =>
      bar('idle-gap', startUs, endUs, `no unit activating, after ${openedBy}, until ${closedBy}`),
    ),
    marks: [{ atUs: totalUs, label: target }],
  })

  function behindRow({ unit, startUs, endUs }: WaitsReport['behind'][number]): WaterfallRow {
    const title = endUs === undefined ? `${unit}, not finished` : unit
    // A start that is not over has no end: as long as what is known.
    return { label: unit, bars: [bar('behind', startUs, endUs ?? Math.max(startUs, lastUs()), title)] }
  }

  function lastUs(): number {
    return Math.max(totalUs, ...behind.map(({ startUs, endUs }) => endUs ?? startUs))
  }
}

/** Phases have a row each, units too; a gap belongs to the unit that it kept waiting. */
function pathRows(parts: readonly PathPart[]): WaterfallRow[] {
  const rows = new Map<string, WaterfallBar[]>()
  for (const part of parts) {
    const [label, title] = wordsOf(part)
    const bars = rows.get(label) ?? []
    rows.set(label, bars)
    bars.push(bar(part.kind, part.startUs, part.endUs, title))
  }
  return [...rows].map(([label, bars]) => ({ label, bars }))
}

function wordsOf(part: PathPart): readonly [string, string] {
  if (part.kind === 'phase') return [PHASE_WORDS[part.name], PHASE_WORDS[part.name]]
  if (part.kind === 'gap') return [part.endedBy, `${part.unit} was done and ${part.endedBy} was not run yet`]
  return [part.unit, `${part.unit}: ${part.kind}`]
}

function bar(kind: (typeof KINDS)[number]['kind'], startUs: number, endUs: number, title: string): WaterfallBar {
  return { kind, startUs, endUs, title: `${title}, ${exactMs(endUs - startUs)} ms from ${exactMs(startUs)} ms on` }
}
