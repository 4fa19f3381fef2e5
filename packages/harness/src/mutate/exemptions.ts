/** A comment by which the mutants of a line, or of what follows, are not counted. */
export interface Exemption {
  /** The line of the comment, from 1. */
  readonly line: number
  /** The line that it speaks of; absent where it holds until it is taken back. */
  readonly of?: number
  /** `all` without a list. */
  readonly mutators: readonly string[] | 'all'
  /** Why no input can tell; empty where none is given. */
  readonly reason: string
}

/** A comment that says that only a booted guest holds what follows, naming the test that does. */
export interface Lane {
  readonly line: number
  /** Path from the root of the repository. */
  readonly test: string
}

/** The names of StrykerJS 10's mutators (packages/instrumenter/src/mutators). */
export const MUTATORS: ReadonlySet<string> = new Set([
  'ArithmeticOperator',
  'ArrayDeclaration',
  'ArrowFunction',
  'AssignmentOperator',
  'BlockStatement',
  'BooleanLiteral',
  'ConditionalExpression',
  'EqualityOperator',
  'LogicalOperator',
  'MethodExpression',
  'ObjectLiteral',
  'OptionalChaining',
  'Regex',
  'StringLiteral',
  'UnaryOperator',
  'UpdateOperator',
])

const DISABLE =
  /^\s*(?:\/\/|\/\*)\s*Stryker disable(?<next> next-line)?(?<list>[^:*]*)(?::(?<reason>.*?))?(?:\*\/)?\s*$/
const LANE = /^\s*\/\/\s*mutate-lane:\s*(\S+)\s*$/

/** The exemptions of a source. */
export function exemptionsOf(source: string): {
  readonly exemptions: readonly Exemption[]
  readonly lanes: readonly Lane[]
} {
  const exemptions: Exemption[] = []
  const lanes: Lane[] = []
  for (const [index, text] of source.split('\n').entries()) {
    const lane = LANE.exec(text)?.[1]
    if (lane !== undefined) lanes.push({ line: index + 1, test: lane })
    const disable = DISABLE.exec(text)?.groups
    if (!disable) continue
    const mutators = String(disable['list'])
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
    exemptions.push({
      line: index + 1,
      ...(disable['next'] !== undefined && { of: index + 2 }),
      mutators: mutators.length === 0 || mutators.includes('all') ? 'all' : mutators,
      reason: (disable['reason'] ?? '').trim(),
    })
  }
  return { exemptions, lanes }
}

/** Whether it takes a mutant of this kind, on this line, out. */
export function exempts({ line, of, mutators }: Exemption, mutatorName: string, mutantLine: number): boolean {
  const there = of === undefined ? mutantLine > line : mutantLine === of
  return there && (mutators === 'all' || mutators.includes(mutatorName))
}
