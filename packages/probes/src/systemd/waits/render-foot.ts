import { exactMs } from '../../text/milliseconds.ts'
import { sectionLines } from '../../text/page.ts'
import { NOT_WAITED } from './predecessors.ts'
import type { WaitsReport } from './waits-report.ts'

/** What stands below the path; rows are indented by two blanks. */
export function footLines(report: WaitsReport, listGapsFromUs: number): string[] {
  const sections = [
    gapLines(report, listGapsFromUs),
    behindLines(report),
    promptLines(report),
    tieLines(report),
    report.notWaitedFor.map(
      ({ unit, after, reason }) => `${unit} is ordered after ${after}, which ${NOT_WAITED[reason]}`,
    ),
    report.findings.map(({ name, message }) => `${name}: ${message}`),
  ]
  return sectionLines(sections)
}

function gapLines({ idleGaps, resolution }: WaitsReport, listFromUs: number): string[] {
  if (idleGaps.length === 0)
    return [
      `idle gaps (no unit was activating): ${resolution === 'second' ? 'none that whole seconds could show' : 'none'}`,
    ]
  const sumUs = idleGaps.reduce((sum, { startUs, endUs }) => sum + endUs - startUs, 0)
  const listed = idleGaps.filter(({ startUs, endUs }) => endUs - startUs >= listFromUs)
  const less = idleGaps.length - listed.length
  const head = `idle gaps (no unit was activating): ${idleGaps.length}, ${exactMs(sumUs)} ms in all${less === 0 ? '' : `; ${less} shorter than ${exactMs(listFromUs)} ms are not listed`}`
  return [
    head,
    ...listed.map(({ startUs, endUs, openedBy, closedBy }) =>
      row([startUs, endUs - startUs], `after ${openedBy}, until ${closedBy}`),
    ),
  ]
}

const HELD = { 'login-prompt': 'the login prompt', 'startup-finished': 'the end of the boot' }

function behindLines({ behind, target }: WaitsReport): string[] {
  if (behind.length === 0) return [`nothing starts behind ${target}`]
  return [
    `behind ${target}:`,
    ...behind.map(({ unit, startUs, endUs, state, holds }) => {
      const notes = [
        ...(state === 'running' ? ['was running'] : []),
        ...(endUs === undefined ? ['not finished'] : []),
        ...(holds.length === 0 ? [] : [`holds ${holds.map((one) => HELD[one]).join(' and ')}`]),
      ]
      return row(
        [startUs, endUs === undefined ? undefined : endUs - startUs],
        `${unit}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}`,
      )
    }),
  ]
}

/** Told where it is the question, and by whoever saw it: the exec of getty comes before its text. */
function promptLines({ target, prompt }: WaitsReport): string[] {
  if (target !== 'login' || prompt?.console === undefined) return []
  const { atUs, errorUs } = prompt.console
  return [`the prompt was on the console at ${exactMs(atUs)} ms, give or take ${exactMs(errorUs)} ms`]
}

function tieLines({ ties }: WaitsReport): string[] {
  return ties.map(
    ({ unit, atUs, chosen, others }) =>
      `tie at ${exactMs(atUs)} ms: ${unit} was released by ${chosen} or by ${others.length <= MAX_TIED ? others.join(', ') : `${others.slice(0, MAX_TIED).join(', ')} and ${others.length - MAX_TIED} more, all in the JSON`}`,
  )
}

// The whole list is in the result; a dump of whole seconds ties dozens.
const MAX_TIED = 8

function row([startUs, lengthUs]: readonly [number, number | undefined], what: string): string {
  return `  ${exactMs(startUs).padStart(WIDTH)}  ${(lengthUs === undefined ? '-' : exactMs(lengthUs)).padStart(WIDTH)}  ${what}`
}

const WIDTH = 12
