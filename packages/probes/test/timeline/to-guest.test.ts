import { assert, integer, property } from 'fast-check'
import { expect, it } from 'vitest'
import { fitClock, toGuest } from '../../src/timeline/clock.ts'

it('the way from guest to host and back ends where it began, with the same error', () => {
  const anchor = (guestNs: number, hostNs: number) => ({ guestNs, hostNs, errorNs: 1e5 })
  assert(
    property(integer({ min: 0, max: 3e11 }), integer({ min: -40, max: 40 }), (guestNs, tenThousandths) => {
      const rate = 1 + tenThousandths / 10_000
      const mapping = fitClock([anchor(0, 9e13), anchor(1e11, 9e13 + 1e11 * rate)], 'pings', 'monotonic')
      if (mapping.state !== 'mapped') throw new Error(mapping.why)
      const host = mapping.toHost(guestNs)
      const guest = toGuest(mapping, host.atNs)
      expect(Math.abs(guest.atNs - guestNs)).toBeLessThan(1)
      expect(guest.errorNs * mapping.rate).toBeCloseTo(host.errorNs, 0)
    }),
  )
})
