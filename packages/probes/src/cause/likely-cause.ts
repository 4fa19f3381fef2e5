import type { Cause } from './cause.ts'
import { ENGINE_RULES } from './engine-rules.ts'
import type { BootEvidence } from './evidence.ts'
import { GUEST_RULES } from './guest-rules.ts'
import { PROGRESS_RULES } from './progress-rules.ts'
import { readEvidence } from './read-evidence.ts'
import { REASON_RULES } from './reason-rules.ts'
import { causeBy, type CauseRule } from './rule.ts'

/** Every rule in order of strength: what the host did to the engine, what the guest said, what time suggests. */
export const CAUSE_RULES: readonly CauseRule[] = [...ENGINE_RULES, ...REASON_RULES, ...GUEST_RULES, ...PROGRESS_RULES]

/**
 * What most likely made a box fail, or undefined when nothing in the evidence says so. Reads foreign text of any
 * kind without throwing, in linear time.
 */
export function likelyCause(evidence: BootEvidence): Cause | undefined {
  return likelyCauses(evidence)[0]
}

/** Everything in the evidence that may have made a box fail, the likeliest first, each cause once. */
export function likelyCauses(evidence: BootEvidence): Cause[] {
  const read = readEvidence(evidence)
  const causes = new Map<string, Cause>()
  for (const rule of CAUSE_RULES) {
    const cause = causes.has(rule.id) ? undefined : causeBy(rule, read)
    if (cause !== undefined) causes.set(cause.id, cause)
  }
  return [...causes.values()]
}
