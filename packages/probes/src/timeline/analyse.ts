import type { Diagnostic } from '../input/diagnostics.ts'
import { countDiagnostics } from '../input/diagnostics.ts'
import { isObject, isText } from '../input/fields.ts'
import { type BootIntent, intentOf } from './boot-kind.ts'
import { type ClockMapping, mapClock } from './clock.ts'
import { kernelRelease } from './console-facts.ts'
import { gapsOf, withOverlaps } from './coverage.ts'
import { disagrees, endingOf } from './ending.ts'
import { chooseMarks, type Marks, zeroOf } from './model.ts'
import type { BootRecord, ClockSample, MarkLine } from './record.ts'
import { negativeSentence, openStages, stageResult, type StageView, viewStage } from './stages.ts'
import { metricsOf } from './metrics.ts'
import { type BoxFacts, type ClockResult, markUse, type Timeline, type TimelineFinding } from './timeline.ts'
import { type BootKind, type StageDefinition, STAGES } from './vocabulary.ts'

/** The parts of a record that a timeline is made from, already read. */
export interface RecordParts {
  readonly boot?: BootRecord
  readonly marks: readonly MarkLine[]
  /** How many lines `marks.jsonl` had; default the number of `marks`. */
  readonly markLines?: number
  readonly clock?: readonly ClockSample[]
  /** What kind of boot it is; default what plan and marks show. */
  readonly kind?: BootKind
  /** The guest kernel's release; default what the mark `kernel-first-line` carries. */
  readonly guestKernel?: string
  readonly lastConsoleLine?: string
  /** Host CLOCK_MONOTONIC of the last console read, in ns: the last sign of life of a boot without an end. */
  readonly lastSignNs?: number
  /** Uncovered time shorter than this is not a gap, in ms; default 1. */
  readonly minGapMs?: number
  /** What could not be read of the parts; it travels with the timeline. */
  readonly diagnostics?: readonly Diagnostic[]
}

/** Where the time of a boot went. Pure, and never throws on what a record holds. */
export function bootTimeline(parts: RecordParts): Timeline {
  const { boot = {}, marks: lines, minGapMs = 1 } = parts
  const intent = withKind(intentOf(boot, lines), parts.kind)
  const clock = mapClock(parts.clock ?? [], lines)
  const zero = zeroOf(lines, boot.startNs)
  const marks = chooseMarks(lines, zero, clock)
  const views = STAGES.map((definition) => [definition, viewStage(definition, marks, intent, clock)] as const)
  const lastSignMs =
    zero === undefined || parts.lastSignNs === undefined ? undefined : (parts.lastSignNs - zero.atNs) / 1e6
  const ending = endingOf({
    boot,
    marks,
    open: openStages(views),
    readyReached: views.some(([{ id }, { state }]) => id === 'ready' && state === 'spanned'),
    ...(lastSignMs === undefined ? {} : { lastSignMs }),
  })
  const stages = withOverlaps(views.map(([definition, view]) => stageResult(definition, view, ending)))
  return {
    box: boxFacts(parts, intent, marks),
    zero: zero ?? { from: 'nothing' },
    stages,
    metrics: metricsOf({ stages, marks, intent, clock }),
    ending,
    gaps: gapsOf(stages, marks.get('start'), minGapMs),
    marks: [...marks.values()].map((mark) => ({ ...markUse(mark), at: mark.at, sources: mark.sources })),
    clock: clockResult(clock),
    findings: findingsOf(boot, lines, clock, views),
    diagnostics: [...(parts.diagnostics ?? []), ...(disagrees(boot, ending) ? disagreement(boot) : [])],
    basedOn: { marks: lines.length, lines: parts.markLines ?? lines.length },
  }
}

function withKind(intent: BootIntent, kind: BootKind | undefined): BootIntent {
  return kind === undefined ? intent : { ...intent, kind }
}

function boxFacts(parts: RecordParts, { kind }: BootIntent, marks: Marks): BoxFacts {
  const { boot = {}, lastConsoleLine } = parts
  const guestKernel = parts.guestKernel ?? releaseIn(marks.get('kernel-first-line')?.sources ?? [])
  const error = boot.error
  return {
    ...(boot.boxId === undefined ? {} : { id: boot.boxId }),
    ...(boot.name === undefined ? {} : { name: boot.name }),
    ...(kind === undefined ? {} : { kind }),
    accelerator: boot.accelerator ?? {},
    ...(boot.engine?.version === undefined ? {} : { engine: boot.engine.version }),
    host: boot.host ?? {},
    ...(guestKernel === undefined ? {} : { guestKernel }),
    ...(boot.outcome === undefined ? {} : { outcome: boot.outcome }),
    ...(error === undefined ? {} : { error: pickError(error) }),
    ...(lastConsoleLine === undefined ? {} : { lastConsoleLine }),
  }
}

function pickError({ code, message }: NonNullable<BootRecord['error']>): NonNullable<BoxFacts['error']> {
  return { ...(code === undefined ? {} : { code }), ...(message === undefined ? {} : { message }) }
}

function releaseIn(lines: readonly MarkLine[]): string | undefined {
  const texts = lines.map(({ detail }) => (isObject(detail) ? detail['line'] : detail))
  return texts.map((text) => (isText(text) ? kernelRelease(text) : undefined)).find((release) => release !== undefined)
}

function clockResult(clock: ClockMapping): ClockResult {
  if (clock.state !== 'mapped') return clock
  const { state, basis, clock: which, rate, rateError, anchors } = clock
  return { state, basis, clock: which, rate, rateError, anchors }
}

function findingsOf(
  boot: BootRecord,
  lines: readonly MarkLine[],
  clock: ClockMapping,
  views: readonly (readonly [StageDefinition, StageView])[],
): TimelineFinding[] {
  const findings: TimelineFinding[] = []
  if (lines.length === 0) {
    findings.push({ severity: 'error', kind: 'no-marks', message: 'The record has no marks: it measured nothing.' })
  }
  if (clock.state === 'invalid') {
    findings.push({ severity: 'error', kind: 'clock-invalid', message: `Guest times are not used: ${clock.why}.` })
  }
  findings.push(...acceleratorFindings(boot))
  for (const [{ id }, view] of views) {
    if (view.state !== 'spanned' || view.span.state !== 'negative') continue
    const message = negativeSentence(view.from, view.to, view.span)
    findings.push({ severity: 'error', kind: 'negative-span', stage: id, message })
  }
  return findings
}

function acceleratorFindings({ accelerator: { asked, proved } = {} }: BootRecord): TimelineFinding[] {
  if (proved === undefined) {
    const message = 'The record does not prove which accelerator ran this boot: its times compare with nothing.'
    return [{ severity: 'warning', kind: 'accelerator-not-proved', message }]
  }
  if (asked === undefined || asked === 'auto' || asked === proved) return []
  const message = `The accelerator asked for was ${asked}, but ${proved} ran this boot.`
  return [{ severity: 'error', kind: 'accelerator-differs', message }]
}

function disagreement(boot: BootRecord): readonly Diagnostic[] {
  const problems = countDiagnostics('boot.json')
  problems.add('stage-disagrees', undefined, boot.error?.stage)
  return problems.list()
}
