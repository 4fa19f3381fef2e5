import { describe, expect, test } from 'vitest'
import { type BoxOptions, useBox } from '@boxlab/harness/vitest'

/** A bare box whose engine traces the guest's accesses; under TCG, so that each has a line on every host. */
const traced: BoxOptions = { accel: 'tcg', record: { trace: true } }

describe('the accesses of a kernel to its devices', () => {
  const box = useBox(traced)

  // #region devices
  test('are counted by PCI function: what Linux reads of a virtio device is the same in every boot', async () => {
    await expect(box).toHaveMmio({ config: 'virtio-rng-pci', reads: { min: 100, max: 400 } })
    await expect(box).toHaveMmio({ config: 'virtio-serial-pci', writes: { max: 100 } })
  })

  test('are mostly to functions that do not exist: Linux scans 256 buses', async () => {
    await expect(box).toHaveMmio({ config: 'absent', accesses: { min: 8000, max: 9000 } })
  })

  test('that are polled have no exact number', async () => {
    await expect(expect(box).toHaveMmio({ region: 'pit', reads: 1 })).rejects.toThrow('polled')
  })
  // #endregion
})

describe('without virtio-rng', () => {
  const box = useBox({ ...traced, devices: { rng: false } })

  test('nobody asks for it, and the other devices are asked as before', async () => {
    await expect(box).not.toHaveMmio({ config: '00:03.0' })
    await expect(box).toHaveMmio({ config: 'virtio-serial-pci', writes: { max: 100 } })
  })
})

describe('without the scan of buses', () => {
  const box = useBox({ ...traced, cmdline: 'pci=lastbus=0' })

  test('a kernel leaves absent functions alone', async () => {
    await expect(box).toHaveMmio({ config: 'absent', accesses: { max: 1000 } })
  })
})
