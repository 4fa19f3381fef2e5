/** Which direction of a region is polled: how often is a matter of time, and differs from boot to boot. */
export type Polled = 'reads' | 'writes' | 'both'

/**
 * Measured over four boots of one guest on q35 under TCG with `tsc_early_khz` (59 of 71 counters were the same in all of
 * them), and over boots without it, whose PIT calibration reads `pit` and `pcspk` up to 110,000 times.
 */
const POLLED: ReadonlyMap<string, Polled> = new Map([
  ['pit', 'both'],
  ['pcspk', 'both'],
  ['hpet', 'both'],
  ['pic', 'both'],
  ['apm-io', 'both'],
  ['acpi-tmr', 'reads'],
  ['ahci', 'reads'],
  ['port92', 'reads'],
  ['rtc-index', 'reads'],
  ['apic-msi', 'writes'],
])

/** Whether a region is polled; `undefined` for one that is not. */
export function polledOf(region: string): Polled | undefined {
  return POLLED.get(region)
}
