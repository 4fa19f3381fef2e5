import type { MemoryMap, Owner } from '../mtree/owners.ts'
import type { Cell } from './cells.ts'
import { polledOf } from './polled.ts'
import type { RegionKind, RegionRow } from './report.ts'

/** A region's cells, and what is known of it. */
interface Group {
  readonly name: string
  readonly named: RegionRow['named']
  readonly owner: Owner | undefined
  readonly kind: RegionKind
  readonly cells: Cell[]
}

const PORTS = 0x10000
export const ECAM_REGION = 'pcie-mmcfg-mmio'
const SUBPAGE = 2
const MAX_ADDRESSES = 64
// Regions at fixed ports that every PC of QEMU has some of; with one of them an address below 64 KiB is a port.
const PC_PORTS: ReadonlySet<string> = new Set(
  `io serial rtc rtc-index pic pit port92 i8042-cmd i8042-data pci-conf-idx pci-conf-data
   fwcfg fwcfg.dma ioport80 kvmvapic pcspk elcr acpi-evt acpi-tmr dma-cont`.split(/\s+/),
)
const NAMELESS_PC_PORTS: ReadonlySet<number> = new Set([0x3f8, 0xcf8, 0x70])

/** True where the trace shows ports of a PC. */
function isPc(cells: readonly Cell[]): boolean {
  return cells.some(({ name, address }) =>
    name === undefined ? NAMELESS_PC_PORTS.has(address) : address < PORTS && PC_PORTS.has(name),
  )
}

/** The rows of regions, with most accesses first. */
export function regionRows(cells: readonly Cell[], map: MemoryMap | undefined): readonly RegionRow[] {
  const pc = isPc(cells)
  const byPointer = new Map<string, Cell[]>()
  for (const cell of cells) {
    const key = `${cell.event >> 1} ${cell.mr} ${cell.name ?? ''}`
    const same = byPointer.get(key)
    if (same === undefined) byPointer.set(key, [cell])
    else same.push(cell)
  }
  const groups = new Map<string, Group>()
  for (const same of byPointer.values()) {
    for (const part of partsOf(same, pc, map)) {
      const key = `${part.name} ${part.kind} ${part.owner?.device ?? ''}`
      const known = groups.get(key)
      if (known === undefined) groups.set(key, part)
      else known.cells.push(...part.cells)
    }
  }
  return [...groups.values()].map(rowOf).toSorted((a, b) => b.reads + b.writes - (a.reads + a.writes))
}

/**
 * What one pointer's cells are the accesses of. A region has one owner; but its addresses may lie elsewhere than in the memory
 * map, since a guest moves BARs: then the addresses that are in it speak for all.
 */
function partsOf(cells: Cell[], pc: boolean, map: MemoryMap | undefined): readonly Group[] {
  const [first] = cells
  if (first === undefined) return []
  const lowest = cells.reduce((low, { address }) => Math.min(low, address), first.address)
  const highest = cells.reduce((high, { address }) => Math.max(high, address), first.address)
  if (first.name === undefined) return namelessParts(cells, first, { lowest, highest, pc }, map)
  const { name } = first
  const kind = name === ECAM_REGION || highest >= PORTS ? 'mmio' : pc ? 'pio' : 'unknown'
  const mapped = cells.find(({ address }) => map?.at(kind === 'pio' ? 'pio' : 'mmio', address)?.name === name)
  const owner = map?.ownerOf(name, (mapped ?? first).address)
  return [{ name, named: 'trace', owner, kind, cells }]
}

function namelessParts(
  cells: Cell[],
  first: Cell,
  { lowest, highest, pc }: { readonly lowest: number; readonly highest: number; readonly pc: boolean },
  map: MemoryMap | undefined,
): readonly Group[] {
  const kind = highest >= PORTS || first.event >= SUBPAGE ? 'mmio' : pc ? 'pio' : 'unknown'
  // Offsets into a subpage are no addresses.
  if (first.event >> 1 === 1) return [{ name: '(subpage)', named: 'address', owner: undefined, kind, cells }]
  const found = cells.map(({ address }) => map?.at(kind === 'pio' ? 'pio' : 'mmio', address))
  const range = found.find((one) => one !== undefined)
  if (map !== undefined && range !== undefined)
    return [{ name: range.name, named: 'map', owner: map.ownerOf(range.name, range.from), kind, cells }]
  const name = lowest === highest ? `@${hex(lowest)}` : `@${hex(lowest)}-${hex(highest)}`
  return [
    { name: first.event >> 1 === 2 ? `(ram_device) ${name}` : name, named: 'address', owner: undefined, kind, cells },
  ]
}

function rowOf({ name, named, owner, kind, cells }: Group): RegionRow {
  const phases = cells[0]?.counts.length ?? 0
  const byPhase = Array.from({ length: phases }, () => ({ reads: 0, writes: 0 }))
  const addresses = new Map<number, { reads: number; writes: number; byPhase: number[] }>()
  let reads = 0
  let writes = 0
  let bytes = 0
  let notByVcpu = 0
  for (const { address, others, event, size, byVcpu, counts } of cells) {
    const direction = event % 2 === 1 ? 'writes' : 'reads'
    const at = addresses.get(address) ?? { reads: 0, writes: 0, byPhase: byPhase.map(() => 0) }
    if (!others) addresses.set(address, at)
    for (const [phase, count] of counts.entries()) {
      byPhase[phase]![direction] += count
      at[direction] += count
      at.byPhase[phase]! += count
      bytes += count * size
      if (!byVcpu) notByVcpu += count
    }
  }
  for (const phase of byPhase) {
    reads += phase.reads
    writes += phase.writes
  }
  const polled = named === 'address' ? undefined : polledOf(name)
  return {
    name,
    named,
    ...(owner && { device: owner.device, ...(owner.bdf !== undefined && { bdf: owner.bdf }) }),
    kind,
    ...(polled && { polled }),
    reads,
    writes,
    bytes,
    pointers: new Set(cells.map(({ mr }) => mr)).size,
    ...(notByVcpu > 0 && { notByVcpu }),
    addressCount: addresses.size,
    addresses: [...addresses]
      .toSorted(([a, one], [b, other]) => other.reads + other.writes - (one.reads + one.writes) || a - b)
      .slice(0, MAX_ADDRESSES)
      .map(([address, counts]) => ({ address: hex(address), ...counts })),
    byPhase,
  }
}

function hex(address: number): string {
  return `0x${address.toString(16)}`
}
