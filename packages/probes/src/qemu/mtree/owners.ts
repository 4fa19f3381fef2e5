import { isObject } from '../../input/fields.ts'
import { parseJson } from '../../input/json-lines.ts'
import { type FlatRange, readMtree } from './flat-view.ts'
import { type PciDevice, readQueryPci } from './pci-devices.ts'

/** Whose a region is, and which PCI function that is. */
export interface Owner {
  /** A device's id, else its path in the object model. */
  readonly device: string
  /** Its PCI function, where a base address register covers the region. */
  readonly bdf?: string
}

/** The memory map of a machine, taken in the same boot as the trace. */
export interface MemoryMap {
  readonly ranges: readonly FlatRange[]
  readonly pci: readonly PciDevice[]
  /** What a person should know of it: no flat view, no owners. */
  readonly notes: readonly string[]
  /** The range that holds an address of a space. */
  at(space: FlatRange['space'], address: number): FlatRange | undefined
  /**
   * Whose the region `name` is that was accessed at `address`. By the address where a range of that name holds it, else by the
   * name alone where all regions of that name have one owner: BARs move, and addresses behind an alias are relative.
   */
  ownerOf(name: string, address: number): Owner | undefined
}

/**
 * Reads the memory map from texts, told apart by content: `info mtree -f -o` as HMP prints it, the answer to QMP's `query-pci`,
 * or an object that holds both under their names. `undefined` when there is neither in them.
 */
export function readMemoryMap(texts: readonly string[]): MemoryMap | undefined {
  const mtrees: string[] = []
  const pci: PciDevice[] = []
  for (const text of texts) {
    const json = /^\s*[[{]/.test(text) ? parseJson(text) : undefined
    if (json === undefined) mtrees.push(text)
    else {
      const { value } = json
      if (isObject(value)) {
        for (const [name, part] of Object.entries(value)) {
          if (name.startsWith('info mtree') && typeof part === 'string') mtrees.push(part)
        }
        // What QMP answers to human-monitor-command, as it stands in a record.
        if (typeof value['return'] === 'string') mtrees.push(value['return'])
        pci.push(...readQueryPci(value['query-pci']))
      }
      pci.push(...readQueryPci(value))
    }
  }
  const readings = mtrees.map(readMtree)
  const ranges = readings.flatMap((reading) => reading.ranges)
  if (ranges.length === 0 && pci.length === 0) return undefined
  return memoryMap(
    ranges,
    pci,
    notesOf(
      ranges,
      readings.some(({ owners }) => owners),
    ),
  )
}

function notesOf(ranges: readonly FlatRange[], owners: boolean): readonly string[] {
  if (ranges.length === 0) return ['the memory map has no flat view, so owners are not known: take `info mtree -f -o`']
  return owners ? [] : ['the memory map was taken without owners: take `info mtree -f -o`']
}

function memoryMap(ranges: readonly FlatRange[], pci: readonly PciDevice[], notes: readonly string[]): MemoryMap {
  const sorted = { pio: spaceOf(ranges, 'pio'), mmio: spaceOf(ranges, 'mmio') }
  const byName = new Map<string, FlatRange[]>()
  for (const range of ranges) {
    const same = byName.get(range.name)
    if (same === undefined) byName.set(range.name, [range])
    else same.push(range)
  }
  const bdfs = new Map<string, string>()
  for (const range of ranges) {
    const { owner, space, base, to } = range
    if (owner === undefined || bdfs.has(owner)) continue
    // What begins outside is the window of the host bridge, which shows where a BAR has nothing.
    const device = pci.find(({ bars }) => bars.some((bar) => bar.space === space && bar.from <= base && to <= bar.to))
    if (device !== undefined) bdfs.set(owner, device.bdf)
  }
  for (const { id, bdf } of pci) if (id !== undefined) bdfs.set(id, bdf)

  return {
    ranges,
    pci,
    notes,
    at(space, address) {
      const list = sorted[space]
      let low = 0
      let high = list.length
      while (low < high) {
        const middle = (low + high) >> 1
        if (list[middle]!.from <= address) low = middle + 1
        else high = middle
      }
      // Views of several spaces may overlap, so the one that begins last need not be the one that holds the address.
      for (let i = low - 1; i >= 0 && i >= low - 8; i--) if (list[i]!.to >= address) return list[i]
      return undefined
    },
    ownerOf(name, address) {
      const same = byName.get(name) ?? []
      const holding = same.filter(({ from, to }) => from <= address && address <= to)
      const owners = new Set((holding.length > 0 ? holding : same).map(({ owner }) => owner))
      const [device] = owners
      if (owners.size !== 1 || device === undefined) return undefined
      const bdf = bdfs.get(device)
      return { device, ...(bdf !== undefined && { bdf }) }
    },
  }
}

function spaceOf(ranges: readonly FlatRange[], space: FlatRange['space']): readonly FlatRange[] {
  return ranges.filter((range) => range.space === space).toSorted((a, b) => a.from - b.from)
}
