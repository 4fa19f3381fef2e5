import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AllowEntry, findConsoleProblems, type StageResult, STAGES, type Timeline } from '@boxlab/probes'
import { expect } from 'vitest'
import { Box } from '../box.ts'
import { durationMs } from '../duration.ts'
import { readTimeline } from '../reports/record-timeline.ts'
import type { Answer } from './answer.ts'

/** A time: milliseconds, or a text such as `500ms`, `1.5s`, `2m`. */
export type Within = number | string

/** What boxlab adds to vitest's `expect`. */
export interface BoxMatchers<R = unknown> {
  /**
   * The boot reached a stage's end, or a mark. With `within`, the stage lasted no longer (or the mark came no later after
   * `start`); a time that was not measured is an error and never a pass.
   */
  toReach(stageOrMark: string, options?: { readonly within?: Within }): R
  /**
   * The console shows no panic, oops, BUG, WARNING, lockup, stall, OOM kill, segfault, emergency shell or ordering cycle.
   * Each entry of `allow` says why it is fine.
   */
  toHaveCleanConsole(options?: { readonly allow?: readonly AllowEntry[] }): R
  /**
   * No unit of the guest's systemd has failed, but for those of `allow`. Asks the guest, so it is awaited. A failed unit is
   * shown with its status and its last lines of the journal.
   */
  toHaveNoFailedUnits(options?: { readonly allow?: readonly string[] }): Promise<R>
}

declare module 'vitest' {
  interface Matchers<R, T> extends BoxMatchers<R> {}
}

function recordOf(received: unknown, matcher: string): string {
  const { record } = (received ?? {}) as Partial<Box>
  if (typeof record !== 'string') throw new TypeError(`\`${matcher}\` takes a box, and this is none`)
  return record
}

/** How long until a stage's end or a mark: a number, or why there is none. */
function reached(
  timeline: Timeline,
  name: string,
): { readonly ms: number; readonly what: string } | { readonly why: string } {
  const stage: StageResult | undefined = timeline.stages.find(({ id }) => id === name)
  if (stage?.state === 'reached') return { ms: stage.durationMs, what: `the stage \`${name}\` took` }
  const mark = timeline.marks.find((one) => one.mark === name)
  const start = timeline.marks.find((one) => one.mark === 'start')
  if (mark && !stage) {
    if (!start?.at.known) return { why: `the record has no \`start\` to measure \`${name}\` from` }
    if (!mark.at.known) return { why: `when \`${name}\` was is not known: ${mark.at.why}` }
    return { ms: mark.at.ms - start.at.ms, what: `the mark \`${name}\` came after` }
  }
  if (stage) return { why: `the stage \`${name}\` has no end: ${stage.why}` }
  const last = timeline.marks.at(-1)
  return { why: `the mark \`${name}\` was not reached; the last is \`${last?.mark ?? 'none'}\`` }
}

/** The matchers, for `expect.extend`; importing `@boxlab/harness/vitest` has done that. */
export const boxMatchers: {
  toReach(received: unknown, name: string, options?: { readonly within?: Within }): Answer
  toHaveCleanConsole(received: unknown, options?: { readonly allow?: readonly AllowEntry[] }): Answer
  toHaveNoFailedUnits(received: unknown, options?: { readonly allow?: readonly string[] }): Promise<Answer>
} = {
  toReach(received, name, { within } = {}) {
    const timeline = readTimeline(recordOf(received, 'toReach'))
    const bound = within === undefined ? undefined : durationMs(within, 'within')
    const found = reached(timeline, name)
    const host = `${timeline.box.accelerator.proved ?? 'accelerator not proved'}, n=1`
    if ('why' in found) {
      const stages = STAGES.map(({ id }) => id)
      const hint = timeline.marks.length === 0 ? `; stages are ${stages.join(', ')}` : ''
      return { pass: false, message: () => `${found.why}${hint}` }
    }
    const sentence = `${found.what} ${found.ms.toFixed(1)} ms (${host})`
    if (bound === undefined) return { pass: true, message: () => sentence }
    return { pass: found.ms <= bound, message: () => `${sentence}, and the bound is ${bound} ms` }
  },
  toHaveCleanConsole(received, { allow = [] } = {}) {
    const record = recordOf(received, 'toHaveCleanConsole')
    const { truncated = [] } = JSON.parse(readFileSync(join(record, 'boot.json'), 'utf8')) as { truncated?: string[] }
    const report = findConsoleProblems(readFileSync(join(record, 'console.bin')), allow)
    if (truncated.includes('console.bin')) {
      throw new Error(
        `the record was cut after ${report.bytes} bytes of the console, so nothing can be said of the rest: raise \`record.maxMib\``,
      )
    }
    if (report.bytes === 0) throw new Error('the console is empty: nothing was printed, so nothing can be said of it')
    const bad = report.findings.filter(({ allowedBy }) => !allowedBy)
    const unused = report.unusedAllow.map(({ message }) => `\n  note: ${message}`).join('')
    const lines = bad.map(({ kind, line, text }) => `\n  ${kind} at line ${line}: ${text}`).join('')
    const message =
      bad.length === 0
        ? `the console is clean in ${report.lines} lines`
        : `the console has ${bad.length} problem(s):${lines}`
    return { pass: bad.length === 0, message: () => message + unused }
  },
  async toHaveNoFailedUnits(received, { allow = [] } = {}) {
    if (!(received instanceof Box)) throw new TypeError('`toHaveNoFailedUnits` takes a box, and this is none')
    const { state, failed } = await received.systemd()
    const bad = failed.filter((unit) => !allow.includes(unit))
    const shown = await Promise.all(
      bad.map((unit) => received.exec(['systemctl', 'status', '--full', '-n', '20', unit])),
    )
    const statuses = shown.map(({ stdout }) => `\n\n${stdout.toString().trimEnd()}`).join('')
    const message =
      bad.length === 0
        ? `no unit failed that may not (systemd is ${state})`
        : `${bad.length === 1 ? 'a unit has' : `${bad.length} units have`} failed: ${bad.join(', ')}${statuses}`
    return { pass: bad.length === 0, message: () => message }
  },
}

expect.extend(boxMatchers)
