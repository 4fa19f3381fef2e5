import { type Frame, makeTasks, type Task, trueTask, type UnopenedFrame } from './frames.ts'
import type { FunctionLine } from './line.ts'
import type { Trace } from './read-trace.ts'
import { abandonFrom, FARTHEST, isOpen, takeOwn, unite, wasElsewhere } from './stack.ts'
import { currentTasks } from './who-ran.ts'

/** The frames of one trace, in the order of their calls, and how sure the pairing is. */
export interface Pairing {
  readonly trace: Trace
  readonly frames: readonly Frame[]
  readonly unopened: readonly UnopenedFrame[]
  /** With tracing_thresh there are only returns, and each is a whole frame. */
  readonly threshold: boolean
  readonly counts: PairingCounts
}

/** What was counted on the way. */
export interface PairingCounts {
  opens: number
  leaves: number
  closes: number
  namedCloses: number
  comments: number
  switches: number
  /** Sum of the counts of LOST lines. */
  lost: number
  lossMarks: number
  overruns: number
  overrunsMost: number
  /** Pairs of a close with an open under a task without a name. */
  overUnnamedTask: number
  /** Closes of which more than one nameless task could be the owner; they are left unopened. */
  ambiguous: number
  /** Switch lines whose left task is not the one that ran. */
  switchesAgainst: number
  /** Closes and opens that cannot be told apart, since neither the CPU nor the task is printed. */
  notTold: number
}

/**
 * Pairs opens with closes by task, then depth, then name. A function that began on one CPU and ended on another is one
 * frame. Which task a line belongs to: its task column; else what the last `=>` line of its CPU says; before the first one,
 * the left name there; on a CPU without any, one task without a name, which may turn out to be one that is known.
 */
export function pairFrames(trace: Trace): Pairing {
  const tasks = makeTasks()
  const { lines, format } = trace
  const frames: Frame[] = []
  const unopened: UnopenedFrame[] = []
  const counts: PairingCounts = {
    opens: 0,
    leaves: 0,
    closes: 0,
    namedCloses: 0,
    comments: 0,
    switches: 0,
    lost: 0,
    lossMarks: 0,
    overruns: 0,
    overrunsMost: 0,
    overUnnamedTask: 0,
    ambiguous: 0,
    switchesAgainst: 0,
    notTold: 0,
  }
  const runs = currentTasks(trace, tasks)
  // The kernel prints a close without a name where the function is the last one that opened at that depth on that CPU
  // (enter_funcs in print_graph_return): the name is told by that.
  const entered = new Map<number, (string | undefined)[]>()
  const lastLoss = new Map<number, number>()
  const openByName = new Map<string, Frame[]>()
  const tellsTasks = runs.told
  const namesAll = trace.columns.includes('task')
  let rising = false
  const lastClose = new Map<Task, number>()

  lines.forEach(({ line, number }, at) => {
    switch (line.kind) {
      case 'switch':
        counts.switches += 1
        if (!runs.switchTo(line.cpu, line.left, line.right)) counts.switchesAgainst += 1
        break
      case 'lost':
        counts.lossMarks += 1
        counts.lost += line.events ?? 0
        lastLoss.set(line.cpu, at)
        break
      case 'overruns':
        counts.overruns += 1
        counts.overrunsMost = Math.max(counts.overrunsMost, line.overruns)
        break
      case 'comment':
        counts.comments += 1
        break
      case 'damage':
        entered.clear()
        break
      default:
        take(line, at, number)
    }
  })

  function take(line: FunctionLine, at: number, number: number): void {
    const names = enteredOn(line.cpu)
    if (line.kind === 'close') {
      counts.closes += 1
      if (line.name !== undefined) counts.namedCloses += 1
    } else counts[line.kind === 'leaf' ? 'leaves' : 'opens'] += 1
    const printed = line.name ?? names?.[line.depth]
    if (names) names[line.depth] = line.kind === 'open' ? line.name : undefined
    if (!tellsTasks && line.kind !== 'leaf') {
      counts.notTold += 1
      if (line.kind === 'close') unopened.push(unopenedOf(line, printed, tasks.unnamed(undefined), number))
      else frames.push(frameOf(line, tasks.unnamed(undefined), at))
      return
    }
    const task = trueTask(runs.of(line))
    if (line.kind === 'close') {
      rising ||= line.depth >= (lastClose.get(task) ?? Infinity)
      lastClose.set(task, line.depth)
      close(line, printed, task, at, number)
    } else open(line, task, at)
    const now = trueTask(task)
    now.lastAt[line.depth] = at
  }

  function enteredOn(cpu: number | undefined): (string | undefined)[] | undefined {
    if (cpu === undefined || format === 'trace-cmd') return undefined
    const known = entered.get(cpu)
    if (known !== undefined) return known
    const fresh: (string | undefined)[] = []
    entered.set(cpu, fresh)
    return fresh
  }

  function open(line: FunctionLine, task: Task, at: number): void {
    const frame = frameOf(line, runs.of(line), at)
    frames.push(frame)
    if (line.kind === 'leaf') return
    const stack = (task.open[line.depth] ??= [])
    stack.push(frame)
    if (namesAll) return
    const key = keyOf(frame.depth, frame.name)
    const same = openByName.get(key)
    if (same === undefined) openByName.set(key, [frame])
    else same.push(frame)
  }

  function close(line: FunctionLine, name: string | undefined, task: Task, at: number, number: number): void {
    const frame = takeOwn(task, line.depth, name) ?? takeOther(task, line.depth, name)
    if (frame === undefined) {
      unopened.push(unopenedOf(line, name, task, number))
      abandonFrom(trueTask(task), line.depth)
      return
    }
    abandonFrom(trueTask(task), line.depth + 1)
    frame.closeAt = at
    const own = runs.of(line)
    if (own !== frame.task && (own.label === undefined || frame.task.label === undefined)) counts.overUnnamedTask += 1
    if (line.cpu !== undefined) frame.cpuClose = line.cpu
    if (line.us !== undefined) frame.us = line.us
    if (line.returned !== undefined) frame.returned = line.returned
    if (line.name === undefined) frame.closedUnnamed = true
    const lossAt = Math.max(lastLoss.get(frame.cpuOpen ?? -1) ?? -1, lastLoss.get(line.cpu ?? -1) ?? -1)
    if (lossAt > frame.openAt) frame.overLoss = true
  }

  /** Its open stands under a task without a name (or its own task has none): that is the same task then. */
  function takeOther(task: Task, depth: number, name: string | undefined): Frame | undefined {
    if (name === undefined) return undefined
    const same = openByName.get(keyOf(depth, name))
    if (same === undefined) return undefined
    while (same.length > 0 && !isOpen(same.at(-1))) same.pop()
    let found: Frame | undefined
    for (const frame of same.slice(-FARTHEST)) {
      if (!isOpen(frame)) continue
      const other = trueTask(frame.task)
      if (other === task || (other.label !== undefined && task.label !== undefined)) continue
      if (wasElsewhere(task, frame) || wasElsewhere(other, frame)) continue
      if (found !== undefined) {
        counts.ambiguous += 1
        return undefined
      }
      found = frame
    }
    if (found === undefined) return undefined
    const whole = unite(task, trueTask(found.task))
    return takeOwn(whole, depth, name)
  }

  return { trace, frames, unopened, threshold: isThreshold(counts, rising), counts }
}

function keyOf(depth: number, name: string): string {
  return `${depth} ${name}`
}

/** Returns only, all named, and not just those of one stack that unwinds. */
function isThreshold({ opens, leaves, closes, namedCloses }: PairingCounts, rising: boolean): boolean {
  return opens + leaves === 0 && closes > 0 && closes === namedCloses && rising
}

function frameOf(line: FunctionLine, task: Task, at: number): Frame {
  const { name = '', depth, cpu, us, atUs, returned, caller, args } = line
  const leaf = line.kind === 'leaf'
  return {
    name,
    depth,
    leaf,
    task,
    openAt: at,
    ...(cpu === undefined ? {} : { cpuOpen: cpu }),
    ...(atUs === undefined ? {} : { openedUs: atUs }),
    ...(caller === undefined ? {} : { caller }),
    ...(args === undefined ? {} : { args }),
    ...(leaf && us !== undefined ? { us } : {}),
    ...(leaf ? { closeAt: at, ...(cpu === undefined ? {} : { cpuClose: cpu }) } : {}),
    ...(returned === undefined ? {} : { returned }),
  }
}

function unopenedOf(line: FunctionLine, name: string | undefined, task: Task, number: number): UnopenedFrame {
  const { depth, cpu, us, atUs } = line
  return {
    ...(name === undefined ? {} : { name }),
    depth,
    task,
    ...(cpu === undefined ? {} : { cpu }),
    ...(us === undefined ? {} : { us }),
    ...(atUs === undefined ? {} : { atUs }),
    line: number,
  }
}
