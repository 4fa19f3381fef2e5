import { describe, expect, it } from 'vitest'
import { ablation, type ExitsReport, renderAblation } from '../../src/index.ts'

/** A report with one sample a phase, as far as an ablation looks at it. */
function report(phases: Readonly<Record<string, Readonly<Record<string, number>>>>): ExitsReport {
  const made = Object.entries(phases).map(([name, counters]) => ({ name, counters }))
  return {
    found: true,
    accel: 'kvm',
    phases: made,
    absent: [],
    diagnostics: { samples: 1, problems: [] },
  } as unknown as ExitsReport
}

const counters = (exits: number, mmio: number) => ({
  exits,
  io_exits: 10,
  mmio_exits: mmio,
  halt_exits: 0,
  irq_exits: 0,
  hypercalls: 0,
  signal_exits: 0,
})

describe('an ablation', () => {
  const base = [
    report({ firmware: counters(100, 40), kernel: counters(500, 60) }),
    report({ firmware: counters(110, 40), kernel: counters(500, 60) }),
  ]

  it('is the difference of the medians by phase and kind', () => {
    const { rows } = ablation(base, { rng: [report({ firmware: counters(95, 40), kernel: counters(450, 20) })] })
    expect(rows).toMatchObject([
      {
        name: 'rng',
        boots: 1,
        phases: [
          { name: 'firmware', differences: { total: -10, mmio: 0 } },
          { name: 'kernel', differences: { total: -50, mmio: -40 } },
        ],
      },
    ])
  })

  it('has no difference of what either side has no value for', () => {
    const { mmio_exits: _none, ...less } = counters(450, 20)
    const { rows } = ablation(base, { rng: [report({ kernel: less })] })
    expect(rows[0]?.phases.map(({ name }) => name)).toEqual(['kernel'])
    expect(rows[0]?.phases[0]?.differences).not.toHaveProperty('mmio')
    expect(rows[0]?.phases[0]?.differences).toHaveProperty('total', -50)
  })

  it('is a table with signs, a dash for what is absent, and its sample', () => {
    const { mmio_exits: _none, ...less } = counters(520, 20)
    const text = renderAblation(ablation(base, { rng: [report({ kernel: less })] }))
    expect(text).toMatch(
      /^exits by phase, medians of 2 \+ 1 boots in turn · accelerator kvm; below, the difference to them\n/,
    )
    expect(text).toMatch(/\n {2}all +firmware +105 +10 +40 /)
    expect(text).toMatch(/\n {2}without rng +kernel +\+20 +0 +- /)
  })
})
