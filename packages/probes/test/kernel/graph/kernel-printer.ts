/** What a guest did: on `cpu`, `pid` called a function, or returned from its innermost one. */
export interface Step {
  readonly cpu: number
  readonly pid: number
  /** The function that is called; absent: the innermost one returns. */
  readonly call?: string
}

/** A call from its beginning to its end; `us` is different for each of them. */
export interface TrueSpan {
  readonly name: string
  readonly pid: number
  readonly depth: number
  readonly cpuOpen: number
  readonly cpuClose: number
  readonly us: number
}

interface Event extends Step {
  readonly kind: 'call' | 'return'
  readonly name: string
  readonly depth: number
  readonly us: number
  /** Of a return, the place of its call among the events. */
  readonly callAt?: number
}

/** What the kernel records of the steps, and the spans that it is told by them. */
export function record(steps: readonly Step[]): {
  readonly events: readonly Event[]
  readonly spans: readonly TrueSpan[]
} {
  const stacks = new Map<number, { readonly name: string; readonly cpu: number; readonly at: number }[]>()
  const events: Event[] = []
  const spans: TrueSpan[] = []
  for (const step of steps) {
    const { cpu, pid, call } = step
    const stack = stacks.get(pid) ?? []
    stacks.set(pid, stack)
    if (call !== undefined) {
      events.push({ ...step, kind: 'call', name: call, depth: stack.length, us: 0 })
      stack.push({ name: call, cpu, at: events.length - 1 })
      continue
    }
    const frame = stack.pop()
    if (frame === undefined) continue
    const us = events.length + 1
    events.push({ ...step, kind: 'return', name: frame.name, depth: stack.length, us, callAt: frame.at })
    spans.push({ name: frame.name, pid, depth: stack.length, cpuOpen: frame.cpu, cpuClose: cpu, us })
  }
  return { events, spans }
}

/** A task as function_graph prints it. */
export function taskName(pid: number): string {
  return pid <= 0 ? '<idle>-0' : `task-${pid}`
}

/**
 * False where the kernel itself prints what did not happen: a call on a CPU and a later call's return there, of one task and
 * one function with nothing between them on that CPU, come out as one leaf (get_return_for_leaf). No reader can undo that.
 */
export function isPrintedTrue(events: readonly Event[]): boolean {
  const last = new Map<number, number>()
  return events.every(({ cpu, pid, kind, name, callAt }, at) => {
    const beforeAt = last.get(cpu)
    last.set(cpu, at)
    const before = beforeAt === undefined ? undefined : events[beforeAt]
    const leaf = kind === 'return' && before?.kind === 'call' && before.pid === pid && before.name === name
    return !leaf || beforeAt === callAt
  })
}

/**
 * The text that print_graph_function makes of the events (kernel/trace/trace_functions_graph.c): a call whose return comes
 * next on its CPU is a leaf, a switch block comes where the pid of a CPU changes, and a close has a name where its function
 * is not the last one that was entered at that depth on that CPU.
 */
export function print(events: readonly Event[], { proc = false }: { readonly proc?: boolean } = {}): string {
  const text: string[] = []
  const lastPid = new Map<number, number>()
  const entered = new Map<string, string>()
  const nextOnCpu = new Map<number, number>()
  const next = Array.from<number | undefined>({ length: events.length })
  for (let at = events.length - 1; at >= 0; at -= 1) {
    const { cpu } = events[at] as Event
    next[at] = nextOnCpu.get(cpu)
    nextOnCpu.set(cpu, at)
  }
  const printed = new Set<number>()
  events.forEach((event, at) => {
    if (printed.has(at)) return
    const { cpu, pid, kind, name, depth, us } = event
    const before = lastPid.get(cpu)
    const dashes = ' ------------------------------------------\n'
    if (before !== undefined && before !== pid) {
      text.push(`${dashes} ${cpu})  ${taskName(before)}   =>  ${taskName(pid)}  \n${dashes}\n`)
    }
    lastPid.set(cpu, pid)
    const place = `${cpu} ${depth}`
    const prologue = ` ${cpu}) ${proc ? ` ${taskName(pid)}   | ` : ''}`
    const indent = '  '.repeat(depth)
    const time = (took: number): string => `  ${`${took}.000`.slice(0, 7)} us `.padEnd(14)
    if (kind === 'return') {
      const note = entered.get(place) === name ? '' : ` /* ${name} */`
      entered.delete(place)
      text.push(`${prologue}${time(us)}|  ${indent}}${note}\n`)
      return
    }
    const nextAt = next[at]
    const after = nextAt === undefined ? undefined : events[nextAt]
    if (nextAt !== undefined && after?.kind === 'return' && after.pid === pid && after.name === name) {
      printed.add(nextAt)
      entered.delete(place)
      text.push(`${prologue}${time(after.us)}|  ${indent}${name}();\n`)
    } else {
      entered.set(place, name)
      text.push(`${prologue}${' '.repeat(14)}|  ${indent}${name}() {\n`)
    }
  })
  return text.join('')
}
