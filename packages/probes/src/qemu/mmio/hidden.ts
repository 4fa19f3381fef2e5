import type { Hidden, RegionRow } from './report.ts'

/** What a trace of a boot says of what it cannot show. */
export interface HiddenEvidence {
  readonly regions: readonly RegionRow[]
  readonly ioeventfds?: { readonly pio: number; readonly mmio: number }
  readonly notifies: number
  readonly exits?: { readonly io: number; readonly mmio: number; readonly pio: number; readonly memory: number }
  readonly irqfds: number
}

const NOTIFY = 'virtio-pci-notify-'

/** What never reaches a trace of accesses, each with what was seen of it. */
export function hiddenAccesses({ regions, ioeventfds, notifies, exits, irqfds }: HiddenEvidence): readonly Hidden[] {
  const kicks = regions.filter(({ name }) => name.startsWith(NOTIFY)).reduce((sum, { writes }) => sum + writes, 0)
  const irqchip = regions.some(({ name }) => name === 'ioapic' || name === 'pic' || name === 'apic-msi')
  return [
    {
      name: 'ioeventfd',
      ...seen([
        ...(ioeventfds
          ? [`${ioeventfds.pio} port and ${ioeventfds.mmio} memory addresses were given to the kernel`]
          : []),
        ...(notifies > 0
          ? [`${notifies} kicks reached their queues (virtio_queue_notify), ${kicks} by a traced write`]
          : []),
      ]),
      message:
        'Kicks of virtio queues go past QEMU where ioeventfd is on, which is the default and holds under TCG too; boot with ioeventfd=off to see them.',
    },
    {
      name: 'irqfd',
      ...seen(irqfds > 0 ? [`${irqfds} interrupts of virtio devices by irqfd`] : []),
      message: 'Interrupts that a device raises through irqfd, or that are posted (APICv), are no access.',
    },
    { name: 'vhost', message: 'Queues that vhost serves are read and written by another process or by the kernel.' },
    {
      name: 'in-kernel-irqchip',
      ...seen(exits && !irqchip ? ['no access to pic, ioapic or apic-msi was traced, under KVM'] : []),
      message:
        'KVM emulates the local APIC, the IOAPIC, the PIC and mostly the PIT itself, so accesses to them are not here.',
    },
    {
      name: 'coalesced',
      ...seen(
        exits && exits.pio > exits.io
          ? [`${exits.pio} accesses to ports came with ${exits.io} exits; string instructions count among them too`]
          : [],
      ),
      message:
        'Writes that KVM collects (rtc-index, e1000, VGA) come late, with the stamp and the exit of a later access.',
    },
    {
      name: 'unassigned',
      message: 'Accesses to memory that belongs to nobody print no line; those to ports show as the region `io`.',
    },
  ]
}

function seen(what: readonly string[]): { readonly seen?: string } {
  return what.length === 0 ? {} : { seen: what.join('; ') }
}
