import type { ConsoleMessage } from './console-message.ts'
import type { ConsoleProblemKind } from './problem-wordings.ts'

/** How the lines after a problem's first line belong to it. */
export interface ExcerptRule {
  /** The line that ends it, kept. */
  readonly last?: RegExp
  /** Only lines that match belong to it; default every line of the same writer. */
  readonly only?: RegExp
  /** How many lines it may span at most. */
  readonly spanLines: number
}

/** An excerpt keeps this many lines and the one that ended it; the rest is counted. */
export const EXCERPT_LINES = 80
/** Kernel lines further apart than this do not belong to one report, in ns. A stall waits 10 s for other CPUs' NMIs. */
export const REPORT_PAUSE_NS = 15e9

const TRACE_END = /^---\[ end trace/
const TASK_END = /^ ?<\/TASK>/

const RULES: { readonly [kind in ConsoleProblemKind]: ExcerptRule } = {
  // With panic=N the kernel reboots instead of printing the end line, with a negative N without a word.
  panic: { last: /^---\[ end Kernel panic|^Rebooting in \d+ seconds/, spanLines: 400 },
  oops: { last: TRACE_END, spanLines: 400 },
  warning: { last: TRACE_END, spanLines: 400 },
  bug: { last: TASK_END, spanLines: 400 },
  'soft-lockup': { last: TASK_END, spanLines: 400 },
  'hard-lockup': { last: TASK_END, spanLines: 400 },
  'rcu-stall': { last: TASK_END, spanLines: 400 },
  'hung-task': { last: TASK_END, spanLines: 400 },
  // The list of processes may be long.
  oom: { last: /^(?:Out of memory|Memory cgroup out of memory)\b/, spanLines: 20_000 },
  segfault: { only: /^Code: /, spanLines: 2 },
  'emergency-shell': { spanLines: 40 },
  'ordering-cycle': { only: /[Oo]rdering cycle|Found dependency on|Unable to break cycle/, spanLines: 200 },
}

/** The rule for a problem of this kind that began with this text. */
export function excerptRule(kind: ConsoleProblemKind, text: string): ExcerptRule {
  if (kind !== 'bug') return RULES[kind]
  // A BUG that kills what ran into it ends like an oops.
  if (text.startsWith('kernel BUG')) return RULES.oops
  // Sanitizer reports go on after the trace and end with a rule.
  return text.startsWith('BUG: K') ? { ...RULES.bug, last: /^={20,}$/ } : RULES.bug
}

/** The kernel begins to boot: whatever was open has ended. */
export function beginsBoot({ text }: ConsoleMessage): boolean {
  return text.startsWith('Linux version ')
}

/** `------------[ cut here ]------------`: a report follows; what it warns of may be said before its first line. */
export function isCutHere({ text }: ConsoleMessage): boolean {
  return /^-+\[ cut here \]-+$/.test(text)
}
