import { pidOf } from './columns.ts'

/** A task as a trace tells it: by its pid, as the idle task of a CPU, or as the one nameless task that ran on a CPU. */
export interface Task {
  /** As it is printed, such as `busybox-131`; absent of a task whose name the trace does not say. */
  label?: string
  /** Open frames by depth, in the order of their opening. */
  open: Frame[][]
  /** Of each depth, the index of the last line there. */
  readonly lastAt: number[]
  /** The task that this one turned out to be. */
  is?: Task
}

/** A function from its call to its return. */
export interface Frame {
  readonly name: string
  readonly depth: number
  readonly leaf: boolean
  readonly task: Task
  /** Where its line stands among those of the trace. */
  readonly openAt: number
  /** Absent while it is open. */
  closeAt?: number
  /** Its close was lost: the function around it has returned. */
  abandoned?: true
  readonly cpuOpen?: number
  cpuClose?: number
  us?: number
  readonly openedUs?: number
  returned?: string
  readonly caller?: string
  readonly args?: string
  /** Events of one of its CPUs were lost between its lines: the open may be of an earlier call. */
  overLoss?: true
  /** The close had no name. */
  closedUnnamed?: true
}

/** A return whose call is not in the trace. */
export interface UnopenedFrame {
  readonly name?: string
  readonly depth: number
  readonly task: Task
  readonly cpu?: number
  readonly us?: number
  readonly atUs?: number
  readonly line: number
}

/** The task that `task` is, after all that was found out. */
export function trueTask(task: Task): Task {
  let at = task
  while (at.is !== undefined) {
    // Halve the way for the next one who asks.
    if (at.is.is !== undefined) at.is = at.is.is
    at = at.is
  }
  return at
}

/** The tasks of one trace. */
export interface Tasks {
  /** By what a task column or a switch line says. */
  named(label: string, cpu: number | undefined): Task
  /** The task of a CPU of which nothing says who it is. */
  unnamed(cpu: number | undefined): Task
}

/** Makes a register of tasks. */
export function makeTasks(): Tasks {
  const tasks = new Map<string, Task>()

  function of(key: string, label: string | undefined): Task {
    const known = tasks.get(key)
    if (known !== undefined) {
      // The kernel may learn a pid's command while the trace is read.
      if (label !== undefined && known.label?.startsWith('<...>-')) known.label = label
      return known
    }
    const fresh: Task = { ...(label === undefined ? {} : { label }), open: [], lastAt: [] }
    tasks.set(key, fresh)
    return fresh
  }

  return {
    named(label, cpu) {
      // By pid, since execve() changes the name; pid 0 is the idle task, one for each CPU.
      const pid = pidOf(label)
      return of(pid === 0 || pid === undefined ? `idle ${cpu ?? ''}` : `pid ${pid}`, label)
    },
    unnamed: (cpu) => of(`unnamed ${cpu ?? ''}`, undefined),
  }
}
