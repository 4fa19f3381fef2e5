import { asDisplayText } from '@boxlab/probes'
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
  const rows = boxes.map((box) => [
    box.id,
    ...(isNamed ? [asDisplayText(box.name ?? '-').slice(0, 40)] : []),
    box.outcome ?? box.state,
    box.ageMs === undefined ? '-' : ageText(box.ageMs),
    String(box.ownerPid ?? '-'),
    String(box.enginePid ?? '-'),
    box.record,
  ])
  const all = [['BOX', ...(isNamed ? ['NAME'] : []), 'STATE', 'AGE', 'OWNER', 'ENGINE', 'RECORD'], ...rows]
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? []
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** Two digits or so: how long ago, not how long exactly. */
function ageText(ageMs: number): string {
  const seconds = Math.floor(ageMs / 1000)
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}

function lines(all: readonly string[]): string {
  return all.map((line) => `${line}\n`).join('')
}
