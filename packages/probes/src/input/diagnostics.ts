/**
 * What a reader could not use, counted. Parsers here never throw on foreign text and never guess: each thing they
 * skipped or did not know is one named diagnostic with line numbers, so that a finding can say what it is based on.
 */
export interface Diagnostic {
  /** The name of the kind, stable across versions. */
  readonly name: DiagnosticName
  /** `data-loss`: something was skipped and is missing from the finding; `info`: read, but not understood. */
  readonly severity: 'info' | 'data-loss'
  /** The file of the record it was found in, such as `marks.jsonl`. */
  readonly file: string
  /** How often. */
  readonly count: number
  /** The first line numbers (from 1), at most {@link MAX_LINES}. Empty for a file that is not read by lines. */
  readonly lines: readonly number[]
  /** What exactly, such as the name of the field; absent where the name says it all. */
  readonly detail?: string
  /** One sentence for a person. */
  readonly meaning: string
}

export type DiagnosticName = keyof typeof MEANINGS

const MEANINGS: {
  readonly 'torn-tail': string
  readonly 'bad-json': string
  readonly 'line-too-long': string
  readonly 'bad-field': string
  readonly 'unknown-field': string
  readonly 'unknown-mark': string
  readonly 'unknown-version': string
  readonly 'stage-disagrees': string
} = {
  'torn-tail':
    'The last line was cut off while it was written and is ignored; the writer was killed or is still writing.',
  'bad-json': 'The text is not JSON in UTF-8 and is ignored.',
  'line-too-long': 'The line is longer than the reader accepts and is ignored.',
  'bad-field': 'A field is missing or has a value that the format does not allow; what holds it is ignored.',
  'unknown-field': 'A field that this version of the format does not know; the rest is used.',
  'unknown-mark':
    'A mark that this version does not know and that has no `user:` prefix; it is kept, but no stage uses it.',
  'unknown-version': 'The record says a version that this reader does not know; use a newer boxlab to read it.',
  'stage-disagrees': 'The record names another stage as the one that failed than its marks show; the marks are used.',
}

const LOSSES: ReadonlySet<DiagnosticName> = new Set([
  'torn-tail',
  'bad-json',
  'line-too-long',
  'bad-field',
  'unknown-version',
])

/** How many line numbers a diagnostic keeps. */
export const MAX_LINES = 10
/** How many different details of one name are told apart; foreign text must not grow the answer without bound. */
export const MAX_DETAILS = 20
const OTHER_DETAILS = '(others)'

/** Counts diagnostics of one file by name and detail. */
export interface DiagnosticCounter {
  add(name: DiagnosticName, line: number | undefined, detail?: string): void
  list(): readonly Diagnostic[]
}

interface Counted {
  readonly name: DiagnosticName
  readonly detail: string | undefined
  readonly lines: number[]
  count: number
}

/** Makes a counter for `file`. */
export function countDiagnostics(file: string): DiagnosticCounter {
  const counted = new Map<string, Counted>()
  const details = new Map<DiagnosticName, number>()

  function slot(name: DiagnosticName, detail: string | undefined): Counted {
    const key = `${name} ${detail ?? ''}`
    const known = counted.get(key)
    if (known !== undefined) return known
    const distinct = details.get(name) ?? 0
    if (distinct >= MAX_DETAILS && detail !== OTHER_DETAILS) return slot(name, OTHER_DETAILS)
    details.set(name, distinct + 1)
    const fresh: Counted = { name, detail, lines: [], count: 0 }
    counted.set(key, fresh)
    return fresh
  }

  return {
    add(name, line, detail) {
      const entry = slot(name, detail)
      entry.count += 1
      if (line !== undefined && entry.lines.length < MAX_LINES) entry.lines.push(line)
    },
    list() {
      return [...counted.values()].map(({ name, detail, lines, count }) => ({
        name,
        severity: LOSSES.has(name) ? 'data-loss' : 'info',
        file,
        count,
        lines: [...lines],
        ...(detail === undefined ? {} : { detail }),
        meaning: MEANINGS[name],
      }))
    },
  }
}
