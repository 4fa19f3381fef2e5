import { type Frame, type Task, trueTask } from './frames.ts'
import { MAX_DEPTH } from './line.ts'

/** A frame with its place in the stack of its task. */
export interface Placed {
  readonly frame: Frame
  readonly task: Task
  /** The frame around it. */
  readonly parent?: Placed
  /** Its time without that of the frames in it; absent where one of them has none, or there is no time at all. */
  selfUs?: number
  /** Not inside another call of the same function. */
  readonly outermost: boolean
}

/** A place in the tree of calls: a function under the functions that called it. */
export interface GraphNode {
  readonly name: string
  /** Whole frames here. */
  readonly calls: number
  /** The sum of their durations; absent where none has one. */
  readonly totalUs?: number
  /** Without what was called in them. */
  readonly selfUs?: number
  readonly migrated: number
  /** Frames without a return. */
  readonly open: number
  /** By time, longest first. */
  readonly children: readonly GraphNode[]
}

interface OpenPlace {
  readonly placed: Placed
  childUs: number
  childUnknown: boolean
}

/**
 * Puts each frame into the one around it. Frames come in the order of their calls; an interrupt's frames are inside the
 * function that they interrupt, also where a kernel (6.8) printed both at one depth.
 */
export function placeFrames(frames: readonly Frame[]): Placed[] {
  const stacks = new Map<Task, OpenPlace[]>()
  const active = new Map<Task, Map<string, number>>()
  const placed: Placed[] = []
  const done = (place: OpenPlace, names: Map<string, number>): void => {
    const { frame } = place.placed
    names.set(frame.name, (names.get(frame.name) ?? 1) - 1)
    if (frame.us === undefined || place.childUnknown) return
    const selfUs = selfOf(frame.us, place.childUs)
    if (selfUs !== undefined) place.placed.selfUs = selfUs
  }
  for (const frame of frames) {
    const task = trueTask(frame.task)
    const stack = stacks.get(task) ?? []
    stacks.set(task, stack)
    const names = active.get(task) ?? new Map<string, number>()
    active.set(task, names)
    for (
      let top = stack.at(-1);
      top !== undefined && (!holds(top.placed.frame, frame) || stack.length > MAX_DEPTH);
      top = stack.at(-1)
    ) {
      stack.pop()
      done(top, names)
    }
    const around = stack.at(-1)
    const place: OpenPlace = {
      placed: {
        frame,
        task,
        ...(around ? { parent: around.placed } : {}),
        outermost: (names.get(frame.name) ?? 0) === 0,
      },
      childUs: 0,
      childUnknown: false,
    }
    placed.push(place.placed)
    if (around) {
      if (frame.us === undefined) around.childUnknown = true
      else around.childUs += frame.us
    }
    stack.push(place)
    names.set(frame.name, (names.get(frame.name) ?? 0) + 1)
  }
  for (const [task, stack] of stacks) for (const place of stack) done(place, active.get(task) ?? new Map())
  return placed
}

function holds(outer: Frame, inner: Frame): boolean {
  if (outer.closeAt !== undefined) return outer.closeAt > (inner.closeAt ?? inner.openAt)
  return outer.depth < inner.depth
}

/** Durations have seven digits: what rounding takes below nothing is nothing. More than that is not explained: absent. */
function selfOf(us: number, childUs: number): number | undefined {
  const self = us - childUs
  if (self >= 0) return roundNs(self)
  return self > -Math.max(0.01, us * 1e-5) ? 0 : undefined
}

/** To whole ns, so that sums do not show the arithmetic. */
export function roundNs(us: number): number {
  return Math.round(us * 1000) / 1000
}

interface Growing {
  readonly name: string
  calls: number
  totalUs?: number
  selfUs?: number
  migrated: number
  open: number
  readonly children: Map<string, Growing>
}

/** The tree of calls over all tasks: roots are the functions that no other one of the trace called. */
export function callTree(placed: readonly Placed[]): readonly GraphNode[] {
  const roots = new Map<string, Growing>()
  const nodes = new Map<Placed, Growing>()
  for (const one of placed) {
    const { frame, parent, selfUs } = one
    const among = (parent && nodes.get(parent)?.children) ?? roots
    const node: Growing = among.get(frame.name) ?? {
      name: frame.name,
      calls: 0,
      migrated: 0,
      open: 0,
      children: new Map(),
    }
    among.set(frame.name, node)
    nodes.set(one, node)
    if (frame.closeAt === undefined) node.open += 1
    else node.calls += 1
    if (frame.us !== undefined) node.totalUs = roundNs((node.totalUs ?? 0) + frame.us)
    if (selfUs !== undefined) node.selfUs = roundNs((node.selfUs ?? 0) + selfUs)
    if (hasMigrated(frame)) node.migrated += 1
  }
  return finished(roots)
}

/** Closed on another CPU than it opened on. */
export function hasMigrated({ cpuOpen, cpuClose }: Frame): boolean {
  return cpuOpen !== undefined && cpuClose !== undefined && cpuOpen !== cpuClose
}

function finished(nodes: ReadonlyMap<string, Growing>): GraphNode[] {
  return [...nodes.values()]
    .map(({ children, ...node }) => ({ ...node, children: finished(children) }))
    .toSorted((a, b) => (b.totalUs ?? 0) - (a.totalUs ?? 0))
}

/** A function over the whole trace. */
export interface GraphFunction {
  readonly name: string
  /** Whole frames. */
  readonly calls: number
  /** Time in it, calls inside itself not counted twice; absent where no frame has a duration. */
  readonly totalUs?: number
  /** Time in it and in nothing that it called, as far as the trace shows what it called. */
  readonly selfUs?: number
  readonly longestUs?: number
  readonly migrated: number
}

/** Functions by time, longest first. */
export function byFunction(placed: readonly Placed[]): readonly GraphFunction[] {
  const functions = new Map<string, { -readonly [key in keyof GraphFunction]: GraphFunction[key] }>()
  for (const { frame, selfUs, outermost } of placed) {
    if (frame.closeAt === undefined) continue
    const one = functions.get(frame.name) ?? { name: frame.name, calls: 0, migrated: 0 }
    functions.set(frame.name, one)
    one.calls += 1
    if (hasMigrated(frame)) one.migrated += 1
    if (selfUs !== undefined) one.selfUs = roundNs((one.selfUs ?? 0) + selfUs)
    if (frame.us === undefined) continue
    if (outermost) one.totalUs = roundNs((one.totalUs ?? 0) + frame.us)
    one.longestUs = Math.max(one.longestUs ?? 0, frame.us)
  }
  return [...functions.values()].toSorted((a, b) => (b.totalUs ?? 0) - (a.totalUs ?? 0) || (a.name < b.name ? -1 : 1))
}
