import type { Cell } from './cells.ts'
import type { CellResult } from './run-cell.ts'

/** The head of the table. */
export const resultHead: readonly string[] = [
  'blow',
  'pool',
  'thread',
  'step',
  'mark asked for',
  'last mark',
  'engine gone ms',
  'all gone ms',
  'late',
  'zombies',
  'sockets',
  'temp files',
  'records',
  'after the sweep',
  'leaks',
]

/** One row, or why there is none. */
export function resultRow({ blow, pool, thread, step }: Cell, result: CellResult | string): string[] {
  const words = [blow, pool, thread, step.name, step.mark]
  if (typeof result === 'string') return [...words, 'not carried out', ...Array<string>(8).fill(''), '1']
  const { reached, enginesGoneMs, allGoneMs, late, zombies, left } = result
  return [
    ...words,
    reached,
    enginesGoneMs === undefined ? 'none came' : enginesGoneMs.toFixed(0),
    allGoneMs === undefined ? 'lives on' : allGoneMs.toFixed(0),
    String(late),
    String(zombies.all),
    String(left.sockets),
    String(left.tempFiles.length),
    left.outcomes.join(' '),
    afterSweep(result),
    String(leaksOf(result)),
  ]
}

/**
 * What counts: an engine or owner that outlived the bound, a zombie of an owner that lives on, and after the sweep anything but
 * records that say `killed`. A zombie whose parent is gone is PID 1's to collect.
 */
export function leaksOf({ late, zombies, swept, enginesAfterSweep }: CellResult): number {
  const unended = swept.outcomes.filter((outcome) => outcome !== 'killed').length
  return late + zombies.ofOwner + enginesAfterSweep + swept.sockets + swept.tempFiles.length + unended
}

function afterSweep({ swept, enginesAfterSweep }: CellResult): string {
  const parts = [...swept.outcomes]
  if (enginesAfterSweep > 0) parts.push(`${enginesAfterSweep} engines`)
  if (swept.sockets > 0) parts.push(`${swept.sockets} sockets`)
  if (swept.tempFiles.length > 0) parts.push(`${swept.tempFiles.length} files`)
  return parts.join(' ') || 'nothing'
}
