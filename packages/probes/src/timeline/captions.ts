import { wrap } from '../text/page.ts'
import type { Diagnostic } from '../input/diagnostics.ts'
import { asDisplayText } from '../kernel/terminal.ts'
import type { BoxFacts, Ending, Timeline } from './timeline.ts'
import type { StageId } from './vocabulary.ts'

/** The line above the table: which box, on what, how often. */
export function headLines({ box }: Timeline, width: number): string[] {
  const parts = [
    `box ${nameOf(box)}`,
    `accelerator ${acceleratorOf(box)}`,
    `host ${hostOf(box)}`,
    ...(box.guestKernel === undefined ? [] : [`guest kernel ${box.guestKernel}`]),
    ...(box.kind === 'restored' ? ['from template'] : []),
    'n=1',
  ]
  return wrap(asDisplayText(parts.join(' · ')), width)
}

function nameOf({ id, name }: BoxFacts): string {
  if (name === undefined) return id ?? '(unnamed)'
  return id === undefined ? name : `${name} (${id})`
}

function acceleratorOf({ accelerator: { asked, proved } }: BoxFacts): string {
  if (proved === undefined) return `not proved${asked === undefined ? '' : ` (asked ${asked})`}`
  return asked === undefined || asked === proved ? proved : `${proved} (asked ${asked})`
}

function hostOf({ host: { cpuModel, cpus, kernel } }: BoxFacts): string {
  const known = [
    cpuModel,
    cpus === undefined ? undefined : `${cpus} cpus`,
    kernel === undefined ? undefined : `Linux ${kernel}`,
  ]
  const said = known.filter((part) => part !== undefined)
  return said.length === 0 ? 'not recorded' : said.join(', ')
}

/** What stands below the table: where it died, what is missing, what overlaps, what is doubtful. */
export function footLines(timeline: Timeline, width: number): string[] {
  const lines = [
    ...endingLines(timeline.ending, timeline.box),
    ...overlapLines(timeline),
    ...timeline.gaps.map(
      ({ afterMark, beforeMark, durationMs }) =>
        `no stage: ${durationMs.toFixed(1)} ms between ${afterMark} and ${beforeMark}`,
    ),
    ...absentLine(timeline, 'not-reached', 'not reached'),
    ...absentLine(timeline, 'not-recorded', 'not recorded'),
    ...absentLine(timeline, 'not-part', 'not part of this boot'),
    ...timeline.findings.map(({ severity, message }) => `${severity}: ${message}`),
    ...diagnosticLines(timeline),
  ]
  return lines.length === 0 ? [] : ['', ...lines.flatMap((line) => wrap(asDisplayText(line), width))]
}

function endingLines(ending: Ending, box: BoxFacts): string[] {
  if (ending.state === 'running') return ['no end recorded: still running, or its owner was killed']
  if (ending.state === 'completed') return []
  const cause =
    box.error?.message === undefined ? [] : [`error: ${box.error.code ?? ''} ${box.error.message}`.replace(':  ', ': ')]
  const last = box.lastConsoleLine === undefined ? 'the console is empty' : `last console line: ${box.lastConsoleLine}`
  return [placeOfDeath(ending), ...cause, last]
}

const VERBS: { readonly [outcome: string]: string } = { stopped: 'stopped', killed: 'killed' }

function placeOfDeath(ending: Ending & { state: 'died' }): string {
  const verb = VERBS[ending.outcome] ?? 'died'
  if (!('by' in ending)) return `${verb} before any mark`
  const { afterMs, atLeast, by } = ending
  const time = `${atLeast ? 'at least ' : ''}${afterMs.toFixed(1)} ms`
  if (ending.in !== undefined) return `${verb} in ${ending.in} after ${time} (${by})`
  return `${verb} between stages, ${time} after ${ending.afterMark} (${by})`
}

function overlapLines({ stages }: Timeline): string[] {
  const order = new Map<StageId, number>(stages.map(({ id }, index) => [id, index]))
  return stages.flatMap((stage, index) => {
    if (stage.state !== 'reached') return []
    const later = stage.overlaps.filter(({ id }) => (order.get(id) ?? 0) > index)
    const others = later.map(({ id, ms }) => `${id} ${ms.toFixed(1)} ms`)
    return others.length === 0 ? [] : [`overlap: ${stage.id} with ${others.join(', ')}`]
  })
}

function absentLine({ stages }: Timeline, reason: string, label: string): string[] {
  const ids = stages.filter((stage) => stage.state === 'absent' && stage.reason === reason).map(({ id }) => id)
  return ids.length === 0 ? [] : [`${label}: ${ids.join(', ')}`]
}

function diagnosticLines({ diagnostics, basedOn }: Timeline): string[] {
  if (diagnostics.length === 0) return []
  return [`based on ${basedOn.marks} of ${basedOn.lines} lines of marks.jsonl`, ...diagnostics.map(diagnosticLine)]
}

/** One diagnostic as a line: what, how often, where. */
export function diagnosticLine({ name, file, count, lines, detail, meaning }: Diagnostic): string {
  const what = detail === undefined ? name : `${name} ${detail}`
  const where =
    lines.length === 0
      ? ''
      : `, line${lines.length === 1 ? '' : 's'} ${lines.join(', ')}${count > lines.length ? ', …' : ''}`
  return `${file}: ${what} (${count}×${where}): ${meaning}`
}
