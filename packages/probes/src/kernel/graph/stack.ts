import type { Frame, Task } from './frames.ts'

/** How far down a stack, or along the nameless tasks, a search goes: no text may make it slow. */
export const FARTHEST = 64

/** The last open of that depth and name. What opened at its depth after it has no close that is still to come. */
export function takeOwn(task: Task, depth: number, name: string | undefined): Frame | undefined {
  const stack = task.open[depth]
  if (stack === undefined) return undefined
  const end = Math.max(0, stack.length - FARTHEST)
  for (let index = stack.length - 1; index >= end; index -= 1) {
    const frame = stack[index]
    if (frame === undefined || (name !== undefined && frame.name !== name)) continue
    for (const later of stack.splice(index).slice(1)) later.abandoned = true
    return frame
  }
  return undefined
}

/** A task that called something no deeper than the frame since then is not in the frame. */
export function wasElsewhere({ lastAt }: Task, { depth, openAt }: Frame): boolean {
  for (let at = 0; at <= depth; at += 1) if ((lastAt[at] ?? -1) > openAt) return true
  return false
}

/** Called, and neither returned nor given up. */
export function isOpen(frame: Frame | undefined): boolean {
  return frame !== undefined && frame.closeAt === undefined && frame.abandoned === undefined
}

/** Makes two tasks one. Of a CPU without a switch line the kernel printed one task only, so all of its lines are meant. */
export function unite(a: Task, b: Task): Task {
  const [whole, part] = a.label === undefined ? [b, a] : [a, b]
  part.is = whole
  part.open.forEach((stack, depth) => {
    const mine = whole.open[depth]
    const first = stack[0]
    if (first === undefined) return
    if (mine === undefined || mine.length === 0) whole.open[depth] = stack
    else whole.open[depth] = [...mine, ...stack].toSorted((one, two) => one.openAt - two.openAt)
  })
  part.lastAt.forEach((at, depth) => {
    whole.lastAt[depth] = Math.max(whole.lastAt[depth] ?? -1, at)
  })
  part.open = []
  return whole
}

/** The function around them has returned: their closes were lost. */
export function abandonFrom(task: Task, depth: number): void {
  for (let at = depth; at < task.open.length; at += 1) {
    for (const frame of task.open[at] ?? []) frame.abandoned = true
  }
  if (task.open.length > depth) task.open.length = depth
}
