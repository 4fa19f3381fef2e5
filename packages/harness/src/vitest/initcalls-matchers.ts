import type { Initcall, InitcallsReport, InitcallsResult } from '@boxlab/probes'
import { expect } from 'vitest'
import { Box } from '../box.ts'
import { durationMs } from '../duration.ts'
import type { Answer } from './answer.ts'
import type { Within } from './matchers.ts'

/** Bounds of a call. */
export interface ToHaveInitcallOptions {
  /** Each call of the name took no longer. */
  readonly within?: Within
  /** Each call of the name returned this. */
  readonly returned?: number
}

/**
 * Questions to the kernel's initcalls. Each takes a box that was booted with `record: { initcalls: true }`, or a result of
 * `initcalls()`; all are awaited. Where there is no answer they throw, also behind `not`.
 */
export interface InitcallsMatchers<R = unknown> {
  /**
   * The kernel made this call; names may repeat, and then each of them counts. A duration that is not known, that is a whole
   * number of ticks, or that is known no better than the bound is away, is an error and never a pass.
   */
  toHaveInitcall(name: string | RegExp, options?: ToHaveInitcallOptions): Promise<R>
  /** Every call has returned. */
  toHaveNoUnfinishedInitcalls(): Promise<R>
}

declare module 'vitest' {
  interface Matchers<R, T> extends InitcallsMatchers<R> {}
}

async function reportOf(received: unknown, matcher: string): Promise<InitcallsReport> {
  const result = received instanceof Box ? await received.initcalls() : (received as InitcallsResult | null)
  if (typeof result !== 'object' || result === null || !('found' in result) || !('diagnostics' in result)) {
    throw new TypeError(`\`${matcher}\` takes a box or a result of initcalls(), and this is neither`)
  }
  if (!result.found) throw new Error(result.message)
  return result
}

/** Flags that keep a place between two calls have no meaning here. */
function isNamed(name: string | RegExp, call: Initcall): boolean {
  return typeof name === 'string'
    ? name === call.name
    : new RegExp(name.source, name.flags.replace(/[gy]/g, '')).test(call.name)
}

/** Sure within a microsecond or two where nothing else is said. */
const exactUs = 2

/** The time of a call, or an error that says why a bound on it is no verdict. */
function judge(
  { name, line, durationUs, unknown, quantised, errorUs = exactUs, disagreementUs, source }: Initcall,
  boundMs: number,
): { readonly pass: boolean; readonly ms: number } {
  if (durationUs === undefined) {
    throw new Error(
      `how long ${name} (line ${line}) took is not known: ${unknown === 'unfinished' ? 'it has not returned' : 'its return is not in the log'}`,
    )
  }
  const ms = durationUs / 1000
  if (quantised) {
    throw new Error(
      `how long ${name} (line ${line}) took is not known: before the clocksource is switched the kernel counts whole ticks, and the log has no stamps`,
    )
  }
  const betweenUs = Math.abs(durationUs - boundMs * 1000)
  if (betweenUs < errorUs && errorUs > exactUs) {
    throw new Error(
      `${name} (line ${line}) took ${ms.toFixed(3)} ms, give or take ${(errorUs / 1000).toFixed(3)} ms, and the bound of ${boundMs} ms lies within that`,
    )
  }
  // Of an exact figure that its stamps do not confirm, both must be on one side.
  if (source === 'usecs' && disagreementUs !== undefined) {
    const stampsMs = (durationUs - disagreementUs) / 1000
    if (stampsMs <= boundMs !== ms <= boundMs) {
      throw new Error(
        `${name} (line ${line}) took ${ms.toFixed(3)} ms by the kernel’s figure and ${stampsMs.toFixed(3)} ms by its stamps, and the bound of ${boundMs} ms lies between them`,
      )
    }
  }
  return { pass: ms <= boundMs, ms }
}

/** The matchers, for `expect.extend`; importing `@boxlab/harness/vitest` has done that. */
export const initcallsMatchers: {
  toHaveInitcall(received: unknown, name: string | RegExp, options?: ToHaveInitcallOptions): Promise<Answer>
  toHaveNoUnfinishedInitcalls(received: unknown): Promise<Answer>
} = {
  async toHaveInitcall(received, name, { within, returned } = {}) {
    const report = await reportOf(received, 'toHaveInitcall')
    const boundMs = within === undefined ? undefined : durationMs(within, 'within')
    const kernel = report.kernel === undefined ? 'this kernel' : `Linux ${report.kernel}`
    const found = report.calls.filter((call) => isNamed(name, call))
    if (found.length === 0) {
      const late = report.findings.find((finding) => finding.name === 'begins-late')
      if (late) throw new Error(`there is no call ${String(name)} in the log, but ${late.message}`)
      return { pass: false, message: () => `${kernel} made no call ${String(name)} among ${report.calls.length}` }
    }
    const sentences: string[] = []
    let pass = true
    for (const call of found) {
      const facts: string[] = []
      if (returned !== undefined) {
        if (call.returned === undefined)
          throw new Error(`what ${call.name} (line ${call.line}) returned is not known: ${call.unknown ?? ''}`)
        if (call.returned !== returned) pass = false
        facts.push(`returned ${call.returned}, and ${returned} is asked for`)
      }
      if (boundMs !== undefined) {
        const held = judge(call, boundMs)
        if (!held.pass) pass = false
        facts.push(`took ${held.ms.toFixed(3)} ms (n=1), and the bound is ${boundMs} ms`)
      }
      sentences.push(
        facts.length === 0
          ? `${kernel} made the call ${call.name}`
          : `${call.name} (line ${call.line}) ${facts.join('; ')}`,
      )
    }
    return { pass, message: () => sentences.join('\n') }
  },
  async toHaveNoUnfinishedInitcalls(received) {
    const { calls, findings, summary } = await reportOf(received, 'toHaveNoUnfinishedInitcalls')
    const open = calls.filter(({ unfinished }) => unfinished)
    const ending = findings.find(({ name }) => name === 'unfinished-at-panic' || name === 'unfinished-at-end')
    const lines = open.map(
      ({ name, module, line }) => `\n  ${name}${module === undefined ? '' : ` [${module}]`} (line ${line})`,
    )
    const message =
      open.length === 0
        ? `all ${summary.count} initcalls have returned`
        : `${open.length} of ${summary.count} initcalls have not returned: ${ending?.message ?? ''}${lines.join('')}`
    return { pass: open.length === 0, message: () => message }
  },
}

expect.extend(initcallsMatchers)
