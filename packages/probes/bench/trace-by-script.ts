import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { MmioResult } from '../src/index.ts'

/** The answer that both arms give, in a form that compares. */
export interface FullAnswer {
  readonly lines: number
  /** By region, pointer count, address and phase. */
  readonly regions: readonly (readonly [name: string, reads: number, writes: number, bytes: number, pointers: number])[]
  readonly addresses: readonly string[]
  readonly phases: readonly (readonly [name: string, accesses: number, bytes: number])[]
  readonly devices: readonly (readonly [bdf: string, device: string, reads: number, writes: number])[]
  readonly absent: readonly [reads: number, writes: number, functions: number]
}

/** Of a region's addresses the probe lists so many. */
const LISTED = 64

/** The probe's answer. */
export function answerOf(result: MmioResult): FullAnswer {
  if (!result.found) throw new Error(result.message)
  const { regions, phases, pci, lines } = result
  return {
    lines,
    regions: regions
      .map(({ name, reads, writes, bytes, pointers }) => [name, reads, writes, bytes, pointers] as const)
      .toSorted(byName),
    addresses: regions
      .flatMap(({ name, addresses }) =>
        addresses.map(
          ({ address, reads, writes, byPhase }) => `${name} ${address} ${reads} ${writes} ${byPhase.join('/')}`,
        ),
      )
      .toSorted(),
    phases: phases.map(({ name, accesses, bytes }) => [name, accesses, bytes]),
    devices: (pci?.byDevice ?? []).map(({ bdf, device = '', reads, writes }) => [bdf, device, reads, writes]),
    absent: [pci?.absent?.reads ?? 0, pci?.absent?.writes ?? 0, pci?.absent?.functions ?? 0],
  }
}

function byName(a: readonly [string, ...unknown[]], b: readonly [string, ...unknown[]]): number {
  return a[0] < b[0] ? -1 : 1
}

const ACCESS =
  /memory_region_ops_(read|write) cpu (-?\d+) mr (0x[0-9a-f]+) addr (0x[0-9a-f]+) value (0x[0-9a-f]+) size (\d+) name '(.*)'$/
const CONFIG = /pci_cfg_(read|write) (.+) ([0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) @0x([0-9a-f]+) (?:->|<-) 0x[0-9a-f]+$/
const CUTS = [
  ['early', /Linux version/],
  ['initcalls', /smp: Brought/],
  ['userspace', /Run \S+ as init/],
] as const

interface Region {
  reads: number
  writes: number
  bytes: number
  readonly pointers: Set<string>
  readonly addresses: Map<string, { reads: number; writes: number; byPhase: number[] }>
}

/** The same answer as a script gives it that reads line by line and matches a regular expression on each. */
export async function answerByScript(path: string): Promise<FullAnswer> {
  const regions = new Map<string, Region>()
  const devices = new Map<string, { bdf: string; device: string; reads: number; writes: number }>()
  const asked = new Map<string, [number, number]>()
  const phases: [string, number, number][] = [['firmware', 0, 0]]
  let lines = 0
  let index = 0
  let text = ''
  let divisor = false
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    lines += 1
    const match = ACCESS.exec(line)
    if (match === null) {
      const event = CONFIG.exec(line)
      if (event === null || event[2] === 'empty') continue
      const [, direction, device = '', bdf = ''] = event
      const row = devices.get(bdf) ?? { bdf, device, reads: 0, writes: 0 }
      devices.set(bdf, row)
      row[direction === 'read' ? 'reads' : 'writes'] += 1
      continue
    }
    const [, direction, , mr = '', address = '', value = '', sizeText, name = ''] = match
    const size = Number(sizeText)
    const write = direction === 'write'
    if (name === 'serial' && write) {
      if (address === '0x3fb') divisor = (Number(value) & 0x80) !== 0
      if (address === '0x3f8' && !divisor) {
        const byte = Number(value)
        if (byte === 10) {
          const cut = CUTS.findIndex(([, words], at) => at >= phases.length - 1 && words.test(text))
          if (cut !== -1) phases.push([CUTS[cut]![0], 0, 0])
          text = ''
        } else text += String.fromCharCode(byte)
      }
    }
    const phase = phases.length - 1
    phases[phase]![1] += 1
    phases[phase]![2] += size
    let region = regions.get(name)
    if (region === undefined) {
      region = { reads: 0, writes: 0, bytes: 0, pointers: new Set(), addresses: new Map() }
      regions.set(name, region)
    }
    region[write ? 'writes' : 'reads'] += 1
    region.bytes += size
    region.pointers.add(mr)
    let at = region.addresses.get(address)
    if (at === undefined) {
      at = { reads: 0, writes: 0, byPhase: [] }
      region.addresses.set(address, at)
    }
    at[write ? 'writes' : 'reads'] += 1
    at.byPhase[phase] = (at.byPhase[phase] ?? 0) + 1
    if (name === 'pci-conf-idx' && write && size === 4) index = Number(value)
    else if (name === 'pci-conf-data') ask(index >>> 8, write)
    else if (name === 'pcie-mmcfg-mmio') ask(Math.floor((Number(address) % 0x10000000) / 4096), write)
  }

  function ask(fn: number, write: boolean): void {
    const bdf = `${hex((fn >> 8) & 0xff)}:${hex((fn >> 3) & 31)}.${fn & 7}`
    const counts = asked.get(bdf) ?? [0, 0]
    asked.set(bdf, counts)
    counts[write ? 1 : 0] += 1
  }

  const absent = [...asked].filter(([bdf]) => !devices.has(bdf)).map(([, counts]) => counts)
  return {
    lines,
    regions: [...regions]
      .map(([name, { reads, writes, bytes, pointers }]) => [name, reads, writes, bytes, pointers.size] as const)
      .toSorted(byName),
    addresses: [...regions]
      .flatMap(([name, { addresses }]) =>
        [...addresses]
          .toSorted(
            ([a, one], [b, other]) => other.reads + other.writes - (one.reads + one.writes) || Number(a) - Number(b),
          )
          .slice(0, LISTED)
          .map(
            ([address, { reads, writes, byPhase }]) =>
              `${name} ${address} ${reads} ${writes} ${phases.map((_, phase) => byPhase[phase] ?? 0).join('/')}`,
          ),
      )
      .toSorted(),
    phases,
    devices: [...devices.values()]
      .toSorted((a, b) => (a.bdf < b.bdf ? -1 : 1))
      .map(({ bdf, device, reads, writes }) => [bdf, device, reads, writes]),
    absent: [
      absent.reduce((sum, [reads]) => sum + reads, 0),
      absent.reduce((sum, [, writes]) => sum + writes, 0),
      absent.length,
    ],
  }
}

function hex(part: number): string {
  return part.toString(16).padStart(2, '0')
}
