import type { Behind } from './behind.ts'
import type { WaitsFinding } from './blind-spots.ts'
import type { ConsolePrompt } from './console-prompt.ts'
import type { IdleGap } from './idle-gaps.ts'
import type { PathPart, Tie } from './path.ts'
import type { NotWaitedFor } from './predecessors.ts'
import type { LoginPrompt } from './prompt.ts'
import type { ReadingDiagnostic } from '../read/reading-diagnostics.ts'
import type { Slack } from './slack.ts'

/** What to ask of a boot. */
export interface WaitsOptions {
  /** A unit, `login` or `ssh`; default `multi-user.target`. */
  readonly target?: string
  /** Count from kernel start and not from PID 1's; default false. */
  readonly fromKernel?: boolean
  /** When a record's console had the login prompt (`consolePrompt()`): told beside systemd's own stamps. */
  readonly console?: ConsolePrompt | undefined
}

/** What the readers had to go on. */
export interface WaitsDiagnostics {
  readonly lines: number
  /** Lines that are of none of the formats. */
  readonly unparsed: number
  /** Units in the input that could be used. */
  readonly units: number
  /** Units in the input that could not be used. */
  readonly damagedUnits: readonly string[]
  readonly problems: readonly ReadingDiagnostic[]
}

/** A unit on the path. Times in us after the origin; before it they are negative. */
export interface PathUnit {
  readonly unit: string
  readonly runUs: number
  readonly startUs: number
  readonly endUs: number
  /** `active`; `finished`, a oneshot; `condition`, one that failed: a bridge without length; `timeout` of a device. */
  readonly endedBy: 'active' | 'finished' | 'condition' | 'timeout'
}

/** What a boot waited for on the way to a target. All times are in us after the origin but `originUs` and `targetUs`. */
export interface WaitsReport {
  readonly found: true
  /** What was asked for. */
  readonly target: string
  /** The unit that it is. */
  readonly unit: string
  readonly source: 'show' | 'dump'
  readonly resolution: 'microsecond' | 'second'
  readonly origin: 'pid1' | 'kernel'
  /** The origin in us since kernel start. */
  readonly originUs: number
  /** The moment the target was reached, in us since kernel start. */
  readonly targetUs: number
  /** The sum of the parts, and the span from the origin to the target. */
  readonly totalUs: number
  readonly path: readonly PathUnit[]
  readonly parts: readonly PathPart[]
  readonly idleGaps: readonly IdleGap[]
  readonly behind: readonly Behind[]
  readonly ties: readonly Tie[]
  readonly notWaitedFor: readonly NotWaitedFor[]
  /** Every unit that the target waited for. */
  readonly slack: readonly Slack[]
  /** Absent where no getty came up. */
  readonly prompt?: LoginPrompt
  readonly findings: readonly WaitsFinding[]
  readonly diagnostics: WaitsDiagnostics
}

/** There is no answer, and why. */
export interface NoWaits {
  readonly found: false
  readonly target: string
  /** `no-units`: nothing of systemd could be read; `not-a-boot`: a user's manager; `no-target`: it is not in the input; `not-reached`: it has no end after the origin. */
  readonly reason: 'no-units' | 'not-a-boot' | 'no-target' | 'not-reached'
  /** A sentence with the remedy. */
  readonly message: string
  readonly diagnostics: WaitsDiagnostics
}

export type WaitsResult = WaitsReport | NoWaits
