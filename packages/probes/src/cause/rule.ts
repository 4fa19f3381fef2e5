import type { Cause, CauseEvidence, CauseId } from './cause.ts'
import type { ReadEvidence, SaidLine } from './read-evidence.ts'

/** What a rule found: the evidence, and the parts of it that its sentence names. */
export interface Found {
  readonly evidence: CauseEvidence
  readonly parts: readonly (string | undefined)[]
}

/** One way to recognize a cause. */
export interface CauseRule {
  readonly id: CauseId
  /** Whose words these are: file or program, and versions. */
  readonly source: string
  readonly confidence: Cause['confidence']
  readonly find: (read: ReadEvidence) => Found | undefined
  readonly sentence: (parts: readonly (string | undefined)[]) => string
  readonly remedy: string | ((parts: readonly (string | undefined)[]) => string)
}

/** More that must be so for a line to count. */
export interface Conditions {
  /** Another line of the same origin that must be there. */
  readonly also?: RegExp
  /** A line whose presence says that this one did not matter. */
  readonly not?: RegExp
  readonly given?: (read: ReadEvidence) => boolean
}

/** Words of the guest's kernel. */
export function kernelSays(pattern: RegExp, conditions: Conditions = {}): CauseRule['find'] {
  return (read) => says('console', read.kernel, read, pattern, conditions)
}

/** Words of any program on the console. */
export function consoleSays(pattern: RegExp, conditions: Conditions = {}): CauseRule['find'] {
  return (read) => says('console', read.console, read, pattern, conditions)
}

/** Words of the engine. */
export function engineSays(pattern: RegExp, conditions: Conditions = {}): CauseRule['find'] {
  return (read) => says('engine-log', read.engine, read, pattern, conditions)
}

/** Words of the host's kernel. */
export function hostSays(pattern: RegExp, conditions: Conditions = {}): CauseRule['find'] {
  return (read) => says('host-log', read.hostLog, read, pattern, conditions)
}

/** Words of the error itself. */
export function messageSays(pattern: RegExp, conditions: Conditions = {}): CauseRule['find'] {
  return (read) => {
    const { message } = read.facts
    if (message === undefined || conditions.given?.(read) === false) return undefined
    const parts = pattern.exec(message)
    return parts === null ? undefined : { evidence: { source: 'message', text: message }, parts }
  }
}

/** A fact, in the words that `describe` gives it, which are also its first part, or nothing. */
export function fact(describe: (read: ReadEvidence) => string | undefined): CauseRule['find'] {
  return (read) => {
    const text = describe(read)
    return text === undefined ? undefined : { evidence: { source: 'fact', text }, parts: [text] }
  }
}

/** The first of several ways that finds something. */
export function anyOf(...ways: readonly CauseRule['find'][]): CauseRule['find'] {
  return (read) => {
    for (const way of ways) {
      const found = way(read)
      if (found !== undefined) return found
    }
    return undefined
  }
}

/** Applies a rule. */
export function causeBy({ id, confidence, find, sentence, remedy }: CauseRule, read: ReadEvidence): Cause | undefined {
  const found = find(read)
  if (found === undefined) return undefined
  const { evidence, parts } = found
  const advice = typeof remedy === 'string' ? remedy : remedy(parts)
  return { id, confidence, sentence: sentence(parts), evidence, remedy: advice }
}

function says(
  source: CauseEvidence['source'],
  lines: readonly SaidLine[],
  read: ReadEvidence,
  pattern: RegExp,
  { also, not, given }: Conditions,
): Found | undefined {
  if (given?.(read) === false) return undefined
  const said = (words: RegExp | undefined): boolean => lines.some(({ text }) => words?.test(text))
  for (const { text, line } of lines) {
    const parts = pattern.exec(text)
    if (parts === null) continue
    if ((also !== undefined && !said(also)) || said(not)) return undefined
    return { evidence: { source, text, line }, parts }
  }
  return undefined
}
