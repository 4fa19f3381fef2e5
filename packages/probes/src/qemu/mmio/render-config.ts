import { table } from '../../text/table.ts'
import type { ConfigDevice, ConfigSpace } from './config-space.ts'
import { REGISTER_GROUPS } from './register-groups.ts'
import type { MmioReport } from './report.ts'

/** Configuration space, by device and group of registers. */
export function configLines({ pci }: Pick<MmioReport, 'pci'>): string[] {
  if (pci === undefined) return []
  const { byDevice, absent, cf8, ecam, source } = pci
  if (byDevice.length === 0 && (absent?.functions ?? 0) === 0) return ['PCI configuration space: no access']
  const groups = REGISTER_GROUPS.filter((group) => byDevice.some(({ registers }) => registers[group] !== undefined))
  const accesses = [
    `${cf8.reads + cf8.writes} by port (0xcf8/0xcfc)`,
    ecam === undefined ? 'by memory (ECAM) not known without names' : `${ecam.reads + ecam.writes} by memory (ECAM)`,
  ].join(', ')
  const from = source === 'pci_cfg' ? 'from pci_cfg_*' : 'rebuilt from the accesses'
  const head = ['function', 'device', 'reads', 'writes', ...groups]
  const rows = byDevice.map((device) => [
    device.bdf,
    device.device ?? '-',
    String(device.reads),
    String(device.writes),
    ...groups.map((group) => groupOf(device, group)),
  ])
  return [
    `PCI configuration space: ${accesses}; functions ${from}:`,
    ...table([head, ...rows, ...absentRows(absent, groups.length)], [0, 1]),
    ...unansweredLines(byDevice),
  ]
}

function groupOf({ registers }: ConfigDevice, group: string): string {
  const { reads, writes } = registers[group] ?? { reads: 0, writes: 0 }
  return String(reads + writes)
}

function absentRows(absent: ConfigSpace['absent'], groups: number): readonly string[][] {
  if (absent === undefined || absent.functions === 0) return []
  const { functions, buses, reads, writes } = absent
  const what = `${functions} on ${buses} ${buses === 1 ? 'bus' : 'buses'}`
  return [['absent', what, String(reads), String(writes), ...Array.from({ length: groups }, () => '')]]
}

function unansweredLines(devices: readonly ConfigDevice[]): string[] {
  return devices.flatMap(({ bdf, device, unanswered }) => {
    if (unanswered === undefined) return []
    const { reads, writes } = unanswered
    return [
      `${reads + writes} more ${reads + writes === 1 ? 'access' : 'accesses'} to ${bdf} ${device ?? ''} reached no device (an extended register of a conventional one, or a bus without a number yet)`,
    ]
  })
}
