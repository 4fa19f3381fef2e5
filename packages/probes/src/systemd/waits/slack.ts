import type { Episode } from './episode.ts'
import { type BootGraph, predecessorsOf } from './predecessors.ts'

/** How much later a unit could have ended without moving the target. */
export interface Slack {
  readonly unit: string
  readonly slackUs: number
}

/**
 * The slack of every unit that the target waited for, directly or through others, least first; units on the path have
 * none. The model: a unit is run as long after its last predecessor as it was in this boot. A unit that is not in the list
 * does not hold the target at all.
 */
export function slackTo(graph: BootGraph, target: Episode): readonly Slack[] {
  const slacks = new Map<string, number>()
  const least = new Map<string, number>()
  const queue = shortestFirst()
  queue.push(target, 0)
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const { episode, slackUs } = next
    const { id } = episode.unit
    if (slacks.has(id)) continue
    slacks.set(id, slackUs)
    const predecessors = predecessorsOf(graph, episode)
    const lastEndUs = predecessors.reduce((last, { endUs }) => Math.max(last, endUs), 0)
    for (const predecessor of predecessors) {
      const throughUs = slackUs + lastEndUs - predecessor.endUs
      if (throughUs >= (least.get(predecessor.unit.id) ?? Number.POSITIVE_INFINITY)) continue
      least.set(predecessor.unit.id, throughUs)
      queue.push(predecessor, throughUs)
    }
  }
  return [...slacks]
    .map(([unit, slackUs]) => ({ unit, slackUs }))
    .toSorted((a, b) => a.slackUs - b.slackUs || (a.unit < b.unit ? -1 : 1))
}

interface Entry {
  readonly episode: Episode
  readonly slackUs: number
}

/** A binary heap by slack. */
function shortestFirst(): { push(episode: Episode, slackUs: number): void; pop(): Entry | undefined } {
  const heap: Entry[] = []
  const at = (index: number): number => heap[index]?.slackUs ?? Number.POSITIVE_INFINITY
  function swap(one: number, other: number): void {
    const [a, b] = [heap[one], heap[other]]
    if (a !== undefined && b !== undefined) [heap[one], heap[other]] = [b, a]
  }
  return {
    push(episode, slackUs) {
      let index = heap.push({ episode, slackUs }) - 1
      for (let parent = (index - 1) >> 1; index > 0 && at(index) < at(parent); parent = (index - 1) >> 1) {
        swap(index, parent)
        index = parent
      }
    },
    pop() {
      swap(0, heap.length - 1)
      const least = heap.pop()
      for (let index = 0; ;) {
        const child = at(2 * index + 1) <= at(2 * index + 2) ? 2 * index + 1 : 2 * index + 2
        if (at(child) >= at(index)) return least
        swap(index, child)
        index = child
      }
    },
  }
}
