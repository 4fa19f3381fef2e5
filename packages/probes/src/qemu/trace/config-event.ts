/** An access to PCI configuration space, as `pci_cfg_read` and `pci_cfg_write` print it (hw/pci/trace-events). */
export interface ConfigEvent {
  /** QEMU's name of the device; `empty` where there is none (8.2 and later, 0xcf8/0xcfc only). */
  readonly device: string
  /** Absent in QEMU before 7.2, which prints none. */
  readonly bus?: number
  /** Slot and function, as in `00:SS.F`: slot * 8 + function. */
  readonly devfn: number
  /** The register's offset. */
  readonly register: number
}

// "ICH9 SMB 31:3 @0x0 -> 0x8086" (5.2, 6.2: decimal) and "virtio-blk-pci 00:01.0 @0x0 -> 0x1af4" (7.2 and later: hex). The
// place is the last thing before the register: names of 5.2 have blanks.
const CONFIG =
  /^(.*) (?:([0-9a-f]{2,4}):([0-9a-f]{2})\.([0-7])|(\d{2,3}):([0-7])) @0x([0-9a-f]{1,8}) (?:->|<-) 0x[0-9a-f]{1,16}$/

/** Reads the arguments of a `pci_cfg_*` event. */
export function readConfigEvent(args: string): ConfigEvent | undefined {
  const match = CONFIG.exec(args)
  if (match === null) return undefined
  const [, device = '', bus, slot = '', fn = '', oldSlot = '', oldFn = '', register = ''] = match
  const devfn = bus === undefined ? Number(oldSlot) * 8 + Number(oldFn) : Number.parseInt(slot, 16) * 8 + Number(fn)
  if (devfn > 0xff) return undefined
  return {
    device,
    ...(bus !== undefined && { bus: Number.parseInt(bus, 16) & 0xff }),
    devfn,
    register: Number.parseInt(register, 16),
  }
}

/** `00:1f.3`; without a bus `31:3` would be QEMU's own word, and `??:1f.3` says what is not known. */
export function placeOf(bus: number | undefined, devfn: number): string {
  return `${bus === undefined ? '??' : twoDigits(bus)}:${twoDigits(devfn >> 3)}.${devfn & 7}`
}

function twoDigits(value: number): string {
  return value.toString(16).padStart(2, '0')
}
