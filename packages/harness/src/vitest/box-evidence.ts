import { join } from 'node:path'
import { likelyCause, plainText, type Timeline } from '@boxlab/probes'
import { consoleEnd, textEnd } from '../failure/console-end.ts'
import { readTimeline } from '../reports/record-timeline.ts'
import { readBootFile } from '../sweep/boot-file.ts'

const consoleLines = 10

/** What the record of a box says of a failure, at one instant. */
export interface BoxEvidence {
  readonly record: string
  /** Its id, and its name where it has one. */
  readonly title: string
  readonly code?: string
  /** How it stands, and how far it came. */
  readonly reached: string
  readonly cause?: string
  /** A shell line that boots the same machine by hand. */
  readonly reproduce?: string
  /** The last lines of the console. */
  readonly console: readonly string[]
}

/** What the error of a failed test or hook says of its box: own properties of a `BoxError`. */
export interface ErrorFacts {
  readonly code?: string
  readonly likelyCause?: string
}

/** Reads a record, of a box that lives or has ended. Undefined where there is none (any more). */
export function readEvidence(record: string, facts: ErrorFacts = {}): BoxEvidence | undefined {
  const boot = readBootFile(record)
  if (boot === 'absent' || 'problem' in boot) return undefined
  const timeline = readTimeline(record)
  const { id = '', name, error } = timeline.box
  const text = consoleEnd(record)?.bytes.toString() ?? ''
  const code = facts.code ?? error?.code
  const cause = facts.likelyCause ?? causeOf(record, timeline, text, code)
  const reproduce = (boot.json['engine'] as { readonly reproduce?: unknown } | undefined)?.reproduce
  return {
    record,
    title: name === undefined ? id : `${id} "${name}"`,
    reached: reachedBy(timeline),
    console: text
      .split(/[\r\n]+/)
      .map(plainText)
      .filter(Boolean)
      .slice(-consoleLines),
    ...(code !== undefined && { code }),
    ...(cause !== undefined && { cause }),
    ...(typeof reproduce === 'string' && { reproduce }),
  }
}

/** The lines for below an error, without what the text above them tells already: that of a `BoxError` tells nearly all. */
export function evidenceLines(evidence: BoxEvidence, text: string): string[] {
  const { title, code, reached, cause, record, reproduce, console } = evidence
  const line = (name: string, value: string | undefined): string[] =>
    value === undefined || text.includes(value) ? [] : [`  ${name}: ${value}`]
  const isTold = text.includes(record)
  return [
    `box ${title}${code === undefined ? '' : `: ${code}`}`,
    ...(isTold ? [] : [`  ${reached}`]),
    ...line('likely cause', cause),
    ...line('record', record),
    ...line('reproduce', reproduce),
    ...(isTold || console.length === 0 ? [] : ['  console:', ...console.map((shown) => `    ${shown}`)]),
  ]
}

// They tell of the end, not of how far it came.
const endMarks = ['stop-begin', 'guest-shutdown', 'engine-exit']

function reachedBy({ marks, ending }: Timeline): string {
  const isReady = marks.some(({ mark }) => mark === 'ready')
  const last = marks.findLast(({ mark }) => !endMarks.includes(mark))
  const at = last?.at.known ? ` at ${last.at.ms.toFixed(0)} ms` : ''
  return `${standing(ending, isReady)}; ${last ? `last mark \`${last.mark}\`${at}` : 'no mark'}`
}

function standing(ending: Timeline['ending'], isReady: boolean): string {
  if (ending.state === 'running') return isReady ? 'running' : 'booting'
  if (isReady || ending.state === 'completed') return `${ending.outcome} after it was ready`
  return ending.in === undefined ? ending.outcome : `${ending.outcome} in the stage \`${ending.in}\``
}

/** Only for a box that did not end well: a rule may find its words on the console of any. */
function causeOf(
  record: string,
  { ending, box }: Timeline,
  console: string,
  code: string | undefined,
): string | undefined {
  if (ending.state !== 'died') return undefined
  const engineLog = textEnd(join(record, 'engine.log'))
  const cause = likelyCause({
    console,
    accelerator: box.accelerator,
    ...(engineLog !== undefined && { engineLog }),
    ...(code !== undefined && { code }),
    ...(box.error?.message !== undefined && { message: box.error.message }),
  })
  return cause && `${cause.sentence} ${cause.remedy}`
}
