import type { Finding } from './finding.ts'
import { type Known, type Requirement, unmet } from './requirements.ts'

/** What the host is good for. */
export interface Verdict {
  /**
   * `ready`: everything, or all that was required. `limited`: boxes boot, and `limits` says what does not work.
   * `unusable`: no box boots, or something required is missing; `blockers` says what.
   */
  readonly verdict: 'ready' | 'limited' | 'unusable'
  /** The exit code of `boxlab doctor`: ready 0, limited 1, unusable 2. */
  readonly exitCode: 0 | 1 | 2
  readonly blockers: readonly string[]
  readonly limits: readonly string[]
}

/** The verdict on findings. Requirements narrow the question: a limit that nobody asked about is then no reason. */
export function judge(known: Known, required: readonly Requirement[]): Verdict {
  const blockers = known.findings.filter(isBlocker).map(({ title, detail }) => `${title}: ${detail}`)
  blockers.push(...required.map((requirement) => unmet(requirement, known)).filter((why) => why !== undefined))
  const limits = known.findings.map(({ limit }) => limit).filter((limit) => limit !== undefined)
  if (blockers.length > 0) return { verdict: 'unusable', exitCode: 2, blockers, limits }
  if (limits.length > 0 && required.length === 0) return { verdict: 'limited', exitCode: 1, blockers, limits }
  return { verdict: 'ready', exitCode: 0, blockers, limits }
}

function isBlocker({ level, outcome }: Finding): boolean {
  return level === 'needed' && outcome !== 'ok' && outcome !== 'limited'
}
