import type { BootIntent } from './boot-kind.ts'
import type { ClockMapping } from './clock.ts'
import type { Marks } from './model.ts'
import { spanBetween } from './spans.ts'
import { negativeSentence } from './stages.ts'
import type { Measure, StageResult } from './timeline.ts'
import { type MetricDefinition, METRICS, type MetricName } from './vocabulary.ts'

/** What the metrics are taken from. */
export interface MetricFacts {
  readonly stages: readonly StageResult[]
  readonly marks: Marks
  readonly intent: BootIntent
  readonly clock: ClockMapping
}

/** Every metric of a boot: measured, or absent with the reason. A failed boot has those that it got to. */
export function metricsOf(facts: MetricFacts): { readonly [name in MetricName]: Measure } {
  const entries = METRICS.map((definition) => [definition.name, measure(definition, facts)] as const)
  // The names of METRICS are exactly those of MetricName; a test holds it.
  return Object.fromEntries(entries) as { readonly [name in MetricName]: Measure }
}

function measure(definition: MetricDefinition, { stages, marks, intent, clock }: MetricFacts): Measure {
  if ('stage' in definition) return ofStage(stages.find(({ id }) => id === definition.stage))
  const [from, to] = [marks.get(definition.from), marks.get(definition.to)]
  if (from !== undefined && to !== undefined) {
    const span = spanBetween(from, to, clock)
    if (span.state === 'measured') return { state: 'measured', valueMs: span.durationMs, errorMs: span.errorMs }
    if (span.state === 'negative') return { state: 'absent', why: negativeSentence(from, to, span) }
    return { state: 'absent', why: `Both marks are there, but ${span.why}.` }
  }
  const foreign = intent.kind !== undefined && !definition.boots.includes(intent.kind)
  if (foreign) return { state: 'absent', why: 'Not part of this boot.' }
  return { state: 'absent', why: `Not reached: ${from === undefined ? definition.from : definition.to} never came.` }
}

function ofStage(stage: StageResult | undefined): Measure {
  if (stage?.state === 'reached') return { state: 'measured', valueMs: stage.durationMs, errorMs: stage.errorMs }
  return { state: 'absent', why: stage?.why ?? 'Not a stage.' }
}
