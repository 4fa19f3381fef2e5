import { readFileSync } from 'node:fs'

/** What is mutated, and by which tests it is held: `mutate.config.json` in the root of a repository. */
export interface MutateConfig {
  /** Globs of the files that are mutated, from the root; those that begin with `!` take files out. */
  readonly mutate: readonly string[]
  /** The vitest config of the tests that hold them: without type checks, without boots. */
  readonly vitestConfig: string
  /** What a change is compared with; default: the merge base with `origin/main`, or HEAD~20 where that is HEAD. */
  readonly base?: string
  /** Survivors that a file may have, by its path, for a suite on its way: default 0 for all. */
  readonly budgets?: Readonly<Record<string, number>>
  /** The most mutants that only the clock may refuse. */
  readonly mostTimeouts?: number
  /** The most minutes that a run may take; default 60. */
  readonly minutes?: number
}

const KNOWN = new Set(['mutate', 'vitestConfig', 'base', 'budgets', 'mostTimeouts', 'minutes'])

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0
}

/** Reads a config; a sentence that names what is wrong with it. */
export function readMutateConfig(path: string): MutateConfig | string {
  let value: unknown
  try {
    value = JSON.parse(String(readFileSync(path)))
  } catch (error) {
    return `${path} cannot be read: ${(error as Error).message}`
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${path} must hold an object`
  const config = value as Record<string, unknown>
  const foreign = Object.keys(config).find((key) => !KNOWN.has(key))
  if (foreign !== undefined) return `${path}: \`${foreign}\` is no setting; known are ${[...KNOWN].join(', ')}`
  const { mutate, vitestConfig, base, budgets = {}, mostTimeouts = 0, minutes = 1 } = config
  if (!Array.isArray(mutate) || mutate.length === 0 || !mutate.every((glob) => typeof glob === 'string')) {
    return `${path}: \`mutate\` must be an array of globs with at least one`
  }
  if (typeof vitestConfig !== 'string') return `${path}: \`vitestConfig\` must name a vitest config`
  if (base !== undefined && typeof base !== 'string') return `${path}: \`base\` must be a ref of git`
  if (typeof budgets !== 'object' || budgets === null || !Object.values(budgets).every(isCount)) {
    return `${path}: \`budgets\` must be an object of whole numbers by file`
  }
  if (!isCount(mostTimeouts)) return `${path}: \`mostTimeouts\` must be a whole number`
  if (!isCount(minutes) || minutes === 0) return `${path}: \`minutes\` must be a whole number from 1 on`
  return value as MutateConfig
}
