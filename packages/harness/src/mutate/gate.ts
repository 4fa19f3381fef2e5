import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { changedLines } from './changed-lines.ts'
import type { MutateConfig } from './config.ts'
import { judge, type Verdict, verdictLines } from './judge.ts'
import { readReport } from './report.ts'
import { runStryker } from './run-stryker.ts'

/** What came of the gate: its exit code, its lines, and the verdict where there is one. */
export interface GateResult {
  readonly code: 0 | 1 | 2
  readonly lines: readonly string[]
  readonly verdict?: Verdict
}

/** What is asked of the gate. */
export interface GateOrder {
  /** Only the lines that changed since this ref; they must be held without a budget. */
  readonly since?: string | undefined
  /** Only these files of the config's. */
  readonly files?: readonly string[]
  readonly runsInCi?: (test: string) => boolean
  readonly signal?: AbortSignal | undefined
  readonly tell?: (line: string) => void
}

/** Runs the mutants of a repository, all of them or those of a change, and judges what came of it. */
export async function mutationGate(root: string, config: MutateConfig, order: GateOrder): Promise<GateResult> {
  const { since, signal, runsInCi, tell = () => {} } = order
  const ours = new Set(filesOf(root, config.mutate))
  if (ours.size === 0) return { code: 2, lines: [`no file matches \`mutate\` (${config.mutate.join(', ')})`] }
  const chosen = order.files?.length ? order.files : [...ours]
  const foreign = chosen.find((file) => !ours.has(file))
  if (foreign !== undefined) return { code: 2, lines: [`${foreign} is not among the files that \`mutate\` names`] }
  let mutate: readonly string[] = chosen
  if (since !== undefined) {
    const diff = diffOf(root, since)
    if (diff === undefined) return { code: 2, lines: [`there is no ref ${since} to compare with`] }
    const ranges = changedLines(diff).filter(({ file }) => chosen.includes(file))
    if (ranges.length === 0)
      return { code: 0, lines: [`nothing to mutate: no line of a mutated file changed since ${since}`] }
    mutate = ranges.map(({ file, from, to }) => `${file}:${from}-${to}`)
  }
  const beganMs = performance.now()
  const { report: text, why } = await runStryker(root, config, mutate, { signal, tell })
  if (text === undefined) return { code: 1, lines: [why ?? 'the mutation run wrote no report'] }
  const report = readReport(text)
  if (typeof report === 'string') return { code: 1, lines: [report] }
  const { mostTimeouts } = config
  const judged = judge(report, { ...(mostTimeouts !== undefined && { mostTimeouts }), ...(runsInCi && { runsInCi }) })
  const verdict = since === undefined ? withBudgets(judged, config.budgets ?? {}) : judged
  const seconds = (performance.now() - beganMs) / 1000
  const count = verdict.refused + verdict.survived.length
  const pace = `${count} mutants in ${seconds.toFixed(0)} s, ${(count / seconds).toFixed(1)} a second`
  return { code: verdict.pass ? 0 : 1, lines: [pace, ...verdictLines(verdict)], verdict }
}

/** A file on its way may have survivors, as many as its budget says; one that needs fewer has a budget that is too large. */
export function withBudgets(verdict: Verdict, budgets: Readonly<Record<string, number>>): Verdict {
  const counts = new Map<string, number>()
  for (const { file } of verdict.survived) counts.set(file, (counts.get(file) ?? 0) + 1)
  const over = [...counts].filter(([file, count]) => count > (budgets[file] ?? 0))
  const problems = [
    ...verdict.problems,
    ...over
      .filter(([file]) => budgets[file] !== undefined)
      .map(([file, count]) => `${file} has ${count} survivors, and its budget is ${budgets[file]}`),
    ...Object.entries(budgets)
      .filter(([file, budget]) => (counts.get(file) ?? 0) < budget)
      .map(([file, budget]) => `${file} has ${counts.get(file) ?? 0} survivors, and its budget is ${budget}: lower it`),
  ]
  return { ...verdict, problems, pass: over.length === 0 && problems.length === 0 }
}

function filesOf(root: string, globs: readonly string[]): string[] {
  const exclude = globs.filter((glob) => glob.startsWith('!')).flatMap((glob) => globSync(glob.slice(1), { cwd: root }))
  const out = new Set(exclude)
  return globs
    .filter((glob) => !glob.startsWith('!'))
    .flatMap((glob) => globSync(glob, { cwd: root }))
    .filter((file) => !out.has(file))
    .toSorted()
}

/** Undefined where git refuses. */
function git(root: string, ...args: string[]): string | undefined {
  const done = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 256 << 20 })
  return done.status === 0 ? done.stdout : undefined
}

function diffOf(root: string, since: string): string | undefined {
  if (git(root, 'rev-parse', '--verify', '--quiet', `${since}^{commit}`) === undefined) return undefined
  return git(root, 'diff', '--unified=0', '--no-color', '--diff-filter=AMR', since, '--')
}

/** The base of a change: where it left `origin/main`, or HEAD~20 where that is HEAD itself, as in a clean clone. */
export function baseOf(root: string, { MUTATE_BASE }: NodeJS.ProcessEnv, config: MutateConfig): string {
  if (MUTATE_BASE) return MUTATE_BASE
  if (config.base !== undefined) return config.base
  const merge = git(root, 'merge-base', 'origin/main', 'HEAD')?.trim()
  return merge !== undefined && merge !== git(root, 'rev-parse', 'HEAD')?.trim() ? merge : 'HEAD~20'
}
