import type { InputLine } from '../input/line-splitter.ts'
import type { ConsoleMessage } from './console-message.ts'
import { beginsBoot, EXCERPT_LINES, excerptRule, type ExcerptRule, isCutHere, REPORT_PAUSE_NS } from './excerpts.ts'
import { type ConsoleProblemKind, type Wording, wordingOf } from './problem-wordings.ts'

/** One problem with the lines that belong to it. */
export interface ConsoleProblem {
  readonly kind: ConsoleProblemKind
  /** The line of its first words, from 1. */
  readonly line: number
  /** Where that line begins, in bytes from the start of the input. */
  readonly byteOffset: number
  /** Its first words, without prefix and escape codes; at most {@link TEXT_CHARS} characters. */
  readonly text: string
  /** The kernel's stamp, in ns of the guest's sched_clock, where the line has one. */
  readonly atNs?: number
  /** What the report said before its first words: from `cut here` on. */
  readonly lead: readonly string[]
  /** The lines that follow and belong to it, such as registers and call trace. */
  readonly excerpt: readonly string[]
  /** How many lines of the excerpt were left out before its last line. */
  readonly omittedLines: number
  /** False when such reports end with a known line and that line did not come. */
  readonly complete: boolean
}

/** A longer line is cut in a finding. */
export const TEXT_CHARS = 1000
const LEAD_LINES = 8

/** Collects problems from messages in order. */
export interface ProblemCollector {
  take(message: ConsoleMessage, line: InputLine): void
  end(): ConsoleProblem[]
}

interface OpenProblem {
  readonly problem: Omit<ConsoleProblem, 'excerpt' | 'omittedLines' | 'complete'>
  readonly stamped: boolean
  readonly excerpt: string[]
  readonly rule: ExcerptRule
  wording: Wording
  spanned: number
  omittedLines: number
  lastNs: number | undefined
}

/** Makes a collector. */
export function collectProblems(): ProblemCollector {
  const problems: ConsoleProblem[] = []
  let open: OpenProblem | undefined
  let lead: ConsoleMessage[] = []
  let timed = false
  let untimed = false

  function close(complete: boolean): void {
    if (open === undefined) return
    const { problem, excerpt, omittedLines, rule } = open
    problems.push({ ...problem, excerpt, omittedLines, complete: complete || rule.last === undefined })
    open = undefined
  }

  function begin(wording: Wording, message: ConsoleMessage, line: InputLine): void {
    close(false)
    const { number, byteOffset } = line
    const text = shorten(message.text)
    const at = message.atNs === undefined ? {} : { atNs: message.atNs }
    open = {
      problem: {
        kind: wording.kind,
        line: number,
        byteOffset,
        text,
        ...at,
        lead: lead.map((said) => shorten(said.text)),
      },
      stamped: message.stamped,
      excerpt: [],
      wording,
      rule: excerptRule(wording.kind, text),
      spanned: 0,
      omittedLines: 0,
      lastNs: message.atNs,
    }
    lead = []
    if (open.rule.last?.test(text) === true) close(true)
  }

  /** Gives the line to the open problem, if it is one of its lines. */
  function extend(current: OpenProblem, message: ConsoleMessage): void {
    current.spanned += 1
    if (isPaused(current, message) || current.spanned > current.rule.spanLines) return close(false)
    if (!belongs(current, message)) return
    const last = current.rule.last?.test(message.text) === true
    keepLine(current, shorten(message.text), last)
    current.lastNs = message.atNs ?? current.lastNs
    if (last) close(true)
  }

  return {
    take(message, line) {
      timed ||= message.stamped
      // Without stamps (printk.time=0) a kernel that begins to boot is what tells its log from a program's words.
      untimed ||= !timed && beginsBoot(message)
      const logged = message.stamped || untimed
      if (logged && beginsBoot(message)) close(false)
      if (isCutHere(message)) {
        close(false)
        lead = [message]
        return
      }
      const wording = wordingOf(message.text, logged)
      if (wording === undefined) {
        if (open !== undefined) extend(open, message)
        else lead = nextLead(lead, message)
      } else if (open !== undefined && continues(open, wording)) {
        open.wording = wording
        extend(open, message)
      } else {
        begin(wording, message, line)
      }
    },
    end() {
      close(false)
      return problems
    },
  }
}

/** A further line of the report that is open, not the first of another. */
function continues(open: OpenProblem, wording: Wording): boolean {
  if (wording.group !== open.wording.group) return false
  // A shell asks for a password or prints its prompt again and again.
  return wording.rank > open.wording.rank || wording.kind === 'emergency-shell'
}

/** Lines of user space that cut into a report of the kernel do not belong to it. */
function belongs({ rule, stamped }: OpenProblem, message: ConsoleMessage): boolean {
  if (rule.only !== undefined) return rule.only.test(message.text)
  return message.stamped || !stamped
}

function isPaused({ lastNs }: OpenProblem, { atNs }: ConsoleMessage): boolean {
  return lastNs !== undefined && atNs !== undefined && atNs - lastNs > REPORT_PAUSE_NS
}

function keepLine(current: OpenProblem, text: string, last: boolean): void {
  if (current.excerpt.length < EXCERPT_LINES || last) current.excerpt.push(text)
  else current.omittedLines += 1
}

/** What stands between `cut here` and the report's first words; too much of it is something else. */
function nextLead(lead: ConsoleMessage[], message: ConsoleMessage): ConsoleMessage[] {
  const [cutHere] = lead
  if (cutHere === undefined || cutHere.stamped !== message.stamped) return lead
  return lead.length < LEAD_LINES ? [...lead, message] : []
}

function shorten(text: string): string {
  return text.length > TEXT_CHARS ? `${text.slice(0, TEXT_CHARS)}…` : text
}
