import type { Machine, MarkLine } from '@boxlab/native'

/**
 * What is known of a box in numbers, in BoxLite's words. Each is measured; one that this boot does not have is absent,
 * never zero. Milliseconds are of the host's monotonic clock.
 */
export interface BoxMetrics {
  /** From the call of `bootBox` to ready. */
  readonly totalCreateDurationMs?: number
  readonly stageFilesystemSetupMs?: number
  readonly stageImagePrepareMs?: number
  readonly stageGuestRootfsMs?: number
  readonly stageBoxConfigMs?: number
  /** From before the fork of the engine to its first QMP reply. */
  readonly stageBoxSpawnMs?: number
  /** From the start of the virtual CPUs to the agent's first instruction, as it came out of the console. */
  readonly guestBootDurationMs?: number
  /** From the agent's first instruction to the image's own process, with `run: 'entrypoint'`. */
  readonly stageContainerInitMs?: number
  /** Processor time of the engine's process over wall time, in percent of one CPU; absent when none runs. */
  readonly cpuPercent?: number
  /** Resident memory of the engine's process; absent when none runs. */
  readonly memoryBytes?: number
  readonly commandsExecutedTotal: number
  readonly execErrorsTotal: number
}

const stages = {
  totalCreateDurationMs: ['start', 'ready'],
  stageFilesystemSetupMs: ['start', 'folder-ready'],
  stageImagePrepareMs: ['image-begin', 'image-ready'],
  stageGuestRootfsMs: ['rootfs-begin', 'rootfs-ready'],
  stageBoxConfigMs: ['plan-begin', 'plan-ready'],
  stageBoxSpawnMs: ['spawn', 'qmp-ready'],
  guestBootDurationMs: ['vm-start', 'agent-up'],
  stageContainerInitMs: ['agent-up', 'process-ready'],
} as const

function span(marks: readonly MarkLine[], from: string, to: string): number | undefined {
  const at = (id: string): number | undefined => marks.find((line) => line.mark === id && line.clock === 'host')?.atNs
  const [begin, end] = [at(from), at(to)]
  return begin === undefined || end === undefined ? undefined : (end - begin) / 1e6
}

/** Reads a box's metrics. Looks only: it boots and changes nothing, and works after a failed boot too. */
export function boxMetrics(machine: Machine): BoxMetrics {
  const marks = machine.marks()
  const spans = Object.entries(stages).map(([name, [from, to]]) => [name, span(marks, from, to)] as const)
  const usage = machine.usage()
  const { executed, errors } = machine.commands()
  return {
    ...Object.fromEntries(spans.filter(([, value]) => value !== undefined)),
    ...(usage && { cpuPercent: usage.cpuPercent, memoryBytes: usage.memoryBytes }),
    commandsExecutedTotal: executed,
    execErrorsTotal: errors,
  }
}

/** Sums up /proc/net/dev (proc(5)), without the loopback. */
export function networkBytes(text: string): { readonly sent: number; readonly received: number } {
  let [sent, received] = [0, 0]
  for (const line of text.split('\n').slice(2)) {
    const [name, numbers = ''] = line.split(':')
    const counts = numbers.trim().split(/\s+/).map(Number)
    if (name?.trim() === 'lo' || counts.length < 16) continue
    // Receive: bytes, packets, errs, drop, fifo, frame, compressed, multicast; then transmit: bytes, …
    received += counts[0] ?? 0
    sent += counts[8] ?? 0
  }
  return { sent, received }
}
