/** What of a mutation report is looked at (mutation-testing-report-schema 1 and 2, as StrykerJS 10 writes it). */
export interface MutationReport {
  /** By path, from the folder that was tested. */
  readonly files: Readonly<Record<string, { readonly source: string; readonly mutants: readonly Mutant[] }>>
  readonly testFiles?: Readonly<
    Record<string, { readonly tests: readonly { readonly id: string; readonly name: string }[] }>
  >
}

/** A change to a program that a test should notice. Lines and columns from 1. */
export interface Mutant {
  readonly id: string
  readonly mutatorName: string
  readonly replacement?: string
  readonly status: MutantStatus
  readonly statusReason?: string
  /** It is in what runs once, when its file is loaded. */
  readonly static?: boolean
  readonly coveredBy?: readonly string[]
  readonly location: { readonly start: Place; readonly end: Place }
}

export interface Place {
  readonly line: number
  readonly column: number
}

export type MutantStatus = (typeof STATUSES)[number]
const STATUSES = [
  'Killed',
  'Timeout',
  'Survived',
  'NoCoverage',
  'Ignored',
  'CompileError',
  'RuntimeError',
  'Pending',
] as const

/** Reads a report; a sentence where it is none. */
export function readReport(text: string): MutationReport | string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return `the mutation report is not JSON (${(error as Error).message})`
  }
  const files = isObject(value) ? value['files'] : undefined
  if (!isObject(files)) return 'the mutation report has no `files`'
  for (const [path, file] of Object.entries(files)) {
    if (!isObject(file) || typeof file['source'] !== 'string' || !Array.isArray(file['mutants'])) {
      return `the mutation report cannot be read: ${path} has no source or no mutants`
    }
    const bad = (file['mutants'] as unknown[]).find((mutant) => !isMutant(mutant))
    if (bad !== undefined) return `the mutation report cannot be read: a mutant of ${path} is ${JSON.stringify(bad)}`
  }
  return value as MutationReport
}

function isMutant(value: unknown): boolean {
  if (!isObject(value) || typeof value['mutatorName'] !== 'string') return false
  const start = isObject(value['location']) ? value['location']['start'] : undefined
  return STATUSES.some((status) => status === value['status']) && isObject(start) && typeof start['line'] === 'number'
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
