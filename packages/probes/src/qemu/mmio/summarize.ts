import type { MemoryMap } from '../mtree/owners.ts'
import type { TraceFacts } from '../trace/tokenize.ts'
import type { Cell } from './cells.ts'
import type { ConfigSpace, ReadsWrites } from './config-space.ts'
import type { DeviceCounter } from './device-events.ts'
import { type ExitCounter, runExits } from './exits.ts'
import { mmioFindings } from './findings.ts'
import { hiddenAccesses } from './hidden.ts'
import { diagnosticsOf } from './no-answer.ts'
import type { Phase } from './phases.ts'
import { regionRows } from './regions.ts'
import type { MmioReport, PhaseRow, RegionRow, TraceFormat } from './report.ts'

/** Everything that was counted of a trace. */
export interface Counted {
  readonly trace: TraceFacts
  readonly map: MemoryMap | undefined
  readonly cells: readonly Cell[]
  readonly phases: readonly Phase[]
  readonly config: ConfigSpace | undefined
  readonly configByPhase: readonly number[]
  readonly exits: ExitCounter
  readonly irqfds: number
  readonly devices: DeviceCounter
  readonly console: { readonly bytes: number; readonly divisor: number }
  readonly maybeSplit: number
  /** Accesses that are of no cell. */
  readonly unplaced: number
}

/** Makes the report of what was counted. */
export function summarize(counted: Counted): MmioReport {
  const { trace, map, cells, config, exits, devices, console, maybeSplit, unplaced, irqfds } = counted
  const regions = regionRows(cells, map)
  const ran = exits.exits()
  const phases = phaseRows(counted, regions, ran?.byPhase)
  const accesses = regions.reduce((sum, { reads, writes }) => sum + reads + writes, 0) + unplaced
  const byVcpus = { pio: byVcpu(regions, 'pio'), mmio: byVcpu(regions, 'mmio') }
  const runs = ran && runExits(ran, accesses > 0 ? byVcpus : undefined)
  const ioeventfds = exits.ioeventfds()
  const notifies = exits.notifies()
  const vfio = devices.vfioRows()
  const virtioMmio = devices.virtioMmioRows()
  return {
    found: true,
    format: formatOf(trace),
    lines: trace.lines,
    events: trace.events,
    ...(trace.threads !== undefined && { threads: trace.threads }),
    ...(trace.firstUs !== undefined && { firstUs: trace.firstUs }),
    ...(trace.lastUs !== undefined && { lastUs: trace.lastUs }),
    ...(accesses > 0 && { accesses, maybeSplit }),
    ...(config && { pci: config }),
    regions,
    phases,
    ...(console.bytes > 0 && { console }),
    ...(runs && { exits: runs }),
    ...(notifies.length > 0 && { queueNotifies: notifies }),
    ...(vfio.length > 0 && { vfio }),
    ...(virtioMmio.length > 0 && { virtioMmio }),
    hidden: hiddenAccesses({
      regions,
      ...(ioeventfds && { ioeventfds }),
      notifies: notifies.reduce((sum, { count }) => sum + count, 0),
      ...(runs && {
        exits: { io: runs.io.exits, mmio: runs.mmio.exits, pio: byVcpus.pio, memory: byVcpus.mmio },
      }),
      irqfds,
    }),
    findings: mmioFindings({ trace, map, regions, config, phases, console }),
    diagnostics: diagnosticsOf(trace),
  }
}

function formatOf({ stamps }: TraceFacts): TraceFormat {
  const kinds = [
    ...(stamps.none > 0 ? ['log' as const] : []),
    ...(stamps.tid > 0 ? ['log-tid-stamp' as const] : []),
    ...(stamps.iso > 0 ? ['log-iso-stamp' as const] : []),
  ]
  return kinds.length === 1 ? kinds[0]! : 'log-mixed'
}

function byVcpu(regions: readonly RegionRow[], kind: RegionRow['kind']): number {
  return regions
    .filter((region) => region.kind === kind)
    .reduce((sum, { reads, writes, notByVcpu = 0 }) => sum + reads + writes - notByVcpu, 0)
}

function phaseRows(
  { trace, cells, phases, config, configByPhase }: Counted,
  regions: readonly RegionRow[],
  exits: readonly number[] | undefined,
): readonly PhaseRow[] {
  return phases.map(({ name, line, us, consoleBytes }, at) => {
    const beginUs = at === 0 ? trace.firstUs : us
    const endUs = at === phases.length - 1 ? trace.lastUs : phases[at + 1]?.us
    let reads = 0
    let writes = 0
    let pio = 0
    let mmio = 0
    let polled = 0
    for (const region of regions) {
      const counts = region.byPhase[at] ?? { reads: 0, writes: 0 }
      const both = counts.reads + counts.writes
      reads += counts.reads
      writes += counts.writes
      if (region.kind === 'pio') pio += both
      if (region.kind === 'mmio') mmio += both
      if (region.polled === 'both') polled += both
      else if (region.polled !== undefined) polled += counts[region.polled]
    }
    return {
      name,
      fromLine: line,
      ...(beginUs !== undefined && trace.firstUs !== undefined && { fromUs: beginUs - trace.firstUs }),
      ...(beginUs !== undefined && endUs !== undefined && { durationUs: endUs - beginUs }),
      accesses: reads + writes,
      reads,
      writes,
      bytes: cells.reduce((sum, { counts, size }) => sum + (counts[at] ?? 0) * size, 0),
      pio,
      mmio,
      polled,
      config: configByPhase[at] ?? 0,
      ...(config?.absent && { configAbsent: accessesOf(config.absent.byPhase[at]) }),
      consoleBytes,
      ...(exits && { exits: exits[at] ?? 0 }),
    }
  })
}

function accessesOf(counts: ReadsWrites | undefined): number {
  return counts === undefined ? 0 : counts.reads + counts.writes
}
