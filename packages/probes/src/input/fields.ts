import type { DiagnosticCounter } from './diagnostics.ts'

/** A JSON object, as `JSON.parse` gives it. */
export type JsonObject = Readonly<Record<string, unknown>>

/** True for a JSON object (not an array, not null). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A text that is not empty. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** A number of nanoseconds, milliseconds or things: finite and not negative. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

/** Makes a check for one of a list of words. */
export function isOneOf<const W extends string>(words: readonly W[]): (value: unknown) => value is W {
  return (value): value is W => words.some((word) => word === value)
}

/** Counts the fields of `object` that are not in `known`. */
export function countUnknownFields(
  object: JsonObject,
  known: readonly string[],
  line: number | undefined,
  problems: DiagnosticCounter,
  path: string = '',
): void {
  for (const name of Object.keys(object)) {
    if (!known.includes(name)) problems.add('unknown-field', line, `${path}${name.slice(0, MAX_NAME_CHARS)}`)
  }
}

// Enough to recognise a field; a hostile file must not put a megabyte into a message.
const MAX_NAME_CHARS = 64
