import { table } from '../../text/table.ts'
import type { MmioReport, RunExits } from './report.ts'

/** What stands below the tables: how accesses relate to exits, what the trace cannot show, what to know of it. */
export function footLines(report: MmioReport): string[] {
  const { exits, queueNotifies, hidden, findings } = report
  return [
    ...(exits ? [...exitLines(exits), ''] : []),
    ...vfioLines(report),
    ...virtioMmioLines(report),
    ...relationLines(report),
    ...(queueNotifies === undefined
      ? []
      : [
          `virtio queues were kicked ${queueNotifies.reduce((sum, { count }) => sum + count, 0)} times (virtio_queue_notify)`,
        ]),
    '',
    'not in a trace:',
    ...hidden.map(({ name, seen, message }) => `- ${name}: ${message}${seen === undefined ? '' : ` Here: ${seen}.`}`),
    ...(findings.length === 0 ? [] : ['', ...findings.map(({ name, message }) => `${name}: ${message}`)]),
  ]
}

function exitLines({ total, byReason, io, mmio }: RunExits): string[] {
  const reasons = byReason.map(({ reason, name, count }) => `${name ?? 'reason'} (${reason}) ${count}`)
  return [
    `exits to QEMU (kvm_run_exit): ${total}: ${reasons.join(', ')}`,
    `of vCPUs, to ports: ${beside(io.exits, io.accesses)}; to memory: ${beside(mmio.exits, mmio.accesses)}`,
  ]
}

function beside(exits: number, accesses: number | undefined): string {
  return accesses === undefined ? `${exits}` : `${exits} for ${accesses} accesses`
}

function relationLines({ accesses, maybeSplit = 0, console, exits, regions }: MmioReport): string[] {
  if (accesses === undefined) return []
  const notByVcpu = regions.reduce((sum, { notByVcpu: count = 0 }) => sum + count, 0)
  return [
    `An access is a line of memory_region_*; under KVM it is one exit${exits ? '' : ' (not traced here: kvm_run_exit)'}, unless it is a part of a wider one: at most ${maybeSplit} are.`,
    'One access to configuration space by port is two of them, an index and data, and a pci_cfg line that is none.',
    ...(notByVcpu > 0 ? [`${notByVcpu} accesses were made by no vCPU (timers, to apic-msi) and are no exits.`] : []),
    ...(console ? [consoleLine(console)] : []),
  ]
}

function consoleLine({ divisor }: NonNullable<MmioReport['console']>): string {
  const rate = divisor === 0 ? '' : ` ${divisor} of the bytes to port 0x3f8 set the baud rate and are no text.`
  return `A console byte is two accesses to serial: the status is read, the byte is written.${rate}`
}

function vfioLines({ vfio }: MmioReport): string[] {
  if (vfio === undefined) return []
  const rows = vfio.flatMap(({ device, config, regions }) => [
    [device, 'config', String(config.reads), String(config.writes)],
    ...regions.map(({ region, reads, writes }) => [device, `region ${region}`, String(reads), String(writes)]),
  ])
  return [
    'assigned devices (vfio_*); their accesses to configuration space are among the pci_cfg ones too:',
    ...table([['device', 'what', 'reads', 'writes'], ...rows], [0, 1]),
    '',
  ]
}

function virtioMmioLines({ virtioMmio }: MmioReport): string[] {
  if (virtioMmio === undefined) return []
  const rows = virtioMmio.map(({ register, offset, reads, writes }) => [
    register,
    offset,
    String(reads),
    String(writes),
  ])
  return [
    'virtio-mmio registers, of all devices:',
    ...table([['register', 'offset', 'reads', 'writes'], ...rows], [0, 1]),
    '',
  ]
}
