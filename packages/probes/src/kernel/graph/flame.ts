import { drawWaterfall, type WaterfallBar } from '../../svg/waterfall.ts'
import { exactMs } from '../../text/milliseconds.ts'
import type { GraphReport } from './graph-report.ts'
import { type GraphNode, roundNs } from './tree.ts'

/**
 * The stacks of a trace in the folded form that flame graph tools take: `f;g;h N`, N being the time of h's own in ns.
 * Functions whose own time is not known are left out.
 */
export function graphStacks({ tree }: GraphReport): string {
  const lines: string[] = []
  const walk = (nodes: readonly GraphNode[], above: string): void => {
    for (const { name, selfUs = 0, children } of nodes) {
      const stack = above === '' ? folded(name) : `${above};${folded(name)}`
      if (selfUs > 0) lines.push(`${stack} ${Math.round(selfUs * 1000)}`)
      walk(children, stack)
    }
  }
  walk(tree, '')
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`
}

/** A blank would end the stack. */
function folded(name: string): string {
  return name.replace(/[\s;]+/g, '_')
}

const KINDS = [
  { kind: 'call', colour: '#3b7dd8', meaning: 'total time of the calls' },
  { kind: 'migrated', colour: '#e5a50a', meaning: 'with calls that closed on another CPU' },
] as const

/** Bars thinner than this part of the drawing are left out: nobody could see them. */
const THINNEST = 1 / 3000

/**
 * The tree of calls as an SVG document, one row a level: the width of a bar is the time of all calls there, and what was
 * called in them lies below. The axis adds times up; it is no time line.
 */
export function drawGraph({ tree, summary }: GraphReport): string {
  const rows: { readonly label: string; readonly bars: WaterfallBar[] }[] = []
  const wholeUs = tree.reduce((sum, { totalUs = 0 }) => sum + totalUs, 0)
  const walk = (nodes: readonly GraphNode[], level: number, fromUs: number): void => {
    let at = fromUs
    for (const { name, calls, totalUs, selfUs, migrated, children } of nodes) {
      if (totalUs === undefined || totalUs < wholeUs * THINNEST) continue
      const row = (rows[level] ??= { label: `depth ${level}`, bars: [] })
      const own = selfUs === undefined ? '' : `, ${exactMs(selfUs)} ms of its own`
      row.bars.push({
        startUs: at,
        endUs: roundNs(at + totalUs),
        kind: migrated > 0 ? 'migrated' : 'call',
        title: `${name}: ${calls} calls, ${exactMs(totalUs)} ms${own}${migrated > 0 ? `, ${migrated} migrated` : ''}`,
      })
      walk(children, level + 1, at)
      at = roundNs(at + totalUs)
    }
  }
  walk(tree, 0, 0)
  return drawWaterfall({
    title: `function_graph: ${summary.frames} spans, ${summary.migrated} migrated`,
    kinds: [...KINDS],
    rows,
    bands: [],
    marks: [],
  })
}
