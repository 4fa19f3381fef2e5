/** What a reader of systemd's text could not use, by kind. */
export interface ReadingDiagnostic<Name extends string = ReadingDiagnosticName> {
  readonly name: Name
  /** `data-loss`: something is missing from the finding; `info`: skipped, and no part of the answer. */
  readonly severity: 'info' | 'data-loss'
  /** The input, by the name the caller gave it. */
  readonly file: string
  readonly count: number
  /** The first line numbers, from 1, at most {@link MAX_LINES}. */
  readonly lines: readonly number[]
  /** The first things it was about, such as the names of units, at most {@link MAX_LINES}. */
  readonly about: readonly string[]
  /** One sentence for a person. */
  readonly meaning: string
}

export type ReadingDiagnosticName = keyof typeof MEANINGS

const MEANINGS: {
  readonly unparsed: string
  readonly 'console-line': string
  readonly 'torn-line': string
  readonly 'torn-tail': string
  readonly 'line-too-long': string
  readonly 'bad-field': string
  readonly 'damaged-unit': string
  readonly 'no-id': string
  readonly 'seen-twice': string
  readonly 'other-zone': string
} = {
  unparsed: 'Lines that are not of `systemctl show` or `systemd-analyze dump`; they are ignored.',
  'console-line': 'Lines of the kernel or of the boot’s status between the blocks; they are ignored.',
  'torn-line': 'Lines that a console message broke in two; both halves are ignored.',
  'torn-tail': 'The last line has no end: the text was cut off there, and the line is ignored.',
  'line-too-long': 'Lines longer than the reader accepts; they are ignored.',
  'bad-field': 'Fields with a value that their format does not allow; their unit is not used.',
  'damaged-unit': 'Units whose block lacks a property that the analysis needs; they are not used. Ask for all of them.',
  'no-id': 'Blocks that do not name one unit; they are ignored.',
  'seen-twice': 'Units that stand in the input more than once with different values; the latest state is used.',
  'other-zone': 'Times in another time zone than the others; their unit is not used.',
}

const INFO: ReadonlySet<ReadingDiagnosticName> = new Set(['console-line', 'seen-twice', 'unparsed'])

/** How many line numbers and names a diagnostic keeps; foreign text must not grow the answer without bound. */
export const MAX_LINES = 10
const MAX_NAME_CHARS = 80

/** Counts what one input could not give. */
export interface ReadingProblems<Name extends string = ReadingDiagnosticName> {
  add(name: Name, line: number, about?: string): void
  list(): readonly ReadingDiagnostic<Name>[]
}

/** Makes a counter for the input called `file`. */
export function countReadingProblems(file: string): ReadingProblems {
  return countProblems(file, MEANINGS, INFO)
}

/** Makes a counter for the input called `file`, whose kinds are the keys of `meanings`; those in `info` lose nothing. */
export function countProblems<Name extends string>(
  file: string,
  meanings: { readonly [name in Name]: string },
  info: ReadonlySet<Name>,
): ReadingProblems<Name> {
  const counted = new Map<Name, { count: number; readonly lines: number[]; readonly about: string[] }>()
  return {
    add(name, line, about) {
      const entry = counted.get(name) ?? { count: 0, lines: [], about: [] }
      counted.set(name, entry)
      entry.count += 1
      if (entry.lines.length >= MAX_LINES) return
      entry.lines.push(line)
      if (about !== undefined && !entry.about.includes(about)) entry.about.push(about.slice(0, MAX_NAME_CHARS))
    },
    list() {
      return [...counted].map(([name, { count, lines, about }]) => ({
        name,
        severity: info.has(name) ? 'info' : 'data-loss',
        file,
        count,
        lines,
        about,
        meaning: meanings[name],
      }))
    },
  }
}
