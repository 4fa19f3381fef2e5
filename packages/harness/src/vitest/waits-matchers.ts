import { renderWaits, type WaitsReport, type WaitsResult } from '@boxlab/probes'
import { expect } from 'vitest'
import { Box } from '../box.ts'
import { durationMs } from '../duration.ts'
import type { Answer } from './answer.ts'
import type { Within } from './matchers.ts'

/** The units that a critical path must have, or must not have, in whatever order. */
export interface PathParts {
  readonly containing?: readonly string[]
  readonly notContaining?: readonly string[]
}

/** To which target the path leads: a unit, `login` or `ssh`. Default `multi-user.target`. */
export interface OfTarget {
  readonly target?: string
}

/**
 * Questions to what a boot waited for. Each takes a box, whose systemd or record is asked, or a result of `waits()`; all are
 * awaited. Where there is no answer (nothing of systemd to read) they throw, also behind `not`.
 */
export interface WaitsMatchers<R = unknown> {
  /** The units on the critical path are these, first to last; or it contains some and does not contain others. */
  toHaveCriticalPath(expected: readonly string[] | PathParts, options?: OfTarget): Promise<R>
  /** Until the target there is no longer time in which no unit at all was activating. */
  toHaveNoGapLongerThan(bound: Within, options?: OfTarget): Promise<R>
  /** The unit (or `login`, `ssh`) was reached; with `within`, no later after PID 1's start. */
  toReachUnit(unit: string, options?: { readonly within?: Within }): Promise<R>
  /** These units were still starting, or started, when the target had been reached. */
  toStartBehind(target: string, units: readonly string[]): Promise<R>
  /** The unit, which the target waits for, could have ended so much later without moving the target. */
  toHaveSlack(unit: string, options: { readonly atLeast: Within } & OfTarget): Promise<R>
}

declare module 'vitest' {
  interface Matchers<R, T> extends WaitsMatchers<R> {}
}

interface Asked {
  readonly result: WaitsResult
  /** What belongs beside a number. */
  readonly sample: string
}

async function ask(received: unknown, matcher: string, target = 'multi-user.target'): Promise<Asked> {
  if (received instanceof Box) {
    const result = await received.waits({ target })
    return { result, sample: `${received.info().accelerator?.proved ?? 'accelerator not proved'}, n=1` }
  }
  const result = received as WaitsResult | null
  if (typeof result !== 'object' || result === null || !('found' in result) || !('target' in result)) {
    throw new TypeError(`\`${matcher}\` takes a box or a result of waits(), and this is neither`)
  }
  if (result.target !== target) {
    throw new TypeError(`\`${matcher}\` asks about ${target}, and this result of waits() is about ${result.target}`)
  }
  return { result, sample: 'n=1' }
}

async function report(received: unknown, matcher: string, target?: string): Promise<Asked & { result: WaitsReport }> {
  const { result, sample } = await ask(received, matcher, target)
  if (!result.found) throw new Error(result.message)
  return { result, sample }
}

/** A number that is measured in whole seconds decides nothing about less. */
function inMicroseconds({ resolution }: WaitsReport, matcher: string): void {
  if (resolution === 'microsecond') return
  throw new Error(`\`${matcher}\` needs microseconds, and a dump has whole seconds: give \`systemctl show --all\``)
}

function ms(us: number): string {
  return `${(us / 1000).toFixed(3)} ms`
}

function pathTable(result: WaitsReport): string {
  return result.path
    .map(({ unit, runUs, endUs }) => `\n  ${ms(runUs).padStart(14)} ${ms(endUs).padStart(14)}  ${unit}`)
    .join('')
}

/** The matchers, for `expect.extend`; importing `@boxlab/harness/vitest` has done that. */
export const waitsMatchers: {
  [Name in keyof WaitsMatchers]: (received: unknown, ...args: Parameters<WaitsMatchers[Name]>) => Promise<Answer>
} = {
  async toHaveCriticalPath(received, expected, { target } = {}) {
    const { result } = await report(received, 'toHaveCriticalPath', target)
    const found = result.path.map(({ unit }) => unit)
    const problems = Array.isArray(expected)
      ? found.length === expected.length && found.every((unit, index) => unit === expected[index])
        ? []
        : [`it is not ${expected.join(' -> ')}`]
      : partProblems(found, expected as PathParts)
    const what = `the critical path to ${result.target} (when each unit was run, and ended, after PID 1’s start):`
    return { pass: problems.length === 0, message: () => `${[...problems, what].join('\n')}${pathTable(result)}` }
  },
  async toHaveNoGapLongerThan(received, bound, { target } = {}) {
    const boundMs = durationMs(bound, 'bound')
    const { result, sample } = await report(received, 'toHaveNoGapLongerThan', target)
    inMicroseconds(result, 'toHaveNoGapLongerThan')
    const long = result.idleGaps.filter(({ startUs, endUs }) => endUs - startUs > boundMs * 1000)
    const lines = long.map(
      ({ startUs, endUs, openedBy, closedBy }) =>
        `\n  ${ms(endUs - startUs)} from ${ms(startUs)} on: after ${openedBy}, until ${closedBy}`,
    )
    const longest = Math.max(0, ...result.idleGaps.map(({ startUs, endUs }) => endUs - startUs))
    const message =
      long.length === 0
        ? `no unit was activating for at most ${ms(longest)} (${sample}), and the bound is ${boundMs} ms`
        : `for longer than ${boundMs} ms no unit was activating (${sample}):${lines.join('')}`
    return { pass: long.length === 0, message: () => message }
  },
  async toReachUnit(received, unit, { within } = {}) {
    const { result, sample } = await ask(received, 'toReachUnit', unit)
    if (!result.found) {
      if (result.reason !== 'not-reached') throw new Error(result.message)
      return { pass: false, message: () => result.message }
    }
    const sentence = `${unit} was reached ${ms(result.totalUs)} after ${result.origin === 'pid1' ? 'PID 1’s start' : 'kernel start'} (${sample})`
    if (within === undefined) return { pass: true, message: () => sentence }
    inMicroseconds(result, 'toReachUnit')
    const boundMs = durationMs(within, 'within')
    const message = (): string => `${sentence}, and the bound is ${boundMs} ms\n\n${renderWaits(result)}`
    return { pass: result.totalUs <= boundMs * 1000, message }
  },
  async toStartBehind(received, target, units) {
    const { result } = await report(received, 'toStartBehind', target)
    const behind = result.behind.map(({ unit }) => unit)
    const missing = units.filter((unit) => !behind.includes(unit))
    const lines = result.behind.map(({ unit, startUs }) => `\n  ${ms(startUs).padStart(14)}  ${unit}`).join('')
    const sentence = missing.length === 0 ? '' : `${missing.join(', ')} did not start behind ${target}; `
    return { pass: missing.length === 0, message: () => `${sentence}behind ${target} started:${lines || ' nothing'}` }
  },
  async toHaveSlack(received, unit, { atLeast, target }) {
    const boundMs = durationMs(atLeast, 'atLeast')
    const { result, sample } = await report(received, 'toHaveSlack', target)
    inMicroseconds(result, 'toHaveSlack')
    const slack = result.slack.find((one) => one.unit === unit)
    // A name that is not a unit's looks the same: no reason to pass.
    if (!slack)
      throw new Error(`${result.target} does not wait for ${unit}, so there is no slack: ask with toHaveCriticalPath`)
    const sentence = `${unit} could have ended ${ms(slack.slackUs)} later without moving ${result.target} (${sample})`
    return { pass: slack.slackUs >= boundMs * 1000, message: () => `${sentence}, and the bound is ${boundMs} ms` }
  },
}

function partProblems(found: readonly string[], { containing = [], notContaining = [] }: PathParts): string[] {
  const missing = containing.filter((unit) => !found.includes(unit))
  const unwanted = notContaining.filter((unit) => found.includes(unit))
  return [
    ...(missing.length > 0 ? [`${missing.join(', ')} is not on it`] : []),
    ...(unwanted.length > 0 ? [`${unwanted.join(', ')} is on it`] : []),
  ]
}

expect.extend(waitsMatchers)
