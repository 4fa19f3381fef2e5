/** The events of guest accesses to memory regions, in the order of their ids in {@link RegionAccess}. */
export const ACCESS_EVENTS = [
  'memory_region_ops_read',
  'memory_region_ops_write',
  'memory_region_subpage_read',
  'memory_region_subpage_write',
  'memory_region_ram_device_read',
  'memory_region_ram_device_write',
] as const

/** Other events whose arguments somebody here reads, or that belong to the same question. QEMU 5.2 to 11.1. */
export const OTHER_EVENTS = [
  'pci_cfg_read',
  'pci_cfg_write',
  'kvm_run_exit_system_event',
  'kvm_run_exit',
  'kvm_memory_fault',
  'kvm_set_ioeventfd_mmio',
  'kvm_set_ioeventfd_pio',
  'virtio_queue_notify',
  'virtio_notify_irqfd_deferred_fn',
  'virtio_notify_irqfd',
  'virtio_notify',
  'virtio_mmio_read',
  'virtio_mmio_write_offset',
  'vfio_pci_read_config',
  'vfio_pci_write_config',
  'vfio_region_read',
  'vfio_region_write',
  'cpu_in',
  'cpu_out',
] as const

export type AccessEventName = (typeof ACCESS_EVENTS)[number]
export type OtherEventName = (typeof OTHER_EVENTS)[number]

/** The beginnings that tell an event from text in front of it, such as console bytes; longer names come first. */
export const KNOWN_EVENT: RegExp = new RegExp(
  `(?:${[...ACCESS_EVENTS, ...OTHER_EVENTS].toSorted((a, b) => b.length - a.length).join('|')})(?= )`,
)

const OTHER: ReadonlySet<string> = new Set(OTHER_EVENTS)

/** True for a name of {@link OTHER_EVENTS}. */
export function isOtherEvent(name: string): name is OtherEventName {
  return OTHER.has(name)
}

const ACCESS: ReadonlyMap<string, number> = new Map(ACCESS_EVENTS.map((name, id) => [name, id]))

/** The id of an event of {@link ACCESS_EVENTS}, or -1. */
export function accessEventId(name: string): number {
  return ACCESS.get(name) ?? -1
}
