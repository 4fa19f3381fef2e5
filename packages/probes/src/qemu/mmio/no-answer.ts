import type { TraceFacts } from '../trace/tokenize.ts'
import type { MmioDiagnostics, NoMmio } from './report.ts'

const LOSSES: ReadonlySet<string> = new Set(['unparsed', 'malformed', 'torn-tail', 'line-too-long'])

/** What the reader had to go on. */
export function diagnosticsOf({ lines, diagnostics }: TraceFacts): MmioDiagnostics {
  const lost = diagnostics.filter(({ name }) => LOSSES.has(name))
  return { lines, unparsed: lost.reduce((sum, { count }) => sum + count, 0), problems: diagnostics }
}

/** True for a file of the simple backend (trace/simple.c): eight bytes of ones, then its magic number. */
export function simpleBackend(head: Uint8Array | undefined): boolean {
  return head !== undefined && head.length >= 8 && head.subarray(0, 8).every((byte) => byte === 0xff)
}

const EVENTS = 'memory_region_ops_read, memory_region_ops_write, pci_cfg_read and pci_cfg_write'
const HOW = `give \`-D FILE\` and one \`-trace\` for each of ${EVENTS}`

const ACCESS_EVENT = /^(?:memory_region_|pci_cfg_|vfio_(?:pci|region)_|virtio_mmio_)/

/** Why a trace has no answer; `undefined` when it has one. */
export function noAnswer(trace: TraceFacts, simple: boolean): NoMmio | undefined {
  const { lines, events, complaints } = trace
  const none = (reason: NoMmio['reason'], message: string): NoMmio => ({
    found: false,
    reason,
    message,
    lines,
    events,
    diagnostics: diagnosticsOf(trace),
  })
  if (simple)
    return none(
      'not-a-log',
      'this is a file of the simple backend; print it with scripts/simpletrace.py of the QEMU that wrote it, or trace with the log backend',
    )
  if (lines === 0)
    return none(
      'empty',
      `the trace is empty: no event was enabled, or QEMU wrote them elsewhere (a later -trace without file= sends all of them to stderr), or its build has no log backend (\`qemu-system-x86_64 -trace help\` lists the events that it has); ${HOW}`,
    )
  const names = Object.keys(events)
  if (names.length === 0) {
    const said = complaints.length === 0 ? '' : `; QEMU says: ${complaints.join('; ')}`
    return none('no-events', `no line is of a QEMU trace${said}; ${HOW}`)
  }
  if (names.some((name) => ACCESS_EVENT.test(name))) return undefined
  return none('no-accesses', `there are events (${names.slice(0, 5).join(', ')}), and none of accesses; ${HOW}`)
}
