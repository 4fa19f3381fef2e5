import type { GraphReport } from './graph-report.ts'

/** An event of the Trace Event Format that Perfetto and chrome://tracing open: a complete one, times in us. */
export interface PerfettoEvent {
  readonly name: string
  readonly ph: 'X'
  readonly ts: number
  readonly dur: number
  readonly pid: number
  readonly tid: number | string
  readonly args: { readonly [name: string]: string | number | boolean }
}

/**
 * The spans as a file for Perfetto. Absent where the trace has no times (funcgraph-abstime): when a function was called is
 * then not known. One process; a thread is a task.
 */
export function graphPerfetto({
  spans,
}: GraphReport): { readonly displayTimeUnit: 'ms'; readonly traceEvents: readonly PerfettoEvent[] } | undefined {
  const traceEvents = spans.flatMap(
    ({ name, task, openedUs, durationUs, cpuOpen, cpuClose, migrated, depth, trace }): PerfettoEvent[] => {
      if (openedUs === undefined || durationUs === undefined) return []
      const args = {
        depth,
        ...(cpuOpen === undefined ? {} : { cpuOpen }),
        ...(cpuClose === undefined ? {} : { cpuClose }),
        ...(migrated === undefined ? {} : { migrated }),
      }
      return [{ name, ph: 'X', ts: openedUs, dur: durationUs, pid: trace ?? 1, tid: task ?? 'no name', args }]
    },
  )
  return traceEvents.length === 0 ? undefined : { displayTimeUnit: 'ms', traceEvents }
}
