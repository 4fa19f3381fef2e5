import { readdirSync, readFileSync } from 'node:fs'

/** What a process has used up to an instant. */
export interface ProcessCost {
  /** Processor time of its living threads, in milliseconds. */
  readonly cpuMs: number
  /** How long its threads were ready to run and had no processor, in milliseconds: the noise of the host. */
  readonly queuedMs: number
  /** How often its threads went to sleep and were woken. */
  readonly wakeups: number
}

/**
 * Reads what the living threads of a process have used: /proc/PID/task/TID/schedstat (Linux,
 * Documentation/scheduler/sched-stats.rst: time on the processor and on its queue, in nanoseconds) and the voluntary
 * context switches of status (proc(5)).
 */
export function processCost(pid: number): ProcessCost {
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) => threadCost(`/proc/${pid}/task/${thread}`))
  const sum = (pick: (cost: ProcessCost) => number): number => threads.reduce((total, one) => total + pick(one), 0)
  return { cpuMs: sum((one) => one.cpuMs), queuedMs: sum((one) => one.queuedMs), wakeups: sum((one) => one.wakeups) }
}

function threadCost(folder: string): ProcessCost {
  try {
    const [runNs = 0, queuedNs = 0] = readFileSync(`${folder}/schedstat`, 'latin1').split(' ').map(Number)
    const wakeups = /^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`${folder}/status`, 'latin1'))?.[1]
    return { cpuMs: runNs / 1e6, queuedMs: queuedNs / 1e6, wakeups: Number(wakeups ?? 0) }
  } catch {
    // The thread ended between the listing and the read.
    return { cpuMs: 0, queuedMs: 0, wakeups: 0 }
  }
}

/** Processor time of this process since `since`, in milliseconds. */
export function ownCpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1000
}
