/** An access to an assigned device, with QEMU's words for it: the name may hold blanks, slashes and brackets. */
export interface VfioAccess {
  readonly device: string
  /** Absent for configuration space. */
  readonly region?: number
  readonly size: number
}

// hw/vfio/trace-events: the format begins with a blank. All before the last `, @` or `:region` is the name.
const READ_CONFIG = /^ ?\((.+), @0x[0-9a-f]{1,8}, len=0x([0-9a-f]{1,8})\) 0x[0-9a-f]{1,8}$/
const WRITE_CONFIG = /^ ?\((.+), @0x[0-9a-f]{1,8}, 0x[0-9a-f]{1,8}, len=0x([0-9a-f]{1,8})\)$/
const READ_REGION = /^ ?\((.+):region(\d{1,9})\+0x[0-9a-f]{1,16}, (\d{1,9})\) = 0x[0-9a-f]{1,16}$/
const WRITE_REGION = /^ ?\((.+):region(\d{1,9})\+0x[0-9a-f]{1,16}, 0x[0-9a-f]{1,16}, (\d{1,9})\)$/

/** Reads the arguments of `vfio_pci_{read,write}_config`. */
export function readVfioConfig(args: string, write: boolean): VfioAccess | undefined {
  const match = (write ? WRITE_CONFIG : READ_CONFIG).exec(args)
  return match === null ? undefined : { device: match[1] ?? '', size: Number.parseInt(match[2] ?? '', 16) }
}

/** Reads the arguments of `vfio_region_{read,write}`. */
export function readVfioRegion(args: string, write: boolean): VfioAccess | undefined {
  const match = (write ? WRITE_REGION : READ_REGION).exec(args)
  return match === null ? undefined : { device: match[1] ?? '', region: Number(match[2]), size: Number(match[3]) }
}
