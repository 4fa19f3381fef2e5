import type { BootIntent } from './boot-kind.ts'
import type { ClockMapping } from './clock.ts'
import type { OpenStage } from './ending.ts'
import type { ChosenMark, Marks } from './model.ts'
import { type Span, spanBetween } from './spans.ts'
import { type AbsentStage, type Ending, markUse, type ReachedStage, type StageResult } from './timeline.ts'
import { type BootKind, PROGRESS, type StageDefinition } from './vocabulary.ts'

/** A stage as its two marks show it, before the end of the boot is judged. */
export type StageView =
  | { readonly state: 'spanned'; readonly from: ChosenMark; readonly to: ChosenMark; readonly span: Span }
  | { readonly state: 'open'; readonly from: ChosenMark }
  | { readonly state: 'not-part' | 'not-begun' }
  | { readonly state: 'not-recorded'; readonly why: string }

/** What the marks show of one stage. */
export function viewStage(
  definition: StageDefinition,
  marks: Marks,
  intent: BootIntent,
  clock: ClockMapping,
): StageView {
  const from = marks.get(definition.from)
  const to = endOf(definition, marks, intent)
  if (from !== undefined && to !== undefined) return { state: 'spanned', from, to, span: spanBetween(from, to, clock) }
  if (to !== undefined) return { state: 'not-recorded', why: `Its beginning, ${definition.from}, was not recorded.` }
  if (!isPart(definition, intent)) return { state: 'not-part' }
  const end = endMarkOf(definition, intent)
  // Only its own mark shows that a box is ready: what comes later may come before that too.
  const later = definition.id === 'ready' ? undefined : markBeyond(end, marks)
  if (from !== undefined) {
    return later === undefined
      ? { state: 'open', from }
      : { state: 'not-recorded', why: `Its end, ${end}, was not recorded, but ${later} came.` }
  }
  // What the harness prepares goes before the engine; a boot that got there without had no need of it.
  if (definition.id !== 'ready' && definition.source === 'harness' && marks.has('spawn')) return { state: 'not-part' }
  if (later === undefined) return { state: 'not-begun' }
  return { state: 'not-recorded', why: `Neither ${definition.from} nor ${end} was recorded, but ${later} came.` }
}

/** A mark that shows that `end` has passed, though nobody saw it. */
function markBeyond(end: string, marks: Marks): string | undefined {
  const place = PROGRESS.indexOf(end)
  return place === -1 ? undefined : PROGRESS.slice(place + 1).find((mark) => marks.has(mark))
}

function endMarkOf({ to, elseTo }: StageDefinition, { kind }: BootIntent): string {
  return kind !== undefined && elseTo?.boots.includes(kind) === true ? elseTo.mark : to
}

/** The mark that ends a stage: its own, or the other one of those boots that lack it. */
function endOf({ id, to, elseTo }: StageDefinition, marks: Marks, intent: BootIntent): ChosenMark | undefined {
  const own = marks.get(to)
  if (own !== undefined || elseTo === undefined) return own
  // The plan may make the box ready by another mark than the agent's.
  if (id === 'ready' && intent.readyMark !== undefined) return marks.get(intent.readyMark)
  return includesKind(elseTo.boots, intent.kind) ? marks.get(elseTo.mark) : undefined
}

function isPart({ boots, onRequest = false }: StageDefinition, intent: BootIntent): boolean {
  if (onRequest && !intent.container) return false
  return includesKind(boots, intent.kind)
}

/** A boot of unknown kind may be of any kind but `restored`, which its marks would prove. */
export function includesKind(boots: readonly BootKind[], kind: BootKind | undefined): boolean {
  return kind === undefined ? boots.some((boot) => boot !== 'restored') : boots.includes(kind)
}

/** The stages that began and have no end. */
export function openStages(views: readonly (readonly [StageDefinition, StageView])[]): OpenStage[] {
  return views.flatMap(([definition, view]) => (view.state === 'open' ? [{ id: definition.id, from: view.from }] : []))
}

/** The final word on a stage. */
export function stageResult(definition: StageDefinition, view: StageView, ending: Ending): StageResult {
  const { id, source, parallel } = definition
  const absent = { id, source, parallel, state: 'absent' } as const
  if (view.state === 'spanned') return spanned(definition, view)
  if (view.state === 'open') return { ...absent, ...openResult(definition, view.from, ending) }
  if (view.state === 'not-part') return { ...absent, reason: 'not-part', why: 'Not part of this boot.' }
  if (view.state === 'not-recorded') return { ...absent, reason: 'not-recorded', why: view.why }
  return { ...absent, reason: 'not-reached', why: 'Not reached.' }
}

function spanned(definition: StageDefinition, view: StageView & { state: 'spanned' }): ReachedStage | AbsentStage {
  const { id, source, parallel } = definition
  const { from, to, span } = view
  if (span.state === 'unknown') {
    return { id, source, parallel, state: 'absent', reason: 'clock', why: `Both marks are there, but ${span.why}.` }
  }
  if (span.state === 'negative') {
    return { id, source, parallel, state: 'absent', reason: 'clock', why: negativeSentence(view.from, view.to, span) }
  }
  const { durationMs, errorMs } = span
  const uses = { from: markUse(from), to: markUse(to) }
  return { id, source, parallel, state: 'reached', start: from.at, durationMs, errorMs, ...uses, overlaps: [] }
}

/** What a span that ends before it begins says. */
export function negativeSentence(
  from: ChosenMark,
  to: ChosenMark,
  span: { durationMs: number; errorMs: number },
): string {
  const early = `${(-span.durationMs).toFixed(3)} ms before ${from.mark}`
  return `${to.mark} lies ${early}, more than the ${span.errorMs.toFixed(3)} ms that the clocks can be wrong.`
}

type OpenResult =
  | Pick<AbsentStage & { reason: 'not-reached' }, 'reason' | 'why'>
  | Pick<AbsentStage & { reason: 'in-progress' }, 'reason' | 'why' | 'start'>
  | Omit<AbsentStage & { reason: 'died-here' }, 'id' | 'source' | 'parallel' | 'state'>

function openResult({ id, to }: StageDefinition, from: ChosenMark, ending: Ending): OpenResult {
  if (ending.state === 'running') return { reason: 'in-progress', why: `Waits for ${to}.`, start: from.at }
  if (ending.state === 'died' && ending.in === id) {
    const { afterMs, errorMs, atLeast, by, outcome } = ending
    const how = outcome === 'stopped' ? 'Stopped here' : outcome === 'killed' ? 'Killed here' : 'Died here'
    const why = `${how} after ${atLeast ? 'at least ' : ''}${afterMs.toFixed(1)} ms (${by}).`
    return { reason: 'died-here', why, start: from.at, from: markUse(from), afterMs, errorMs, atLeast, by }
  }
  return { reason: 'not-reached', why: `Not reached: it began, but ${to} never came.` }
}
