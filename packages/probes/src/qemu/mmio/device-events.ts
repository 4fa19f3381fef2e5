import { virtioMmioRegister } from '../trace/virtio-events.ts'
import type { VfioAccess } from '../trace/vfio-events.ts'
import type { VfioRow, VirtioMmioRow } from './report.ts'

/** Counts events that devices print of themselves, beside the accesses that are their cause. */
export interface DeviceCounter {
  virtioMmio(offset: number, write: boolean): void
  vfio(access: VfioAccess, write: boolean): void
  virtioMmioRows(): readonly VirtioMmioRow[]
  vfioRows(): readonly VfioRow[]
}

interface Counts {
  reads: number
  writes: number
  bytes: number
}

const MAX_ROWS = 4096
const OTHERS = '(others)'
const CONFIG = -1

/** Makes a {@link DeviceCounter}. */
export function countDevices(): DeviceCounter {
  const registers = new Map<number, Counts>()
  const devices = new Map<string, Map<number, Counts>>()

  function count<Key>(counts: Map<Key, Counts>, key: Key, write: boolean, size: number): void {
    const entry = counts.get(key) ?? { reads: 0, writes: 0, bytes: 0 }
    if (counts.size < MAX_ROWS) counts.set(key, entry)
    if (write) entry.writes += 1
    else entry.reads += 1
    entry.bytes += size
  }

  return {
    // The registers end at 0x100; behind them is a configuration space that each device lays out itself.
    virtioMmio: (offset, write) => count(registers, offset, write, 0),
    vfio({ device, region = CONFIG, size }, write) {
      const name = devices.has(device) || devices.size < MAX_ROWS ? device : OTHERS
      const regions = devices.get(name) ?? new Map<number, Counts>()
      devices.set(name, regions)
      count(regions, region, write, size)
    },
    virtioMmioRows: () =>
      [...registers]
        .toSorted(([a], [b]) => a - b)
        .map(([offset, { reads, writes }]) => ({
          register: virtioMmioRegister(offset),
          offset: `0x${offset.toString(16)}`,
          reads,
          writes,
        })),
    vfioRows: () =>
      [...devices].map(([device, regions]) => {
        const { reads, writes } = regions.get(CONFIG) ?? { reads: 0, writes: 0 }
        return {
          device,
          config: { reads, writes },
          regions: [...regions]
            .filter(([region]) => region !== CONFIG)
            .toSorted(([a], [b]) => a - b)
            .map(([region, counts]) => ({ region, ...counts })),
        }
      }),
  }
}
