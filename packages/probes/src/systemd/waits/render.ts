import { exactMs } from '../../text/milliseconds.ts'
import { problemLine } from '../../text/problem-line.ts'
import { page } from '../../text/page.ts'
import { table } from '../../text/table.ts'
import type { PathPart } from './path.ts'
import { PHASE_WORDS } from './phase-words.ts'
import { footLines } from './render-foot.ts'
import type { NoWaits, WaitsReport, WaitsResult } from './waits-report.ts'

/** How the waits are drawn. */
export interface WaitsRenderOptions {
  /** Characters a line of prose may have; rows of the table are never cut. Default 100. */
  readonly width?: number
  /** Idle gaps shorter than this, in us, are counted and not listed; default 5000. */
  readonly listGapsFromUs?: number
}

/**
 * The critical path as a text table, then what the path does not show: idle gaps, what starts behind the target, ties,
 * units that look like a wait and are none. The same text serves a terminal and a pull request.
 */
export function renderWaits(result: WaitsResult, options: WaitsRenderOptions = {}): string {
  const { width = 100, listGapsFromUs = 5000 } = options
  const lines = result.found ? reportLines(result, listGapsFromUs) : noWaitsLines(result)
  return page(lines, width)
}

function noWaitsLines({ target, message, diagnostics }: NoWaits): string[] {
  return [`no waits of ${target}: ${message}`, ...diagnostics.problems.map(problemLine)]
}

function reportLines(report: WaitsReport, listGapsFromUs: number): string[] {
  return [
    headLine(report),
    '',
    ...partLines(report),
    ...footLines(report, listGapsFromUs),
    ...report.diagnostics.problems.map(problemLine),
  ]
}

const ORIGINS = { pid1: 'PID 1’s start', kernel: 'kernel start' }
const SOURCES = { show: 'systemctl show, microseconds', dump: 'systemd-analyze dump, whole seconds' }

function headLine({ target, unit, totalUs, origin, source, diagnostics }: WaitsReport): string {
  const name = target === unit ? target : `${target} (${unit})`
  return `${name} after ${exactMs(totalUs)} ms · from ${ORIGINS[origin]} · ${SOURCES[source]} · ${diagnostics.units} units · n=1`
}

function partLines({ parts, totalUs }: WaitsReport): string[] {
  const rows = parts.map((part) => [
    exactMs(part.startUs),
    exactMs(part.endUs - part.startUs),
    WORDS[part.kind],
    sayPart(part),
  ])
  const cells = [['from ms', 'ms', 'kind', 'what'], ...rows, ['', exactMs(totalUs), '', 'sum of the parts']]
  return table(cells, [2, 3])
}

const WORDS: { readonly [kind in PathPart['kind']]: string } = {
  phase: 'phase',
  starting: 'starting',
  activating: 'activating',
  wait: 'wait',
  gap: 'path gap',
  idle: 'idle',
}

function sayPart(part: PathPart): string {
  switch (part.kind) {
    case 'phase':
      if (part.name === 'dispatch' && part.startUs === 0) return `not told apart, until ${part.endedBy ?? '?'} was run`
      return part.endedBy === undefined
        ? PHASE_WORDS[part.name]
        : `${PHASE_WORDS[part.name]}, until ${part.endedBy} was run`
    case 'gap':
      return `${part.unit} done, until ${part.endedBy} was run${part.triggeredBy === undefined ? '' : ` (can be triggered by ${part.triggeredBy.join(', ')})`}`
    case 'wait':
      return `${part.unit} (${part.endedBy === 'timeout' ? 'never came: timeout' : 'came'})`
    case 'idle':
      return `${part.unit} waits for the job queue${part.endedBy === undefined ? '' : ` (${part.endedBy})`}`
    default:
      return part.unit
  }
}
