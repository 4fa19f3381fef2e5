import type { BoxErrorDetails, MarkLine } from '@boxlab/native'
import { type BootKind, includesKind, type StageDefinition, STAGES } from '@boxlab/probes'

/** How far a boot came, as the details of an error have it. */
export type Reached = Pick<BoxErrorDetails, 'stage' | 'stageMs' | 'lastMark' | 'sinceMs' | 'lastMarks' | 'failedMs'>

/** Marks of an error's message: the whole way is in the record. */
const shownMarks = 6
// They tell of the end, not of how far the boot came.
const aftermath = new Set(['engine-exit', 'guest-panic', 'guest-reset', 'guest-shutdown', 'stop-begin'])
const msPerNs = 1e-6

/** How far it came until `failedNs`, on the host's clock. Marks of the guest's clock have no place there yet. */
export function reachedBy(marks: readonly MarkLine[], failedNs: number, kind: BootKind | undefined): Reached {
  const times = new Map<string, number>()
  for (const { mark, clock, atNs } of marks) {
    if (clock === 'host' && atNs <= failedNs && !times.has(mark)) times.set(mark, atNs)
  }
  const startNs = times.get('start')
  const inOrder = [...times].toSorted(([, one], [, other]) => one - other)
  const last = inOrder.findLast(([mark]) => !aftermath.has(mark))
  const stage = openStage(times, kind)
  return {
    ...(stage && { stage: stage.id, stageMs: (failedNs - stage.fromNs) * msPerNs }),
    ...(last && { lastMark: last[0], sinceMs: (failedNs - last[1]) * msPerNs }),
    ...(startNs !== undefined && {
      failedMs: (failedNs - startNs) * msPerNs,
      lastMarks: inOrder.slice(-shownMarks).map(([mark, atNs]) => ({ mark, atMs: (atNs - startNs) * msPerNs })),
    }),
  }
}

/** The stage that began last and has not ended. `ready` spans the whole boot, so it is never where one failed. */
function openStage(
  times: ReadonlyMap<string, number>,
  kind: BootKind | undefined,
): { readonly id: string; readonly fromNs: number } | undefined {
  let open: { id: string; fromNs: number } | undefined
  for (const [index, stage] of STAGES.entries()) {
    const fromNs = times.get(stage.from)
    if (fromNs === undefined || stage.id === 'ready' || stage.onRequest || !includesKind(stage.boots, kind)) continue
    if (hasEnded(stage, index, times)) continue
    if (open === undefined || fromNs > open.fromNs) open = { id: stage.id, fromNs }
  }
  return open
}

/** By its own end, or by what can only come after it: a quiet console never shows some marks. */
function hasEnded(stage: StageDefinition, index: number, times: ReadonlyMap<string, number>): boolean {
  if (times.has(stage.to)) return true
  const agent = ['agent-up', 'agent-ready'].some((mark) => times.has(mark))
  if (agent && index <= STAGES.findIndex(({ id }) => id === 'kernel')) return true
  if (stage.elseTo !== undefined && times.has(stage.elseTo.mark) && !times.has('switch-root')) return true
  return STAGES.slice(index + 1).some((later) => !later.parallel && times.has(later.from))
}
