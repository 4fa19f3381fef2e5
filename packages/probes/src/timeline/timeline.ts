import type { Diagnostic } from '../input/diagnostics.ts'
import type { GuestClock } from './clock.ts'
import type { ChosenMark, Instant, Zero } from './model.ts'
import type { HostFacts, MarkLine, Outcome } from './record.ts'
import type { BootKind, MarkClock, MarkSource, MetricName, StageId } from './vocabulary.ts'

/** Where the time of one boot went. Plain data: it can be stored, compared and rendered without the record. */
export interface Timeline {
  readonly box: BoxFacts
  readonly zero: Zero | { readonly atNs?: never; readonly from: 'nothing' }
  /** Every stage of the vocabulary, in its order. Stages overlap: their sum means nothing. */
  readonly stages: readonly StageResult[]
  readonly metrics: { readonly [name in MetricName]: Measure }
  readonly ending: Ending
  /** Time that no stage covers, between the marks named. */
  readonly gaps: readonly Gap[]
  readonly marks: readonly MarkResult[]
  readonly clock: ClockResult
  /** What makes numbers of this boot wrong or doubtful. */
  readonly findings: readonly TimelineFinding[]
  /** What of the record could not be used. */
  readonly diagnostics: readonly Diagnostic[]
  /** How many marks this is based on, of how many lines of `marks.jsonl`. */
  readonly basedOn: { readonly marks: number; readonly lines: number }
}

/** What the record says of the box; absent where it does not say. */
export interface BoxFacts {
  readonly id?: string
  readonly name?: string
  readonly kind?: BootKind
  readonly accelerator: { readonly asked?: string; readonly proved?: string }
  readonly engine?: string
  readonly host: HostFacts
  readonly guestKernel?: string
  readonly outcome?: Outcome
  readonly error?: { readonly code?: string; readonly message?: string }
  readonly lastConsoleLine?: string
}

interface StageFacts {
  readonly id: StageId
  readonly source: MarkSource
  readonly parallel: boolean
}

/** A stage of the vocabulary in this boot. */
export type StageResult = ReachedStage | AbsentStage

/** A stage with a beginning and an end. */
export interface ReachedStage extends StageFacts {
  readonly state: 'reached'
  /** When it began, from the timeline's zero. */
  readonly start: Instant
  readonly durationMs: number
  /** The duration is true within plus or minus this. */
  readonly errorMs: number
  readonly from: MarkUse
  readonly to: MarkUse
  /** The reached stages that ran at the same time, and for how long. `ready` spans all and is left out. */
  readonly overlaps: readonly { readonly id: StageId; readonly ms: number }[]
}

/** A stage without a duration; `why` is a sentence. */
export type AbsentStage = StageFacts & { readonly state: 'absent'; readonly why: string } & (
    | { readonly reason: 'not-part' | 'not-reached' | 'not-recorded' | 'clock' }
    | { readonly reason: 'in-progress'; readonly start: Instant }
    | ({ readonly reason: 'died-here'; readonly start: Instant; readonly from: MarkUse } & Death)
  )

/** How long something stayed open before the boot ended. */
export interface Death {
  readonly afterMs: number
  readonly errorMs: number
  /** True when the record shows no end: the time is that of the last sign of life. */
  readonly atLeast: boolean
  /** The mark or field that shows the end. */
  readonly by: string
}

/** A mark as a boundary: who saw it on which clock, and why that source was chosen. */
export interface MarkUse {
  readonly mark: string
  readonly source: MarkSource
  readonly clock: MarkClock
  readonly why: string
}

/** A metric: a number only where it was measured. */
export type Measure =
  | { readonly state: 'measured'; readonly valueMs: number; readonly errorMs: number }
  | { readonly state: 'absent'; readonly why: string }

/** How the boot stands. */
export type Ending =
  | { readonly state: 'running' }
  | { readonly state: 'completed'; readonly outcome: Outcome | 'unknown' }
  | ({ readonly state: 'died'; readonly outcome: Outcome | 'unknown'; readonly in: StageId } & Death)
  | ({
      readonly state: 'died'
      readonly outcome: Outcome | 'unknown'
      readonly in?: never
      readonly afterMark: string
    } & Death)
  | { readonly state: 'died'; readonly outcome: Outcome | 'unknown'; readonly in?: never; readonly afterMark?: never }

/** Time that no stage covers. */
export interface Gap {
  readonly afterMark: string
  readonly beforeMark: string
  readonly startMs: number
  readonly durationMs: number
  readonly errorMs: number
}

/** One mark with all its sources. */
export interface MarkResult extends MarkUse {
  readonly at: Instant
  readonly sources: readonly MarkLine[]
}

/** How the guest's clock relates to the host's. */
export type ClockResult =
  | {
      readonly state: 'mapped'
      readonly basis: 'pings' | 'console-receipt'
      readonly clock: GuestClock
      readonly rate: number
      readonly rateError: number
      readonly anchors: number
    }
  | { readonly state: 'invalid' | 'absent'; readonly why: string }

/** Something that makes numbers of this boot wrong or doubtful. */
export interface TimelineFinding {
  readonly severity: 'error' | 'warning'
  readonly kind: 'negative-span' | 'clock-invalid' | 'accelerator-not-proved' | 'accelerator-differs' | 'no-marks'
  readonly stage?: StageId
  readonly message: string
}

/** The boundary that a mark is, without its lines. */
export function markUse({ mark, chosen, why }: ChosenMark): MarkUse {
  return { mark, source: chosen.source, clock: chosen.clock, why }
}
