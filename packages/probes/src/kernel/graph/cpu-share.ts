import { roundNs } from './tree.ts'
import type { Trace } from './read-trace.ts'

/** How long tasks ran on CPUs, from the sched_switch events of a trace with times. */
export interface CpuShare {
  /** From the first event of a CPU to its last one, over the CPUs, us. */
  readonly windowUs: number
  readonly cpus: number
  /** Longest first; the idle tasks are `swapper/N`. */
  readonly tasks: readonly {
    readonly task: string
    readonly us: number
    /** Of the window, 0 to 1. */
    readonly share: number
  }[]
}

// TP_printk of sched_switch, include/trace/events/sched.h: a command may have blanks and `=` in it.
const PREVIOUS = /^sched_switch: prev_comm=(.{0,64}?) prev_pid=(\d{1,10}) /
const NEXT = / ==> next_comm=(.{0,64}?) next_pid=(\d{1,10}) /

/** Absent where the trace has no sched_switch events, or no times. */
export function cpuShare(traces: readonly Trace[]): CpuShare | undefined {
  const ran = new Map<string, number>()
  let windowUs = 0
  const cpus = new Set<number>()
  for (const { lines } of traces) {
    const running = new Map<number, { readonly task: string; readonly sinceUs: number }>()
    for (const { line } of lines) {
      if (line.kind === 'lost') running.delete(line.cpu)
      if (line.kind !== 'comment' || line.cpu === undefined || line.atUs === undefined) continue
      const [, leaves, leavesPid] = PREVIOUS.exec(line.text) ?? []
      const [, comes, comesPid] = NEXT.exec(line.text) ?? []
      if (leaves === undefined || comes === undefined) continue
      const was = running.get(line.cpu)
      const task = taskName(leaves, leavesPid)
      // What ran before the first event, and behind a loss, nobody says since when.
      if (was !== undefined && was.task === task && line.atUs >= was.sinceUs) {
        const us = line.atUs - was.sinceUs
        ran.set(task, (ran.get(task) ?? 0) + us)
        windowUs += us
        cpus.add(line.cpu)
      }
      running.set(line.cpu, { task: taskName(comes, comesPid), sinceUs: line.atUs })
    }
  }
  if (windowUs === 0) return undefined
  return {
    windowUs: roundNs(windowUs),
    cpus: cpus.size,
    tasks: [...ran]
      .map(([task, us]) => ({ task, us: roundNs(us), share: us / windowUs }))
      .toSorted((a, b) => b.us - a.us),
  }
}

function taskName(comm: string, pid: string | undefined): string {
  return pid === '0' ? comm : `${comm}-${pid}`
}
