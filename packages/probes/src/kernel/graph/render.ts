import { exactMs } from '../../text/milliseconds.ts'
import { problemLine } from '../../text/problem-line.ts'
import { page, sectionLines } from '../../text/page.ts'
import { table } from '../../text/table.ts'
import type { GraphReport, GraphResult, GraphSpan, NoGraph } from './graph-report.ts'
import type { GraphNode } from './tree.ts'

/** How a trace is drawn as text. */
export interface GraphRenderOptions {
  /** Characters a line of prose may have; rows of tables are never cut. Default 100. */
  readonly width?: number
  /** How many functions each table lists; default 10. */
  readonly rows?: number
  /** Levels of the tree; default 4. */
  readonly levels?: number
}

/**
 * A trace as text tables: what migrated, the tree of calls with total and self time, the functions with the most time of
 * their own, then what one must know to read it. The same text serves a terminal and a pull request.
 */
export function renderGraph(result: GraphResult, options: GraphRenderOptions = {}): string {
  const { width = 100, rows = 10, levels = 4 } = options
  const lines = result.found ? reportLines(result, rows, levels) : noGraphLines(result)
  return page(lines, width)
}

function noGraphLines({ message, diagnostics }: NoGraph): string[] {
  return [`no function: ${message}`, ...diagnostics.problems.map(problemLine)]
}

function reportLines(report: GraphReport, rows: number, levels: number): string[] {
  const sections = [
    migratedLines(report.spans, rows),
    treeLines(report.tree, rows, levels),
    selfLines(report, rows),
    shareLines(report, rows),
    report.findings.map(({ name, message }) => `${name}: ${message}`),
  ]
  return [headLine(report), ...sectionLines(sections), ...report.diagnostics.problems.map(problemLine)]
}

function headLine({ summary, source, threshold, deepest, spans }: GraphReport): string {
  const tasks = new Set(spans.map(({ task }) => task).filter((task) => task !== undefined)).size
  const cpus = new Set(spans.flatMap(({ cpuOpen, cpuClose }) => [cpuOpen, cpuClose]).filter((cpu) => cpu !== undefined))
  return [
    `${countOf(summary.frames, 'span')}${threshold ? ' above tracing_thresh' : ''} (${summary.leaves} leaves)`,
    `${summary.migrated} migrated`,
    ...(tasks === 0 ? [] : [countOf(tasks, 'task')]),
    ...(cpus.size === 0 ? [] : [countOf(cpus.size, 'CPU')]),
    ...(deepest ? [`deepest ${deepest.depth + 1} levels (${deepest.name})`] : []),
    ...(summary.lossTold ? [`${summary.lost} events lost`] : []),
    ...(summary.traces > 1 ? [`${summary.traces} traces`] : []),
    ...(source === 'tracefs' ? [] : ['trace-cmd']),
    'n=1',
  ].join(' · ')
}

function migratedLines(spans: readonly GraphSpan[], most: number): string[] {
  const migrated = spans.filter((span) => span.migrated).toSorted((a, b) => (b.durationUs ?? 0) - (a.durationUs ?? 0))
  if (migrated.length === 0) return []
  const rows = migrated
    .slice(0, most)
    .map(({ name, task, cpuOpen, cpuClose, depth, durationUs }) => [
      cell(durationUs),
      `${cpuOpen} -> ${cpuClose}`,
      String(depth),
      task ?? '-',
      name,
    ])
  return [
    `migrated, opened on one CPU and closed on another${more(migrated.length, most)}:`,
    ...table([['ms', 'CPU', 'depth', 'task', 'function'], ...rows], [3, 4]),
  ]
}

function treeLines(tree: readonly GraphNode[], most: number, levels: number): string[] {
  const rows: string[][] = []
  const shown = (nodes: readonly GraphNode[], level: number, within: number): void => {
    const worth = nodes.filter(
      ({ totalUs, open }) => (totalUs ?? 0) >= within * WORTH || (totalUs === undefined && open > 0),
    )
    for (const { name, calls, totalUs, selfUs, migrated, open, children } of worth.slice(0, most)) {
      const notes = [
        ...(migrated > 0 ? [migrated === calls ? 'migrated' : `${migrated} migrated`] : []),
        ...(open > 0 ? [`${open} not returned`] : []),
      ]
      const note = notes.length === 0 ? '' : ` (${notes.join(', ')})`
      rows.push([cell(totalUs), cell(selfUs), String(calls), `${'· '.repeat(level)}${name}${note}`])
      if (level + 1 < levels) shown(children, level + 1, totalUs ?? timeOf(children))
    }
    const rest = nodes.length - Math.min(worth.length, most)
    if (rest > 0) rows.push(['', '', '', `${'· '.repeat(level)}${countOf(rest, 'more function')}`])
  }
  shown(tree, 0, timeOf(tree))
  return ['tree of calls, longest first:', ...table([['total ms', 'self ms', 'calls', 'function'], ...rows], [3])]
}

function timeOf(nodes: readonly GraphNode[]): number {
  return nodes.reduce((sum, { totalUs = 0 }) => sum + totalUs, 0)
}

/** A function with less than this part of the time around it is counted and not listed. */
const WORTH = 0.05

function selfLines({ functions }: GraphReport, most: number): string[] {
  const timed = functions.filter(({ selfUs }) => selfUs !== undefined)
  if (timed.length === 0) return []
  const sorted = timed.toSorted((a, b) => (b.selfUs ?? 0) - (a.selfUs ?? 0))
  const rows = sorted
    .slice(0, most)
    .map(({ name, calls, totalUs, selfUs, longestUs }) => [
      cell(selfUs),
      cell(totalUs),
      cell(longestUs),
      String(calls),
      name,
    ])
  return [
    `most time of their own${more(timed.length, most)}:`,
    ...table([['self ms', 'total ms', 'longest ms', 'calls', 'function'], ...rows], [4]),
  ]
}

function shareLines({ cpuShare }: GraphReport, most: number): string[] {
  if (cpuShare === undefined) return []
  const rows = cpuShare.tasks
    .slice(0, most)
    .map(({ task, us, share }) => [exactMs(us), `${(share * 100).toFixed(1)} %`, task])
  return [
    `who ran, over ${exactMs(cpuShare.windowUs)} ms of ${countOf(cpuShare.cpus, 'CPU')}${more(cpuShare.tasks.length, most)}:`,
    ...table([['ms', 'share', 'task'], ...rows], [2]),
  ]
}

function more(all: number, most: number): string {
  return all > most ? ` (${most} of ${all})` : ''
}

function cell(us: number | undefined): string {
  return us === undefined ? '-' : exactMs(us)
}

function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
