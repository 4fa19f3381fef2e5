import { exempts, exemptionsOf, MUTATORS } from './exemptions.ts'
import type { Mutant, MutationReport } from './report.ts'

/** What the gate holds. */
export interface GateOptions {
  /** The most mutants that only the clock may refuse; default 5 % of all, and 20 at least. */
  readonly mostTimeouts?: number
  /** Whether a test that `mutate-lane` names is there and runs in CI. */
  readonly runsInCi?: (test: string) => boolean
}

/** A mutant that no test noticed. */
export interface Survivor {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly mutator: string
  /** What stood there, and what it was replaced by; cut to a line. */
  readonly original: string
  readonly replacement: string
  /** The tests that ran it and noticed nothing; none where no test runs it. */
  readonly coveredBy: readonly string[]
}

/** A mutant that its author says no input can tell from the original. */
export interface Exempt {
  readonly file: string
  readonly line: number
  readonly mutator: string
  readonly reason: string
}

/** What came of a run. */
export interface Verdict {
  readonly version: 1
  readonly pass: boolean
  readonly refused: number
  /** Of those refused, by the clock alone. */
  readonly timeouts: number
  readonly survived: readonly Survivor[]
  readonly exempt: readonly Exempt[]
  /** Why the gate fails whatever the mutants say, a sentence each. */
  readonly problems: readonly string[]
}

/**
 * Judges a report. What no test runs has survived; what the clock stopped counts as refused, in bounds; an exemption needs its
 * reason, a mutator that exists, and a mutant to exempt. A run without a single mutant has measured nothing.
 */
export function judge(report: MutationReport, { mostTimeouts, runsInCi }: GateOptions = {}): Verdict {
  const names = new Map(
    Object.values(report.testFiles ?? {}).flatMap(({ tests }) => tests.map(({ id, name }) => [id, name])),
  )
  const survived: Survivor[] = []
  const exempt: Exempt[] = []
  const problems: string[] = []
  let refused = 0
  let timeouts = 0
  let all = 0
  for (const [file, { source, mutants }] of Object.entries(report.files)) {
    const lines = source.split('\n')
    const { exemptions, lanes } = exemptionsOf(source)
    const ignored = mutants.filter(({ status }) => status === 'Ignored')
    for (const mutant of mutants) {
      all += 1
      const { status, mutatorName, location } = mutant
      if (status === 'Killed') refused += 1
      else if (status === 'Timeout') {
        refused += 1
        timeouts += 1
      } else if (status === 'Survived' || status === 'NoCoverage') {
        survived.push(survivorOf(file, mutant, lines, names))
      } else if (status === 'Ignored') {
        const by = exemptions.find((one) => exempts(one, mutatorName, location.start.line))
        exempt.push({
          file,
          line: location.start.line,
          mutator: mutatorName,
          reason: by?.reason ?? mutant.statusReason ?? '',
        })
        // Nobody asked for it: a setting of the run took it out.
        if (!by)
          problems.push(
            `${place(file, mutant)} was ignored by the run and no comment asks for it (${mutant.statusReason ?? 'no reason'})`,
          )
      } else
        problems.push(
          `${place(file, mutant)} has no answer: ${status}${mutant.statusReason === undefined ? '' : ` (${mutant.statusReason.split('\n')[0]})`}`,
        )
    }
    for (const exemption of exemptions) {
      const at = `${file}:${exemption.line}`
      if (exemption.reason === '')
        problems.push(
          `${at}: an exemption gives its reason, \`// Stryker disable next-line MUTATOR: why no input can tell\``,
        )
      const unknown = exemption.mutators === 'all' ? [] : exemption.mutators.filter((name) => !MUTATORS.has(name))
      for (const name of unknown) problems.push(`${at}: there is no mutator ${name}`)
      if (!ignored.some(({ mutatorName, location }) => exempts(exemption, mutatorName, location.start.line))) {
        problems.push(`${at}: the exemption has no mutant to exempt: take it out`)
      }
    }
    for (const { line, test } of lanes) {
      if (runsInCi && !runsInCi(test))
        problems.push(`${file}:${line}: mutate-lane names ${test}, which is no test that CI runs`)
    }
  }
  if (all === 0) problems.push('the run made no mutant, so it has measured nothing')
  const most = mostTimeouts ?? Math.max(20, Math.ceil(all / 20))
  if (timeouts > most)
    problems.push(
      `${timeouts} mutants were stopped by the clock, and the bound is ${most}: look for a loop, or a slow machine`,
    )
  return {
    version: 1,
    pass: survived.length === 0 && problems.length === 0,
    refused,
    timeouts,
    survived,
    exempt,
    problems,
  }
}

function survivorOf(
  file: string,
  mutant: Mutant,
  lines: readonly string[],
  names: ReadonlyMap<string, string>,
): Survivor {
  const { mutatorName, replacement = '', coveredBy = [], location } = mutant
  const { start, end } = location
  const first = lines[start.line - 1] ?? ''
  const original =
    start.line === end.line ? first.slice(start.column - 1, end.column - 1) : `${first.slice(start.column - 1)} …`
  return {
    file,
    line: start.line,
    column: start.column,
    mutator: mutatorName,
    original: oneLine(original),
    replacement: oneLine(replacement),
    coveredBy: coveredBy.map((id) => names.get(id) ?? id),
  }
}

function place(file: string, { mutatorName, location }: Mutant): string {
  return `${file}:${location.start.line}:${location.start.column} ${mutatorName}`
}

const SHOWN = 60

function oneLine(text: string): string {
  const flat = text.replaceAll(/\s+/g, ' ').trim()
  return flat.length > SHOWN ? `${flat.slice(0, SHOWN)}…` : flat
}

/** The verdict as lines: a line a survivor, a line a problem, exemptions with their reasons, and the closing line. */
export function verdictLines({ survived, exempt, problems, refused, timeouts }: Verdict): readonly string[] {
  return [
    ...survived.map(({ file, line, column, mutator, original, replacement, coveredBy }) => {
      const by =
        coveredBy.length === 0
          ? 'no test runs it'
          : `not noticed by: ${coveredBy.slice(0, 3).join('; ')}${coveredBy.length > 3 ? `; and ${coveredBy.length - 3} more` : ''}`
      return `survived ${file}:${line}:${column} ${mutator}: ${original} -> ${replacement} (${by})`
    }),
    ...exempt.map(({ file, line, mutator, reason }) => `exempt ${file}:${line} ${mutator}: ${reason}`),
    ...problems.map((problem) => `problem: ${problem}`),
    ...(timeouts > 0 ? [`${timeouts} of the refused were stopped by the clock`] : []),
    `mutation: ${refused} refused, ${survived.length} survived, ${exempt.length} exempt`,
  ]
}
