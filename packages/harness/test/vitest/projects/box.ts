import { type BoxOptions, Wait } from '@boxlab/harness'

/** A box that is ready within half a second: firmware, and a boot sector on the test's disk that prints `done`. */
export const firmware: BoxOptions = {
  boot: 'firmware',
  accel: 'tcg',
  memoryMib: 64,
  disks: [{ path: process.env['TRAP_DISK'] ?? '' }],
  waitFor: Wait.forConsole('done'),
}

/** The same, but it waits for what its console never says. */
export const endless: BoxOptions = { ...firmware, waitFor: Wait.forConsole('never said') }
