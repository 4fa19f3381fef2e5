import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ClockAnchor, fitClock, mapClock, PRINTK_SKEW_NS, RECEIPT_LAG_NS } from '../../src/timeline/clock.ts'
import { bootTimeline, type ClockSample, type MarkLine, readClock, readMarks } from '../../src/index.ts'
import { at, guestAt, ZERO_NS } from './a-boot.ts'

/** A ping that took `roundTripMs`, of a guest that started `offsetMs` after the zero and runs at `rate`. */
function ping(guestMs: number, { offsetMs = 100, rate = 1, roundTripMs = 0.2 } = {}): ClockSample {
  const middleNs = ZERO_NS + (offsetMs + guestMs * rate) * 1e6
  return { hostSendNs: middleNs - roundTripMs * 5e5, guestNs: guestMs * 1e6, hostRecvNs: middleNs + roundTripMs * 5e5 }
}

function mapped(
  samples: readonly ClockSample[],
  marks: readonly MarkLine[] = [],
): ReturnType<typeof mapClock> & { state: 'mapped' } {
  const mapping = mapClock(samples, marks)
  if (mapping.state !== 'mapped') throw new Error(mapping.why)
  return mapping
}

describe('a mapped guest clock', () => {
  it('takes offset and rate from an early and a late ping', () => {
    const mapping = mapped([ping(10, { rate: 1.001 }), ping(2010, { rate: 1.001 })])
    expect(mapping).toMatchObject({ basis: 'pings', clock: 'monotonic', anchors: 2 })
    expect(mapping.rate).toBeCloseTo(1.001, 9)
    expect(mapping.rateError).toBeCloseTo(0.2 / 2000, 9)
    expect(mapping.toHost(1010e6).atNs).toBeCloseTo(ZERO_NS + (100 + 1010 * 1.001) * 1e6, -1)
  })

  it('is as wrong as the pings between them, and more so beyond them', () => {
    const mapping = mapped([ping(0), ping(1000)])
    expect(mapping.toHost(0).errorNs).toBeCloseTo(1e5, 0)
    expect(mapping.toHost(500e6).errorNs).toBeCloseTo(1e5, 0)
    expect(mapping.toHost(2000e6).errorNs).toBeCloseTo(3e5, 0)
    expect(mapping.toHost(-1000e6 + 0).errorNs).toBeCloseTo(3e5, 0)
  })

  it('prefers the quickest ping of the early and of the late ones', () => {
    const slow = { roundTripMs: 4 }
    const mapping = mapped([ping(0, slow), ping(1), ping(500, slow), ping(501, slow), ping(1000), ping(1001, slow)])
    expect(mapping.rateError).toBeCloseTo(0.2 / 999, 9)
  })

  it('holds the true instant within its error, whatever the round trips', () => {
    const trip = fc.record({
      guestMs: fc.double({ min: 0, max: 60_000, noNaN: true }),
      there: fc.double({ min: 0, max: 5, noNaN: true }),
      back: fc.double({ min: 0, max: 5, noNaN: true }),
    })
    const rate = fc.double({ min: 0.996, max: 1.004, noNaN: true })
    fc.assert(
      fc.property(
        fc.array(trip, { minLength: 1, maxLength: 12 }),
        rate,
        fc.nat({ max: 90_000 }),
        (trips, truth, askMs) => {
          const hostNs = (guestMs: number): number => ZERO_NS + (50 + guestMs * truth) * 1e6
          const samples = trips.map(({ guestMs, there, back }) => ({
            hostSendNs: hostNs(guestMs) - there * 1e6,
            guestNs: guestMs * 1e6,
            hostRecvNs: hostNs(guestMs) + back * 1e6,
          }))
          const { atNs, errorNs } = mapped(samples).toHost(askMs * 1e6)
          expect(Math.abs(atNs - hostNs(askMs))).toBeLessThanOrEqual(errorNs + 1000)
        },
      ),
    )
  })

  it('knows the rate only within the bound when there is one ping', () => {
    const mapping = mapped([ping(1000)])
    expect(mapping).toMatchObject({ rate: 1, rateError: 0.005, anchors: 1 })
    expect(mapping.toHost(3000e6)).toEqual({ atNs: ZERO_NS + 3100e6, errorNs: 1e5 + 0.005 * 2000e6 })
  })

  it('does not take a rate from pings that are too close together', () => {
    expect(mapped([ping(1000), ping(1001)])).toMatchObject({ rate: 1, rateError: 0.005, anchors: 2 })
  })

  it('counts into its error how far a sample lies off the line', () => {
    const straight = mapped([ping(0), ping(1000), ping(2000)])
    const bent = mapped([ping(0), ping(1000, { offsetMs: 102 }), ping(2000)])
    expect(straight.residualNs).toBe(0)
    expect(bent.residualNs).toBeCloseTo(2e6 - 2e5, 0)
    expect(bent.toHost(0).errorNs).toBeCloseTo(1e5 + 1.8e6, 0)
  })
})

describe('an invalid guest clock', () => {
  it.each([
    [1.02, '1.96 % slow'],
    [0.98, '2.04 % fast'],
  ])('is one that needs %f host seconds for a second', (rate, words) => {
    const mapping = mapClock([ping(0, { rate }), ping(5000, { rate })], [])
    expect(mapping).toMatchObject({ state: 'invalid' })
    expect('why' in mapping && mapping.why).toContain(words)
    expect('why' in mapping && mapping.why).toContain('tsc_early_khz')
  })

  it('is not one that is off by less than half a percent, or by what the pings cannot tell', () => {
    expect(mapClock([ping(0, { rate: 1.0049 }), ping(5000, { rate: 1.0049 })], []).state).toBe('mapped')
    const unclear = { rate: 1.006, roundTripMs: 10 }
    expect(mapClock([ping(0, unclear), ping(2000, unclear)], []).state).toBe('mapped')
  })

  it('is one that was stepped between samples', () => {
    const mapping = mapClock([ping(0), ping(1000, { offsetMs: 200 }), ping(2000)], [])
    expect(mapping).toMatchObject({ state: 'invalid' })
    expect('why' in mapping && mapping.why).toMatch(/stepped: a sample is 99\.8 ms off/)
  })
})

describe('without pings', () => {
  const initRun = [guestAt(2000, 'init-run', 'console'), at(2110, 'init-run', 'console')]

  it('is mapped by when the host read a stamped line, with the lag as its error', () => {
    const mapping = mapped([], initRun)
    expect(mapping).toMatchObject({ basis: 'console-receipt', clock: 'printk', anchors: 1 })
    expect(mapping.toHost(2000e6)).toEqual({ atNs: ZERO_NS + 2110e6 - RECEIPT_LAG_NS / 2, errorNs: RECEIPT_LAG_NS / 2 })
  })

  it('prefers the line of the agent, which is stamped by the clock that systemd uses', () => {
    const agentUp = [guestAt(2500, 'agent-up', 'console'), at(2600, 'agent-up', 'console', { errorNs: 7 })]
    const mapping = mapped([], [...initRun, ...agentUp])
    expect(mapping).toMatchObject({ clock: 'monotonic', anchors: 1 })
    expect(mapping.toHost(2500e6).errorNs).toBe(RECEIPT_LAG_NS / 2 + 7)
  })

  it('does not believe the first line, which the kernel holds back until it has a console', () => {
    const first = [guestAt(0, 'kernel-first-line', 'console'), at(700, 'kernel-first-line', 'console')]
    expect(mapClock([], first)).toMatchObject({ state: 'absent' })
  })

  it('is absent when nothing says where the guest’s clock stands', () => {
    const marks = [guestAt(1, 'userspace'), at(3, 'init-run', 'console'), guestAt(2, 'login-prompt', 'console')]
    expect(mapClock([], marks)).toMatchObject({ state: 'absent' })
    expect(fitClock([], 'pings', 'monotonic')).toMatchObject({ state: 'absent' })
  })
})

describe('a recorded boot', () => {
  const read = (name: string): Uint8Array => readFileSync(new URL(`../fixtures/record-bare/${name}`, import.meta.url))
  const marks = readMarks(read('marks.jsonl')).items
  const mapping = mapped(readClock(read('clock.jsonl')).items, marks)

  function lateness(id: string): { lateMs: number; errorMs: number } {
    const guest = marks.find(({ mark, clock }) => mark === id && clock === 'guest')
    const host = marks.find(({ mark, clock }) => mark === id && clock === 'host')
    const { atNs, errorNs } = mapping.toHost(guest?.atNs ?? Number.NaN)
    return { lateMs: ((host?.atNs ?? Number.NaN) - atNs) / 1e6, errorMs: errorNs / 1e6 }
  }

  it('has a guest clock that goes like the host’s', () => {
    expect(Math.abs(mapping.rate - 1)).toBeLessThan(1e-4)
    expect(mapping.residualNs).toBe(0)
  })

  it('has the agent’s line read after the guest wrote it, within the lag', () => {
    const { lateMs, errorMs } = lateness('agent-up')
    expect(lateMs).toBeGreaterThan(-errorMs)
    expect(lateMs).toBeLessThan(RECEIPT_LAG_NS / 1e6)
  })

  it('has printk ahead of the clock of the pings, within the skew', () => {
    const { lateMs } = lateness('init-run')
    expect(lateMs).toBeLessThan(0)
    expect(lateMs).toBeGreaterThan(-PRINTK_SKEW_NS / 1e6)
  })
})

describe('fitClock', () => {
  it('does not change the anchors it is given', () => {
    const anchors: ClockAnchor[] = [
      { guestNs: 2e9, hostNs: 2e9, errorNs: 1 },
      { guestNs: 1e9, hostNs: 1e9, errorNs: 1 },
    ]
    fitClock(anchors, 'pings', 'monotonic')
    expect(anchors[0]?.guestNs).toBe(2e9)
  })
})

describe('a mark of the other guest clock', () => {
  it('gets the distance of the two clocks as error', () => {
    const marks = [at(0, 'start'), guestAt(900, 'init-run', 'console'), guestAt(1000, 'userspace')]
    const { marks: placed } = bootTimeline({ marks, clock: [ping(0), ping(2000)] })
    const errors = new Map(placed.map(({ mark, at: when }) => [mark, when.known ? when.errorMs : undefined]))
    expect(errors.get('userspace')).toBeCloseTo(0.1, 6)
    expect(errors.get('init-run')).toBeCloseTo(0.1 + PRINTK_SKEW_NS / 1e6, 6)
  })
})
