import { exits, type ExitsResult } from '@boxlab/probes'
import { describe, expect, test } from 'vitest'
import { exitsMatchers, type ExpectedExits } from '../../src/vitest/index.ts'

expect.extend(exitsMatchers)

/** A boot with a kernel phase of 1000 exits: 400 for ports, 50 for MMIO, 30 halts. `faults` 0 is a host that emulates. */
function boot(faults: number): ExitsResult {
  const sample = (mark: string, atNs: number, times: number): string => {
    const counted = { exits: 1000 * times, io_exits: 400 * times, mmio_exits: 50 * times, halt_exits: 30 * times }
    const values = { ...counted, hypercalls: 0, insn_emulation: 9, pf_taken: faults }
    return JSON.stringify({ kind: 'kvm', mark, atNs, askedNs: atNs, values: {}, vcpus: [{ index: 0, values }] })
  }
  return exits([
    { name: 'counters.jsonl', input: `${sample('kernel-first-line', 1, 1)}\n${sample('init-run', 2, 2)}\n` },
  ])
}

const hardware = boot(7)
const emulated = boot(0)

/** How a matcher refuses, in its own words. */
async function refusal(assertion: Promise<unknown>): Promise<string> {
  return assertion.then(
    () => 'it passed',
    (error: unknown) => (error as Error).message,
  )
}

describe('toHaveExits', () => {
  test('holds bounds of a phase, exact numbers of what the guest decides, and bands of the rest', async () => {
    await expect(hardware).toHaveExits({ phase: 'kernel', io: { max: 12_000 }, mmio: { max: 700 } })
    await expect(hardware).toHaveExits({ phase: 'kernel', io: 400, mmio: 50, hypercalls: 0 })
    await expect(hardware).toHaveExits({
      phase: 'kernel',
      halt: { about: 33, percent: 10 },
      total: { min: 1, max: 1000 },
    })
    await expect(hardware).not.toHaveExits({ phase: 'kernel', halt: { about: 40, percent: 10 } })
  })

  test('asks about the whole boot where no phase is named', async () => {
    await expect(hardware).toHaveExits({ mmio: 100, total: { max: 2000 } })
    await expect(hardware).not.toHaveExits({ mmio: 50 })
  })

  test('says how many there were, what was expected, and shows the table', async () => {
    const words = await refusal(expect(hardware).toHaveExits({ phase: 'kernel', mmio: { max: 49 }, io: 400 }))
    expect(words).toContain(
      'in kernel (kvm, n=1) mmio exits are 50, and at most 49 are expected; io exits are 400, and exactly 400 are expected',
    )
    expect(words).toMatch(/kernel +1000 +400 +50/)
  })

  test('refuses an exact number of a kind that differs from boot to boot', async () => {
    expect(await refusal(expect(hardware).toHaveExits({ halt: 30 }))).toContain(
      "'halt' differs from boot to boot, so no exact number holds: give halt: { about: 30, percent: 10 }",
    )
  })

  test('is an error where there is nothing to judge, behind `not` too', async () => {
    const ask = async (result: ExitsResult, expected: ExpectedExits): Promise<string> => {
      const [plain, inverse] = [expect(result).toHaveExits(expected), expect(result).not.toHaveExits(expected)]
      const words = await refusal(plain)
      expect(await refusal(inverse)).toBe(words)
      return words
    }
    expect(await ask(emulated, { phase: 'kernel', io: { max: 1 } })).toContain(
      'io exits cannot be judged: the host emulates guest code (no EPT or NPT)',
    )
    expect(await ask(hardware, { phase: 'kernel', signal: { max: 1 } })).toContain('signal exits cannot be judged')
    expect(await ask(hardware, { phase: 'idle', mmio: { max: 1 } })).toContain(
      'there is no phase idle; sampled were firmware, kernel',
    )
    const tcg = JSON.stringify({ version: 1, accelerator: { proved: 'tcg' } })
    expect(await ask(exits([], { boot: tcg }), { mmio: { max: 1 } })).toContain('the box ran under tcg')
  })

  test('refuses words and bounds that it does not know', async () => {
    const ask = async (expected: object): Promise<string> => refusal(expect(hardware).toHaveExits(expected))
    expect(await ask({ mimo: 3 })).toContain("'mimo' is no kind of exit; known are total, io, mmio")
    expect(await ask({ mmio: {} })).toContain("'mmio' takes a number, { min, max } or { about, percent }")
    expect(await ask({ mmio: { max: '3' } })).toContain("'mmio' takes a number")
    expect(await ask({ phase: 'kernel' })).toContain('needs a kind to judge')
    expect(await refusal(expect('box').toHaveExits({ mmio: 1 }))).toContain('takes a box or a result of exits()')
  })
})
