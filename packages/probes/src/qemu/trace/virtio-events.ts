// `vdev %p n %d vq %p` (hw/virtio/trace-events).
const QUEUE_NOTIFY = /^vdev (0x[0-9a-f]{1,16}) n (\d{1,9}) vq \S{1,20}$/

/** A driver's kick, as it reached the device. */
export function readQueueNotify(args: string): { readonly vdev: string; readonly queue: number } | undefined {
  const match = QUEUE_NOTIFY.exec(args)
  return match === null ? undefined : { vdev: match[1] ?? '', queue: Number(match[2]) }
}

// The format repeats a name: `virtio_mmio_read offset 0x%x`, `virtio_mmio_write offset 0x%x value 0x%x`.
const MMIO = /^(?:virtio_mmio_(?:read|write) )?offset 0x([0-9a-f]{1,8})(?: value 0x[0-9a-f]{1,16})?$/

/** The offset of a `virtio_mmio_read` or `virtio_mmio_write_offset`. */
export function readVirtioMmio(args: string): number | undefined {
  const match = MMIO.exec(args)
  return match === null ? undefined : Number.parseInt(match[1] ?? '', 16)
}

// Virtio 1.2, 4.2.2; GuestPageSize, QueueAlign and QueuePFN of 4.2.4, the legacy interface.
const REGISTERS: ReadonlyMap<number, string> = new Map([
  [0x000, 'MagicValue'],
  [0x004, 'Version'],
  [0x008, 'DeviceID'],
  [0x00c, 'VendorID'],
  [0x010, 'DeviceFeatures'],
  [0x014, 'DeviceFeaturesSel'],
  [0x020, 'DriverFeatures'],
  [0x024, 'DriverFeaturesSel'],
  [0x028, 'GuestPageSize'],
  [0x030, 'QueueSel'],
  [0x034, 'QueueNumMax'],
  [0x038, 'QueueNum'],
  [0x03c, 'QueueAlign'],
  [0x040, 'QueuePFN'],
  [0x044, 'QueueReady'],
  [0x050, 'QueueNotify'],
  [0x060, 'InterruptStatus'],
  [0x064, 'InterruptACK'],
  [0x070, 'Status'],
  [0x080, 'QueueDescLow'],
  [0x084, 'QueueDescHigh'],
  [0x090, 'QueueDriverLow'],
  [0x094, 'QueueDriverHigh'],
  [0x0a0, 'QueueDeviceLow'],
  [0x0a4, 'QueueDeviceHigh'],
  [0x0fc, 'ConfigGeneration'],
])

/** The name that the virtio specification gives a register of virtio-mmio. */
export function virtioMmioRegister(offset: number): string {
  return offset >= 0x100 ? 'Config' : (REGISTERS.get(offset) ?? `0x${offset.toString(16)}`)
}
