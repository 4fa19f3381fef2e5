import { BoxError } from '@boxlab/native'

/** One thing that is waited for. */
export type WaitLeaf =
  | { readonly kind: 'mark'; readonly mark: string }
  | { readonly kind: 'console'; readonly text: string | RegExp }
  | { readonly kind: 'port'; readonly port: number }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'command'; readonly argv: readonly string[] }
  | { readonly kind: 'unit'; readonly unit: string }
  | { readonly kind: 'systemd'; readonly state: 'running' | 'degraded' }

/** What makes a box ready, or is waited for later. Made by `Wait`. */
export type WaitStrategy =
  | WaitLeaf
  | { readonly kind: 'all'; readonly of: readonly WaitStrategy[] }
  | { readonly kind: 'any'; readonly of: readonly WaitStrategy[] }

/**
 * Wait strategies. Each races with the end of the box, its bound and a signal; when it does not come, the error tells
 * what was seen instead.
 */
export const Wait = {
  /** A mark of the vocabulary, for example `kernel-first-line` or `agent-ready`, or one of your own. */
  forMark: (mark: string): WaitStrategy => made({ kind: 'mark', mark }),
  /**
   * The first appearance on the console, from the boot's first byte on. A text is looked for in the bytes as they come;
   * an expression in each line, without escape codes and line end (and in a line that is not whole yet, such as a
   * prompt, when nothing follows it).
   */
  forConsole: (text: string | RegExp): WaitStrategy => made({ kind: 'console', text }),
  /** A TCP port on the guest's loopback takes connections. Asked for every 25 ms. */
  forPort: (port: number): WaitStrategy => made({ kind: 'port', port }),
  /** Anything is at an absolute path of the guest. Looked for every 25 ms. */
  forFile: (path: string): WaitStrategy => made({ kind: 'file', path }),
  /** A command of the guest exits with 0. Run again 25 ms after each end. */
  forCommand: (argv: readonly string[]): WaitStrategy => made({ kind: 'command', argv }),
  /**
   * A unit of systemd is up: active with no job queued, or a oneshot that ran and ended well. One that failed, is masked,
   * was skipped by a condition, or is not there when the boot is over, is an error at once. Told by systemd's own signals.
   */
  forUnit: (unit: string): WaitStrategy => made({ kind: 'unit', unit }),
  /** A target is reached: `forTarget('multi-user')`. */
  forTarget: (target: string): WaitStrategy =>
    made({ kind: 'unit', unit: `${target.replace(/\.target$/, '')}.target` }),
  /** systemd has finished the boot: without a failed unit (`running`), or however many failed (`degraded`, the default). */
  forSystemd: (state: 'running' | 'degraded' = 'degraded'): WaitStrategy => made({ kind: 'systemd', state }),
  /** All of them, in any order. */
  forAll: (of: readonly WaitStrategy[]): WaitStrategy => made({ kind: 'all', of }),
  /** The first of them. */
  forAny: (of: readonly WaitStrategy[]): WaitStrategy => made({ kind: 'any', of }),
} as const

function made(strategy: WaitStrategy): WaitStrategy {
  const problem = strategyProblem(strategy)
  if (problem !== undefined) throw new BoxError('ERR_BOX_OPTIONS', problem)
  return strategy
}

/** What is wrong with a strategy, as a sentence without a full stop; undefined when nothing is. */
export function strategyProblem(value: unknown): string | undefined {
  const strategy = (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>
  const check = Object.hasOwn(problems, String(strategy['kind'])) ? problems[String(strategy['kind'])] : undefined
  return check ? check(strategy) : 'a wait strategy is made by Wait, for example `Wait.forConsole("ready")`'
}

const isText = (field: unknown): field is string => typeof field === 'string' && field !== ''

const problems: Readonly<Record<string, (strategy: Readonly<Record<string, unknown>>) => string | undefined>> = {
  mark: ({ mark }) => (isText(mark) ? undefined : '`Wait.forMark` takes the id of a mark'),
  console: ({ text }) => {
    if (isText(text) || text instanceof RegExp) return undefined
    return '`Wait.forConsole` takes a text that is not empty, or a regular expression'
  },
  port: ({ port }) => {
    if (Number.isInteger(port) && Number(port) >= 1 && Number(port) <= 65_535) return undefined
    return `\`Wait.forPort\` takes a port from 1 to 65535, not ${String(port)}`
  },
  file: ({ path }) => {
    if (isText(path) && path.startsWith('/')) return undefined
    return `\`Wait.forFile\` takes an absolute path in the guest, not '${String(path)}'`
  },
  command: ({ argv }) => {
    if (Array.isArray(argv) && argv.length > 0 && argv.every((word) => typeof word === 'string')) return undefined
    return '`Wait.forCommand` takes an array with a command and its arguments'
  },
  unit: ({ unit }) => {
    if (typeof unit === 'string' && /^[\w:.\\@-]+\.[a-z]+$/.test(unit)) return undefined
    return `\`Wait.forUnit\` takes a unit with its type, such as 'ssh.service', not '${String(unit)}'`
  },
  systemd: ({ state }) => {
    if (state === 'running' || state === 'degraded') return undefined
    return `\`Wait.forSystemd\` takes 'running' or 'degraded', not '${String(state)}'`
  },
  all: ({ of }) => listProblem('forAll', of),
  any: ({ of }) => listProblem('forAny', of),
}

function listProblem(name: string, of: unknown): string | undefined {
  if (!Array.isArray(of) || of.length === 0) return `\`Wait.${name}\` takes an array with one strategy or more`
  return of.map(strategyProblem).find((problem) => problem !== undefined)
}

/** The parts of a strategy, in its order. */
export function leavesOf(strategy: WaitStrategy): WaitLeaf[] {
  return strategy.kind === 'all' || strategy.kind === 'any' ? strategy.of.flatMap(leavesOf) : [strategy]
}

/** Whether it asks the agent, which a firmware box does not have. */
export function needsAgent(strategy: WaitStrategy): boolean {
  return leavesOf(strategy).some((leaf) => {
    return leaf.kind === 'mark' ? leaf.mark.startsWith('agent-') : leaf.kind !== 'console'
  })
}

/** The mark that a leaf sets when it came. */
export function markOf(leaf: WaitLeaf): string {
  if (leaf.kind === 'mark') return leaf.mark
  return `user:${leaf.kind}:${contentOf(leaf)}`
}

function contentOf(leaf: Exclude<WaitLeaf, { kind: 'mark' }>): string {
  if (leaf.kind === 'console') return String(leaf.text)
  if (leaf.kind === 'port') return String(leaf.port)
  if (leaf.kind === 'unit') return leaf.unit
  if (leaf.kind === 'systemd') return leaf.state
  return leaf.kind === 'file' ? leaf.path : leaf.argv.join(' ')
}

/** A strategy in words, for errors. */
export function describeStrategy(strategy: WaitStrategy): string {
  if (strategy.kind === 'all') return strategy.of.map(describeStrategy).join(' and ')
  if (strategy.kind === 'any') return strategy.of.map(describeStrategy).join(' or ')
  if (strategy.kind === 'mark') return `the mark \`${strategy.mark}\``
  const content = contentOf(strategy)
  if (strategy.kind === 'console')
    return `${typeof strategy.text === 'string' ? `'${content}'` : content} on the console`
  if (strategy.kind === 'port') return `port ${content}`
  if (strategy.kind === 'unit') return `the unit ${content}`
  if (strategy.kind === 'systemd') return `systemd to be ${content}`
  return strategy.kind === 'file' ? `the file ${content}` : `\`${content}\` to succeed`
}

/**
 * The mark by which the runtime itself sees that a box is ready; undefined for a strategy that the harness must follow.
 * The runtime looks for marks and console texts, from the boot's first instant on.
 */
export function nativeMark(strategy: WaitStrategy): string | undefined {
  if (strategy.kind === 'mark') return strategy.mark
  return strategy.kind === 'console' && typeof strategy.text === 'string' ? markOf(strategy) : undefined
}
