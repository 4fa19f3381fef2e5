import type { MarkLine, MarkSource } from '../../src/index.ts'

/** Where the axis of the boots here begins, in ns of the host's clock. */
export const ZERO_NS = 500_000_000_000

/** A mark on the host's clock, `ms` after the start. */
export function at(ms: number, mark: string, source: MarkSource = 'runtime', more: Partial<MarkLine> = {}): MarkLine {
  return { mark, source, clock: 'host', atNs: ZERO_NS + Math.round(ms * 1e6), ...more }
}

/** A mark on the guest's clock, `ms` after the guest's start. */
export function guestAt(
  ms: number,
  mark: string,
  source: MarkSource = 'systemd',
  more: Partial<MarkLine> = {},
): MarkLine {
  return { mark, source, clock: 'guest', atNs: Math.round(ms * 1e6), ...more }
}

/** The marks of a bare box that became ready, 1,500 ms after its start. */
export function bareMarks(): MarkLine[] {
  return [
    at(0, 'start', 'harness'),
    at(2, 'folder-ready'),
    at(2, 'rootfs-begin', 'harness'),
    at(10, 'rootfs-ready', 'harness'),
    at(11, 'plan-begin'),
    at(12, 'plan-ready'),
    at(14, 'spawn'),
    at(24, 'engine-main', 'qmp'),
    at(64, 'qmp-ready', 'qmp'),
    at(66, 'vm-start', 'qmp'),
    at(266, 'kernel-first-line', 'console', {
      errorNs: 500_000,
      detail: { line: '[    0.000000] Linux version 6.1.0-57-cloud-amd64 (gcc)' },
    }),
    at(1266, 'init-run', 'console', { errorNs: 500_000 }),
    at(1466, 'agent-up', 'console', { errorNs: 500_000 }),
    at(1500, 'agent-ready', 'agent'),
    at(1500, 'ready', 'runtime'),
  ]
}

/** `boot.json` of such a box, stopped. */
export function aBootJson(): { [field: string]: unknown } {
  return {
    version: 1,
    boxId: 'k3x9',
    name: 'demo',
    plan: { boot: { kind: 'direct' }, agent: true, ready: 'agent-ready' },
    fingerprints: { machine: { hash: 'a1', parts: { cpu: 'max' } }, engine: { hash: 'b2', parts: {} } },
    host: { cpuModel: 'Example CPU', cpus: 2, memoryMib: 8192, kernel: '6.12.0', tscKhz: 2_600_000, loadavg1: 0.25 },
    engine: { binary: '/usr/bin/qemu-system-x86_64', version: '7.2.22' },
    accelerator: { asked: 'tcg', proved: 'tcg' },
    startedAt: '2026-11-30T21:22:20.123Z',
    startNs: ZERO_NS,
    outcome: 'stopped',
  }
}

/** Lines of a JSON-lines file. */
export function jsonLines(values: readonly unknown[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join('')
}
