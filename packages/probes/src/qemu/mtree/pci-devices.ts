import { isObject, type JsonObject } from '../../input/fields.ts'
import { placeOf } from '../trace/config-event.ts'

/** A PCI function as QMP's `query-pci` has it (qapi/pci.json). */
export interface PciDevice {
  /** `00:1f.3`. */
  readonly bdf: string
  /** The `id=` of its `-device`; absent without one. */
  readonly id?: string
  /** Such as `SATA controller`; absent where QEMU knows no word. */
  readonly class?: string
  /** Base address registers that have an address. */
  readonly bars: readonly {
    readonly bar: number
    readonly space: 'pio' | 'mmio'
    readonly from: number
    readonly to: number
  }[]
}

/** Reads the answer to `query-pci`: the bare list, or the reply that holds it. Devices behind bridges too. */
export function readQueryPci(value: unknown): readonly PciDevice[] {
  const buses = isObject(value) && Array.isArray(value['return']) ? value['return'] : value
  if (!Array.isArray(buses)) return []
  return (buses as readonly unknown[]).flatMap((bus) => (isObject(bus) ? devicesOf(bus['devices'], 0) : []))
}

// PCI has 256 buses; a hostile answer may nest more.
const DEEPEST = 256

function devicesOf(devices: unknown, depth: number): PciDevice[] {
  if (!Array.isArray(devices) || depth > DEEPEST) return []
  return (devices as readonly unknown[]).flatMap((device) => {
    if (!isObject(device)) return []
    const one = deviceOf(device)
    const bridge = device['pci_bridge']
    return [...(one === undefined ? [] : [one]), ...(isObject(bridge) ? devicesOf(bridge['devices'], depth + 1) : [])]
  })
}

function deviceOf(device: JsonObject): PciDevice | undefined {
  const { bus, slot, function: fn, qdev_id: id, class_info: info, regions } = device
  if (typeof bus !== 'number' || typeof slot !== 'number' || typeof fn !== 'number') return undefined
  const description = isObject(info) ? info['desc'] : undefined
  return {
    bdf: placeOf(bus, slot * 8 + fn),
    ...(typeof id === 'string' && id !== '' && { id }),
    ...(typeof description === 'string' && { class: description }),
    bars: Array.isArray(regions) ? (regions as readonly unknown[]).flatMap(barOf) : [],
  }
}

function barOf(region: unknown): PciDevice['bars'] {
  if (!isObject(region)) return []
  const { bar, address, size, type } = region
  // An address of -1, or the same without a sign, is one that the guest has not assigned.
  if (
    typeof bar !== 'number' ||
    typeof address !== 'number' ||
    typeof size !== 'number' ||
    address < 0 ||
    address >= 2 ** 63
  )
    return []
  return [{ bar, space: type === 'io' ? 'pio' : 'mmio', from: address, to: address + size - 1 }]
}
