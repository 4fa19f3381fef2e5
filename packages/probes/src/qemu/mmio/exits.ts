import { EXIT_IO, EXIT_MMIO, exitName, type IoEventFd } from '../trace/kvm-events.ts'
import type { QueueNotifies, RunExits } from './report.ts'

/** Counts what KVM and virtio say of themselves. */
export interface ExitCounter {
  exit(reason: number, phase: number): void
  ioeventfd(space: 'pio' | 'mmio', event: IoEventFd & { readonly value: string }): void
  notify(vdev: string, queue: number): void
  exits():
    | { readonly total: number; readonly byPhase: readonly number[]; readonly byReason: RunExits['byReason'] }
    | undefined
  /** How many addresses were ever taken over by the kernel, by space; `undefined` where none was. */
  ioeventfds(): { readonly pio: number; readonly mmio: number } | undefined
  notifies(): readonly QueueNotifies[]
}

const MAX_KEYS = 4096

/** Makes an {@link ExitCounter}. */
export function countExits(): ExitCounter {
  const reasons = new Map<number, number>()
  const byPhase: number[] = []
  const assigned = { pio: new Set<string>(), mmio: new Set<string>() }
  const queues = new Map<string, { vdev: string; queue: number; count: number }>()
  let total = 0
  let assignments = 0
  return {
    exit(reason, phase) {
      total += 1
      if (reasons.has(reason) || reasons.size < MAX_KEYS) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
      byPhase[phase] = (byPhase[phase] ?? 0) + 1
    },
    ioeventfd(space, { address, value, assign }) {
      if (!assign) return
      assignments += 1
      if (assigned[space].size < MAX_KEYS) assigned[space].add(`${address} ${value}`)
    },
    notify(vdev, queue) {
      const key = `${vdev} ${queue}`
      const entry = queues.get(key)
      if (entry !== undefined) entry.count += 1
      else if (queues.size < MAX_KEYS) queues.set(key, { vdev, queue, count: 1 })
    },
    exits() {
      if (total === 0) return undefined
      const byReason = [...reasons]
        .toSorted(([, a], [, b]) => b - a)
        .map(([reason, count]) => {
          const name = exitName(reason)
          return { reason, ...(name !== undefined && { name }), count }
        })
      return { total, byPhase, byReason }
    },
    ioeventfds: () => (assignments === 0 ? undefined : { pio: assigned.pio.size, mmio: assigned.mmio.size }),
    notifies: () => [...queues.values()].toSorted((a, b) => b.count - a.count),
  }
}

/** The exits beside the accesses that vCPUs made, where those were traced. */
export function runExits(
  { total, byReason }: { readonly total: number; readonly byReason: RunExits['byReason'] },
  accesses: { readonly pio: number; readonly mmio: number } | undefined,
): RunExits {
  const of = (wanted: number): number => byReason.find(({ reason }) => reason === wanted)?.count ?? 0
  return {
    total,
    byReason,
    io: { exits: of(EXIT_IO), ...(accesses && { accesses: accesses.pio }) },
    mmio: { exits: of(EXIT_MMIO), ...(accesses && { accesses: accesses.mmio }) },
  }
}
