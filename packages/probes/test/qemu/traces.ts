import { readFileSync } from 'node:fs'
import { zstdDecompressSync } from 'node:zlib'
import { mmio, type MmioOptions, type MmioReport, type RegionRow } from '../../src/index.ts'
import type { ByteInput } from '../../src/index.ts'

/** The bytes of a fixture, of the folder's README. */
export function fixture(name: string): Uint8Array {
  return zstdDecompressSync(readFileSync(new URL(`./fixtures/${name}.zst`, import.meta.url)))
}

/** The memory map of a recorded machine, as one JSON object. */
export function memoryMapText(machine: 'q35' | 'microvm-pcie'): string {
  return new TextDecoder().decode(fixture(`${machine}.json`))
}

/** The report of a trace that has one; a refusal fails the test with its sentence. */
export function reportOf(input: ByteInput, options: MmioOptions = {}): MmioReport {
  const result = mmio(input, options)
  if (!result.found) throw new Error(`no accesses: ${result.message}`)
  return result
}

/** One line of a memory region's access. */
export function access(
  direction: 'read' | 'write',
  name: string,
  address: number,
  { value = 0, size = 1, mr = '0x5500', cpu = 0 }: { value?: number; size?: number; mr?: string; cpu?: number } = {},
): string {
  const quoted = name === '' ? '' : ` name '${name}'`
  return `memory_region_ops_${direction} cpu ${cpu} mr ${mr} addr 0x${address.toString(16)} value 0x${value.toString(16)} size ${size}${quoted}\n`
}

/** What a guest prints on its serial console, as accesses. */
export function printed(text: string): string {
  return Array.from(new TextEncoder().encode(text), (value) =>
    access('write', 'serial', 0x3f8, { value, mr: '0x5501' }),
  ).join('')
}

/** An access to configuration space by port: the index, QEMU's event where there is one, and the data, in QEMU's order. */
export function config(
  direction: 'read' | 'write',
  [bus, slot, fn, register]: readonly [number, number, number, number],
  { event, value = 0x12345678, names = true }: { event?: string; value?: number; names?: boolean } = {},
): string {
  const index = (0x80000000 | (bus << 16) | (slot << 11) | (fn << 8) | (register & 0xfc)) >>> 0
  const data = access(direction, names ? 'pci-conf-data' : '', 0xcfc + (register & 3), { value, size: 4, mr: '0x5503' })
  const line = event === undefined ? '' : `pci_cfg_${direction} ${event}\n`
  return `${access('write', names ? 'pci-conf-idx' : '', 0xcf8, { value: index, size: 4, mr: '0x5502' })}${direction === 'read' ? line + data : data + line}`
}

/** The one row of a region; none or several fail the test. */
export function region({ regions }: MmioReport, name: string): RegionRow {
  const [row, ...more] = regions.filter((one) => one.name === name)
  if (row === undefined || more.length > 0) throw new Error(`${name} has ${more.length + 1} rows`)
  return row
}

/** The golden figures of one trace, counted by two parsers that share no code with this one. */
export interface GoldenTrace {
  readonly lines: number
  readonly events: { readonly [name: string]: number } | number
  readonly threads?: number
  readonly regions: { readonly [regionAndDirection: string]: number }
  readonly pci_cfg_by_device?: { readonly [deviceAndDirection: string]: number }
  readonly pci_cfg_empty_events?: number
  readonly cf8_accesses?: number
  readonly cf8_to_absent?: number
  readonly ecam_accesses?: number
  readonly ecam_to_absent?: number
  readonly console_bytes_in_trace?: number
  readonly phases?: { readonly [name: string]: number }
}

export const GOLDEN: { readonly [trace: string]: GoldenTrace } = JSON.parse(
  new TextDecoder().decode(fixture('golden.json')),
) as { [trace: string]: GoldenTrace }
