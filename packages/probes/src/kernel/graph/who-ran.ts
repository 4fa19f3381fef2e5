import type { Task, Tasks } from './frames.ts'
import type { FunctionLine } from './line.ts'
import type { Trace } from './read-trace.ts'

/** Who ran on each CPU, line by line. */
export interface CurrentTasks {
  of(line: FunctionLine): Task
  /** False where the task that leaves is not the one that ran. */
  switchTo(cpu: number, left: string, right: string): boolean
  /** False where nothing tells which task a line belongs to. */
  readonly told: boolean
}

/** Reads the switch lines of a trace. */
export function currentTasks({ lines, columns }: Trace, tasks: Tasks): CurrentTasks {
  const first = new Map<number, string>()
  for (const { line } of lines) if (line.kind === 'switch' && !first.has(line.cpu)) first.set(line.cpu, line.left)
  const current = new Map([...first].map(([cpu, left]) => [cpu, tasks.named(left, cpu)]))
  // Without the CPU a line belongs to the one CPU whose switches are printed; of more than one nobody can say which.
  const [only] = first.size === 1 ? first.keys() : []
  return {
    told: columns.includes('task') || columns.includes('cpu') || first.size < 2,
    of({ task, cpu = columns.includes('cpu') ? undefined : only }) {
      if (task !== undefined) return tasks.named(task, cpu)
      return (cpu === undefined ? undefined : current.get(cpu)) ?? tasks.unnamed(cpu)
    },
    switchTo(cpu, left, right) {
      const agrees = current.get(cpu) === tasks.named(left, cpu)
      current.set(cpu, tasks.named(right, cpu))
      return agrees
    },
  }
}
