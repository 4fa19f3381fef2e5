/** What a reader of a text could not use, by kind. */
export interface Problem<Name extends string> {
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

/** How many line numbers and names a diagnostic keeps; foreign text must not grow the answer without bound. */
export const MAX_LINES = 10
const MAX_NAME_CHARS = 80

/** Counts what one input could not give. */
export interface Problems<Name extends string> {
  add(name: Name, line: number, about?: string): void
  list(): readonly Problem<Name>[]
}

/** Makes a counter for the input called `file`, whose kinds are the keys of `meanings`; those in `info` lose nothing. */
export function countProblems<Name extends string>(
  file: string,
  meanings: { readonly [name in Name]: string },
  info: ReadonlySet<Name>,
): Problems<Name> {
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
