import { type GraphReport, type GraphResult, type GraphSpan, renderGraph } from '@boxlab/probes'
import { expect } from 'vitest'
import { durationMs } from '../duration.ts'
import type { Answer } from './answer.ts'
import type { Within } from './matchers.ts'

/** What must hold of the spans of a function; all that is given counts. */
export interface ToHaveSpanOptions {
  /** The longest of them took no longer. */
  readonly within?: Within
  /** So many there are. */
  readonly times?: number
  /** At least one returned on another CPU than it was called on; `false`: none did. */
  readonly migrated?: boolean
  /** Only those of this task, such as `busybox-131`. */
  readonly task?: string
}

/**
 * Questions to a function_graph trace: each takes a result of `graph()`. Where there is no answer they throw, also behind
 * `not`: without durations nothing is within a bound, and a trace that does not tell what it lost has lost nobody knows what.
 */
export interface GraphMatchers<R = unknown> {
  /** The trace has whole calls of this function, and they are so. */
  toHaveSpan(name: string, options?: ToHaveSpanOptions): R
  /** No event was lost: the numbers of calls are all of them. */
  toHaveNoLostEvents(): R
}

declare module 'vitest' {
  interface Matchers<R, T> extends GraphMatchers<R> {}
}

function report(received: unknown, matcher: string): GraphReport {
  const result = received as GraphResult | null | undefined
  if (typeof result !== 'object' || result === null || !('found' in result) || !('diagnostics' in result)) {
    throw new TypeError(`\`${matcher}\` takes a result of graph(), and this is none`)
  }
  if (!result.found) throw new Error(result.message)
  if (!('spans' in result))
    throw new TypeError(`\`${matcher}\` takes a result of graph(), and this is one of something else`)
  return result
}

/** The matchers, for `expect.extend`; importing `@boxlab/harness/vitest` has done that. */
export const graphMatchers: {
  toHaveSpan(received: unknown, name: string, options?: ToHaveSpanOptions): Answer
  toHaveNoLostEvents(received: unknown): Answer
} = {
  toHaveSpan(received, name, options = {}) {
    const found = report(received, 'toHaveSpan')
    const boundMs = options.within === undefined ? undefined : durationMs(options.within, 'within')
    const spans = found.spans.filter((span) => span.name === name && (options.task ?? span.task) === span.task)
    if (spans.length === 0) {
      const message = `the trace has no whole call of ${whose(name, options)}${elsewhere(found, name)}\n\n${renderGraph(found)}`
      return { pass: false, message: () => message }
    }
    const held = [
      ...(boundMs === undefined ? [] : [heldWithin(name, spans, boundMs)]),
      ...(options.times === undefined
        ? []
        : [{ pass: spans.length === options.times, what: `${spans.length} calls, and ${options.times} are expected` }]),
      ...(options.migrated === undefined ? [] : [heldMigrated(name, spans, options.migrated)]),
    ]
    const what = held.map((one) => one.what).join('; ')
    const message = `${whose(name, options)} has ${spans.length} calls${what === '' ? '' : `: ${what}`}`
    return { pass: held.every(({ pass }) => pass), message: () => message }
  },
  toHaveNoLostEvents(received) {
    const { summary } = report(received, 'toHaveNoLostEvents')
    if (!summary.lossTold) {
      throw new Error(
        'the trace does not say whether events were lost: give /sys/kernel/tracing/per_cpu/cpu*/stats to graph() beside it',
      )
    }
    const lost = summary.lost === 0 ? 'no events' : `${summary.lost} events`
    return { pass: summary.lost === 0 && !hasLossMarks(received), message: () => `${lost} of the trace were lost` }
  },
}

interface Held {
  readonly pass: boolean
  readonly what: string
}

/** Some kernels say that events were lost and not how many. */
function hasLossMarks(received: unknown): boolean {
  return report(received, 'toHaveNoLostEvents').findings.some(({ name }) => name === 'events-lost')
}

function whose(name: string, { task }: ToHaveSpanOptions): string {
  return task === undefined ? name : `${name} of ${task}`
}

/** A call without its return, or a return without its call, is there and is no span. */
function elsewhere({ unclosed, unopened }: GraphReport, name: string): string {
  if (unclosed.some((one) => one.name === name)) return '; it was called and did not return in the trace'
  return unopened.some((one) => one.name === name) ? '; it returned, and was called before the trace begins' : ''
}

function heldWithin(name: string, spans: readonly GraphSpan[], boundMs: number): Held {
  const times = spans.flatMap(({ durationUs }) => durationUs ?? [])
  if (times.length < spans.length) {
    throw new Error(`how long ${name} took is not known: the trace has no durations (nofuncgraph-duration)`)
  }
  const ms = times.reduce((most, us) => Math.max(most, us), 0) / 1000
  return {
    pass: ms <= boundMs,
    what: `the longest took ${ms.toFixed(3)} ms (n=${times.length}), and the bound is ${boundMs} ms`,
  }
}

function heldMigrated(name: string, spans: readonly GraphSpan[], wanted: boolean): Held {
  if (spans.some(({ migrated }) => migrated === undefined)) {
    throw new Error(
      `whether ${name} migrated is not known: the trace does not say the CPU of its call and of its return`,
    )
  }
  const count = spans.filter(({ migrated }) => migrated).length
  return { pass: count > 0 === wanted, what: `${count} returned on another CPU` }
}

expect.extend(graphMatchers)
