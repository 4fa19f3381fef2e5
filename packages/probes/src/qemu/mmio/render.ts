import { problemLine } from '../../text/problem-line.ts'
import { page } from '../../text/page.ts'
import { table } from '../../text/table.ts'
import { footLines } from './render-foot.ts'
import { configLines } from './render-config.ts'
import type { MmioReport, MmioResult, NoMmio, PhaseRow, RegionRow, TraceFormat } from './report.ts'

/** How accesses are drawn. */
export interface MmioRenderOptions {
  /** Characters a line of prose may have; rows of tables are never cut. Default 100. */
  readonly width?: number
  /** Regions with fewer accesses are summed up in one row; default 10. */
  readonly listRegionsFrom?: number
}

/**
 * The accesses as text tables: by phase, to PCI configuration space by device, to regions; polled ones stand apart, and what a
 * trace cannot show is named below. The same text serves a terminal and a pull request.
 */
export function renderMmio(result: MmioResult, { width = 100, listRegionsFrom = 10 }: MmioRenderOptions = {}): string {
  const lines = result.found ? reportLines(result, listRegionsFrom) : noneLines(result)
  return page(lines, width)
}

function noneLines({ message, diagnostics }: NoMmio): string[] {
  return [`no accesses: ${message}`, ...diagnostics.problems.map(problemLine)]
}

function reportLines(report: MmioReport, listRegionsFrom: number): string[] {
  const { regions, diagnostics } = report
  const steady = regions.filter(({ polled }) => polled === undefined)
  const polled = regions.filter((region) => region.polled !== undefined)
  return [
    headLine(report),
    ...section(phaseLines(report)),
    ...section(configLines(report)),
    ...section(regionLines('regions, by what the guest does:', steady, report, listRegionsFrom)),
    ...section(regionLines('regions that are polled, so that counts differ from boot to boot:', polled, report, 0)),
    ...section(footLines(report)),
    ...diagnostics.problems.map(problemLine),
  ]
}

function section(lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', ...lines]
}

const FORMATS: { readonly [format in TraceFormat]: string } = {
  log: 'QEMU log without stamps',
  'log-tid-stamp': 'QEMU log, TID@time',
  'log-iso-stamp': 'QEMU log, ISO time',
  'log-mixed': 'QEMU log, with and without stamps',
}

function headLine({ format, lines, accesses, threads, console, firstUs, lastUs }: MmioReport): string {
  const parts = [
    FORMATS[format],
    `${lines} lines`,
    ...(accesses === undefined ? [] : [`${accesses} accesses`]),
    ...(console === undefined ? [] : [`${console.bytes} console bytes`]),
    ...(threads === undefined ? [] : [`${threads} threads`]),
    ...(firstUs === undefined || lastUs === undefined ? [] : [`${((lastUs - firstUs) / 1e6).toFixed(3)} s`]),
    'n=1',
  ]
  return parts.join(' · ')
}

function phaseLines({ phases, accesses, pci, exits }: MmioReport): string[] {
  if (accesses === undefined) return []
  const stamped = phases.some(({ durationUs }) => durationUs !== undefined)
  const head = [
    'phase',
    'accesses',
    'reads',
    'writes',
    'ports',
    'memory',
    'polled',
    ...(pci ? ['config', 'absent'] : []),
    'console B',
    ...(exits ? ['exits'] : []),
    ...(stamped ? ['from ms', 'ms'] : []),
  ]
  const cells = (row: Omit<PhaseRow, 'fromLine'>): string[] => [
    row.name,
    ...[row.accesses, row.reads, row.writes, row.pio, row.mmio, row.polled].map(String),
    ...(pci ? [String(row.config), row.configAbsent === undefined ? '-' : String(row.configAbsent)] : []),
    String(row.consoleBytes),
    ...(exits ? [String(row.exits ?? 0)] : []),
    ...(stamped ? [ms(row.fromUs), ms(row.durationUs)] : []),
  ]
  return table([head, ...phases.map(cells), ...(phases.length > 1 ? [cells(sumOf(phases))] : [])], [0])
}

function sumOf(phases: readonly PhaseRow[]): Omit<PhaseRow, 'fromLine'> {
  const sum = (value: (row: PhaseRow) => number | undefined): number =>
    phases.reduce((total, row) => total + (value(row) ?? 0), 0)
  return {
    name: 'all',
    accesses: sum((row) => row.accesses),
    reads: sum((row) => row.reads),
    writes: sum((row) => row.writes),
    bytes: sum((row) => row.bytes),
    pio: sum((row) => row.pio),
    mmio: sum((row) => row.mmio),
    polled: sum((row) => row.polled),
    config: sum((row) => row.config),
    ...(phases.some(({ configAbsent }) => configAbsent !== undefined) && {
      configAbsent: sum((row) => row.configAbsent),
    }),
    consoleBytes: sum((row) => row.consoleBytes),
    exits: sum((row) => row.exits),
  }
}

function ms(us: number | undefined): string {
  return us === undefined ? '-' : (us / 1000).toFixed(1)
}

const KINDS = { pio: 'ports', mmio: 'memory', unknown: '?' }

function regionLines(
  title: string,
  regions: readonly RegionRow[],
  { phases, pci }: Pick<MmioReport, 'phases' | 'pci'>,
  from: number,
): string[] {
  if (regions.length === 0) return []
  const listed = regions.filter(({ reads, writes }) => reads + writes >= from)
  const small = regions.slice(listed.length)
  const names = new Map(pci?.byDevice.map(({ bdf, device }) => [bdf, device]))
  const devices = regions.some(({ device }) => device !== undefined)
  const head = [
    'region',
    ...(devices ? ['device'] : []),
    'kind',
    'reads',
    'writes',
    'bytes',
    ...(phases.length > 1 ? phases.map(({ name }) => name) : []),
  ]
  const row = (region: RegionRow): string[] => [
    region.polled === 'reads' || region.polled === 'writes' ? `${region.name} (${region.polled})` : region.name,
    ...(devices ? [deviceOf(region, names)] : []),
    KINDS[region.kind],
    String(region.reads),
    String(region.writes),
    String(region.bytes),
    ...(phases.length > 1 ? region.byPhase.map(({ reads, writes }) => String(reads + writes)) : []),
  ]
  const rest = small.length === 0 ? [] : [smallRow(small, phases.length, devices)]
  return [title, ...table([head, ...listed.map(row), ...rest], devices ? [0, 1, 2] : [0, 1])]
}

/** An id says most; without one the function's name in the trace says more than a path does. */
function deviceOf({ device, bdf }: RegionRow, names: ReadonlyMap<string, string | undefined>): string {
  if (device === undefined) return '-'
  if (bdf === undefined) return device.replace(/^\/machine\//, '')
  return `${device.startsWith('/') ? (names.get(bdf) ?? device) : device} ${bdf}`
}

function smallRow(small: readonly RegionRow[], phases: number, devices: boolean): string[] {
  const sum = (value: (row: RegionRow) => number): string => String(small.reduce((total, row) => total + value(row), 0))
  return [
    `${small.length} smaller ones`,
    ...(devices ? ['-'] : []),
    '-',
    sum(({ reads }) => reads),
    sum(({ writes }) => writes),
    sum(({ bytes }) => bytes),
    ...(phases > 1
      ? Array.from({ length: phases }, (_, at) =>
          sum(({ byPhase }) => (byPhase[at]?.reads ?? 0) + (byPhase[at]?.writes ?? 0)),
        )
      : []),
  ]
}
