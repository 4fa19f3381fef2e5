import { basename } from 'node:path'
import { asDisplayText } from '@boxlab/probes'
import type { LedgerEntry } from '@boxlab/native'
import { nameOf } from '../ledger/describe-wait.ts'
import { ageText } from './age.ts'
import type { BoxEntry } from './list-boxes.ts'
import type { SweepReport, SweptBox } from './sweep.ts'

/** The table of `boxlab ps`, with a line below it for each box that somebody should do something about. */
export function renderBoxes(boxes: readonly BoxEntry[]): string {
  const notes = boxes.flatMap(({ id, state, reason }) => {
    if (reason === undefined) return []
    return [`${id}: ${reason}${state === 'orphaned' ? '; `boxlab sweep` ends it' : ''}`]
  })
  return lines([...table(boxes), ...(notes.length > 0 ? ['', ...notes] : [])])
}

/** One line about what the boxes have of the host, and one for each that waits for its turn. */
export function renderLedger(entries: readonly LedgerEntry[]): string {
  const boxes = entries.filter(({ want, stand }) => want === 'box' && stand !== 'waiting')
  const alone = entries.find(({ want, stand }) => want === 'exclusive' && stand !== 'waiting')
  const memoryMib = boxes.reduce((sum, entry) => sum + entry.memoryMib, 0)
  const waiting = entries.filter(({ stand }) => stand === 'waiting')
  return lines([
    `${boxes.length} on this host, with ${memoryMib} MiB of memory in all`,
    ...(alone ? [`${asDisplayText(nameOf(alone))} has the host alone`] : []),
    ...waiting.map((entry) => `waiting: ${asDisplayText(nameOf(entry))}`),
  ])
}

/** What was swept, one box a line, then what was left alone and why. */
export function renderSweep({ dryRun, swept, unknown }: SweepReport): string {
  return lines([
    ...swept.map((box) => `${box.id}: ${box.reason ?? 'it was swept before'}; ${deed(box, dryRun)}`),
    ...unknown.map(
      ({ id, reason, record }) => `${id}: left alone: ${reason ?? 'it cannot be judged'}; record: ${record}`,
    ),
  ])
}

function deed({ action, problem, killedPids, enginePid, record }: SweptBox, dryRun: boolean): string {
  if (problem !== undefined) return `not swept: ${problem}; record: ${record}`
  const would = dryRun ? 'would be ' : ''
  const pids = dryRun ? [enginePid].filter((pid) => pid !== undefined) : killedPids
  const killed = pids.map((pid) => `its engine, process ${pid}, ${would || 'was '}killed; `).join('')
  if (action === 'removed') return `${killed}${would}removed: ${record}`
  return `${killed}${would}marked as killed, record kept: ${record}`
}

function table(boxes: readonly BoxEntry[]): string[] {
  const isNamed = boxes.some(({ name }) => name !== undefined)
  const isTested = boxes.some(({ bootedBy }) => bootedBy !== undefined)
  const rows = boxes.map((box) => [
    box.id,
    ...(isNamed ? [asDisplayText(box.name ?? '-').slice(0, 40)] : []),
    box.outcome ?? box.state,
    box.ageMs === undefined ? '-' : ageText(box.ageMs),
    String(box.ownerPid ?? '-'),
    String(box.enginePid ?? '-'),
    ...(isTested ? [testOf(box)] : []),
    box.record,
  ])
  const all = [
    ['BOX', ...(isNamed ? ['NAME'] : []), 'STATE', 'AGE', 'OWNER', 'ENGINE', ...(isTested ? ['TEST'] : []), 'RECORD'],
    ...rows,
  ]
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? []
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** The file's name, not its path: this is a column. */
function testOf({ bootedBy }: BoxEntry): string {
  if (bootedBy === undefined) return '-'
  const { file, test } = bootedBy
  return asDisplayText([basename(file), ...(test === undefined ? [] : [test])].join(' > ')).slice(0, 60)
}

function lines(all: readonly string[]): string {
  return all.map((line) => `${line}\n`).join('')
}
