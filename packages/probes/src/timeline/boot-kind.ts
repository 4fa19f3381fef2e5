import { isObject, isText, type JsonObject } from '../input/fields.ts'
import type { BootRecord, MarkLine } from './record.ts'
import type { BootKind } from './vocabulary.ts'

/** What a boot was meant to be, as far as its record shows. */
export interface BootIntent {
  /** Absent when neither the plan nor the marks tell. */
  readonly kind?: BootKind
  /** The mark that makes the box ready, where the plan names one. */
  readonly readyMark?: string
  /** True when a container's process was asked for. */
  readonly container: boolean
}

/** Reads the intent from the plan of the record; what its marks prove goes first. */
export function intentOf(boot: BootRecord, marks: readonly MarkLine[]): BootIntent {
  const plan = boot.plan ?? {}
  const seen = new Set(marks.map(({ mark }) => mark))
  const kind = provedKind(seen) ?? plannedKind(plan, seen)
  return {
    ...(kind === undefined ? {} : { kind }),
    ...(isText(plan['ready']) ? { readyMark: plan['ready'] } : {}),
    container: isGiven(plan['container']) || seen.has('process-ready'),
  }
}

function provedKind(seen: ReadonlySet<string>): BootKind | undefined {
  if (seen.has('state-loaded') || seen.has('resumed')) return 'restored'
  return seen.has('switch-root') ? 'image' : undefined
}

function plannedKind(plan: JsonObject, seen: ReadonlySet<string>): BootKind | undefined {
  if (isGiven(plan['template'])) return 'restored'
  const how = bootWord(plan['boot'])
  if (how === undefined) return undefined
  const meetsKernel = seen.has('kernel-first-line') || KERNEL_MARKS.has(String(plan['ready']))
  if (how === 'firmware' && !meetsKernel) return 'firmware'
  if (how !== 'direct' || plan['agent'] === false) return 'agentless'
  return isGiven(plan['image']) ? 'image' : 'bare'
}

// A firmware boot that waits for one of these expects the disk to bring a kernel.
const KERNEL_MARKS: ReadonlySet<string> = new Set(['kernel-first-line', 'init-run', 'login-prompt'])

/** The plan says how it boots by a word or by an object with that word as its `kind`. */
function bootWord(boot: unknown): string | undefined {
  const word = isObject(boot) ? boot['kind'] : boot
  return isText(word) ? word : undefined
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false
}
