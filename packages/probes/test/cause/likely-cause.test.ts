import { readdirSync, readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CAUSE_RULES } from '../../src/cause/likely-cause.ts'
import { LIVELY_MS } from '../../src/cause/progress-rules.ts'
import { type BootEvidence, likelyCause, likelyCauses } from '../../src/index.ts'

const FOLDER = new URL('../fixtures/console/', import.meta.url)
const late: BootEvidence = {
  code: 'ERR_BOX_TIMEOUT',
  accelerator: { asked: 'auto', proved: 'tcg' },
  lastMark: 'init-run',
}

describe('a deadline', () => {
  it.each<[string, BootEvidence]>([
    ['a mark came shortly before', { sinceMs: 1200 }],
    ['the console spoke until the end', { sinceMs: 50_000, consoleQuietMs: LIVELY_MS }],
  ])('was too short for TCG if %s', (_, facts) => {
    expect(likelyCause({ ...late, ...facts })).toMatchObject({ id: 'tcg-slow', confidence: 'inferred' })
  })

  it('of seconds is judged by its last half, in which a guest that halted shows nothing', () => {
    const halted: BootEvidence = { ...late, lastMark: 'vm-start', console: 'done', sinceMs: 1900, consoleQuietMs: 1700 }
    expect(likelyCauses({ ...halted, elapsedMs: 1900 })).toEqual([])
    expect(likelyCause({ ...halted, consoleQuietMs: 30, elapsedMs: 1900 })?.id).toBe('tcg-slow')
    expect(likelyCause({ ...halted, elapsedMs: 60_000 })?.id).toBe('tcg-slow')
  })

  it.each<[string, BootEvidence]>([
    ['nothing is known about progress', {}],
    ['the guest had been silent for long', { sinceMs: 50_000, consoleQuietMs: LIVELY_MS + 1 }],
    ['the times are no numbers', { sinceMs: Number.NaN, consoleQuietMs: -1 }],
    ['kvm runs', { sinceMs: 10, accelerator: { proved: 'kvm' } }],
    ['the agent was ready', { sinceMs: 10, lastMark: 'agent-ready' }],
    ['it was no deadline', { sinceMs: 10, code: 'ERR_BOX_KILLED' }],
  ])('is not blamed on TCG if %s', (_, facts) => {
    expect(likelyCauses({ ...late, ...facts })).toEqual([])
  })

  it('is blamed on KVM that emulates, if that runs', () => {
    const kvm: BootEvidence = { code: 'ERR_BOX_TIMEOUT', accelerator: { proved: 'kvm' }, kvmVerdict: 'emulated' }
    expect(likelyCause(kvm)).toMatchObject({ id: 'emulated-kvm', confidence: 'inferred' })
    expect(likelyCauses({ ...kvm, kvmVerdict: 'native' })).toEqual([])
    expect(likelyCauses({ ...kvm, accelerator: { proved: 'tcg' } })).toEqual([])
    // A boot sector that does not say what is waited for runs well there; a kernel from a disk does not.
    expect(likelyCauses({ ...kvm, firmware: true, lastMark: 'vm-start', console: 'x' })).toEqual([])
    expect(likelyCause({ ...kvm, firmware: true, lastMark: 'kernel-first-line' })?.id).toBe('emulated-kvm')
  })

  it('with a console that never said anything is told apart from one nobody looked at', () => {
    const silent: BootEvidence = { code: 'ERR_BOX_TIMEOUT', lastMark: 'vm-start', sinceMs: 30_000 }
    expect(likelyCause({ ...silent, console: new Uint8Array(0) })?.id).toBe('silent-console')
    expect(likelyCauses(silent)).toEqual([])
    expect(likelyCauses({ ...silent, console: 'SeaBIOS' })).toEqual([])
    expect(likelyCauses({ ...silent, lastMark: 'qmp-ready', console: '' })).toEqual([])
  })
})

describe('without evidence', () => {
  it('there is no cause', () => {
    expect(likelyCause({})).toBeUndefined()
    expect(likelyCauses({ console: '', engineLog: '', message: '', host: {} })).toEqual([])
    expect(likelyCauses({ code: 'ERR_BOX_TIMEOUT' })).toEqual([])
    expect(likelyCauses({ code: 'ERR_BOX_KILLED', exit: { signal: 9 } })).toEqual([])
  })
})

describe('several causes', () => {
  it('come in the order of the rules, what the engine said first and time last, each once', () => {
    const evidence: BootEvidence = {
      ...late,
      sinceMs: 10,
      engineLog: 'qemu-system-x86_64: -drive file=o.qcow2: Could not write: No space left on device',
      console:
        '[    1.000000] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)\n' +
        '[    1.100000] ---[ end Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0) ]---\n',
    }
    expect(likelyCauses(evidence).map(({ id }) => id)).toEqual(['disk-full', 'no-root', 'guest-panic', 'tcg-slow'])
    expect(likelyCause(evidence)).toEqual(likelyCauses(evidence)[0])
  })

  it('the reason for a panic comes before the panic in the table', () => {
    const order = CAUSE_RULES.map(({ id }) => id)
    const panic = order.indexOf('guest-panic')
    for (const id of ['no-root', 'no-init', 'missing-driver', 'wrong-architecture', 'emulated-kvm'] as const) {
      expect(order.indexOf(id)).toBeLessThan(panic)
    }
    expect(order.indexOf('emergency-shell')).toBeGreaterThan(order.lastIndexOf('no-root'))
    expect(order.lastIndexOf('tcg-slow')).toBe(order.length - 1)
  })

  it('every rule says whose words it knows', () => {
    for (const { source } of CAUSE_RULES) expect(source).not.toBe('')
  })
})

describe('the console', () => {
  const panic = '[    4.362873] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)\n'

  it('counts its lines from the number it is given, as it may be only the end', () => {
    expect(likelyCause({ console: `x\n${panic}` })?.evidence.line).toBe(2)
    expect(likelyCause({ console: `x\n${panic}`, consoleLine: 900 })?.evidence.line).toBe(901)
  })

  it('may begin within the stamp of its first line', () => {
    expect(likelyCause({ console: panic.slice(6) })?.id).toBe('no-root')
  })

  it('means the same as bytes and as text', () => {
    expect(likelyCause({ console: new TextEncoder().encode(panic) })).toEqual(likelyCause({ console: panic }))
  })

  it('gives no more than 1,000 characters of a line, without escape codes', () => {
    const text = likelyCause({ console: `[    1.000000] \u001b[31mKernel panic - not syncing: ${'x'.repeat(5000)}` })
      ?.evidence.text
    expect(text).toHaveLength(1000)
    expect(text).not.toContain('\u001b')
  })
})

// Pieces of the words that rules look for, so that random text comes near them.
const PIECES = [
  '[    1.000000] ',
  'Kernel panic - not syncing',
  ': ',
  'VFS: Unable to mount root fs on ',
  'unknown-block(0,0)',
  '\n',
  '\r\n',
  'Out of memory: Killed process ',
  '1 (init)',
  'mount: ',
  '/sysroot',
  'ALERT!  ',
  ' does not exist.  Dropping to a shell!',
  'qemu-system-x86_64: ',
  'Failed to get "',
  'write" lock',
  "Property '",
  "' not found",
  '\u0000',
  '\u001b[',
  '\ud800',
  '💥',
]
const foreign = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((pieces) => pieces.join('')),
)
const codes = fc.constantFrom(
  'ERR_BOX_TIMEOUT',
  'ERR_BOX_PANIC',
  'ERR_BOX_ENGINE_EXITED',
  'ERR_BOX_REFUSED',
  'ERR_BOX_RECORD',
  'x',
)
const evidences: fc.Arbitrary<BootEvidence> = fc.record(
  {
    code: codes,
    message: foreign,
    errno: fc.integer(),
    lastMark: fc.constantFrom('vm-start', 'agent-ready', 'guest-panic', ''),
    sinceMs: fc.double(),
    consoleQuietMs: fc.double(),
    elapsedMs: fc.double(),
    firmware: fc.boolean(),
    exit: fc.record({ code: fc.integer(), signal: fc.integer({ min: 1, max: 31 }) }, { requiredKeys: [] }),
    console: fc.oneof(foreign, fc.uint8Array({ maxLength: 400 })),
    consoleLine: fc.nat(),
    engineLog: foreign,
    enginePid: fc.integer(),
    accelerator: fc.record({ asked: fc.string(), proved: fc.constantFrom('kvm', 'tcg') }, { requiredKeys: [] }),
    kvmVerdict: fc.constantFrom('native' as const, 'emulated' as const, 'unusable' as const),
    kernelArch: fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'amd64')),
    engineArch: fc.string(),
    memoryMib: fc.double(),
    host: fc.record({ availableMib: fc.double(), oomKills: fc.integer(), kernelLog: foreign }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
)

describe('foreign evidence', () => {
  it('never throws, and every cause rests on words that are there', () => {
    fc.assert(
      fc.property(evidences, (evidence) => {
        const causes = likelyCauses(evidence)
        expect(likelyCause(evidence)).toEqual(causes[0])
        expect(new Set(causes.map(({ id }) => id)).size).toBe(causes.length)
        for (const { sentence, remedy, evidence: basis } of causes) {
          expect(sentence).toMatch(/\S.*\.$/s)
          expect(sentence).not.toContain('undefined')
          expect(remedy).toMatch(/\.$/)
          expect(basis.text).not.toBe('')
          expect(basis.line === undefined).toBe(basis.source === 'fact' || basis.source === 'message')
        }
      }),
      { numRuns: 500 },
    )
  })

  it.each(readdirSync(FOLDER).filter((name) => name.endsWith('.console')))('%s may end at any byte', (name) => {
    const bytes = readFileSync(new URL(name, FOLDER))
    fc.assert(
      fc.property(fc.nat(bytes.length), fc.nat(bytes.length), (a, b) => {
        const part = bytes.subarray(Math.min(a, b), Math.max(a, b))
        const lines = part.filter((byte) => byte === 10).length + 1
        for (const { evidence } of likelyCauses({ console: part })) expect(evidence.line).toBeLessThanOrEqual(lines)
      }),
      { numRuns: 20 },
    )
  })

  it.each([
    ['one line', `[    1.000000] ${'mount: mounting '.repeat(60_000)}`],
    ['spaces', `ALERT! ${' '.repeat(1_000_000)}`],
    ['commas', `qemu-system-x86_64: ${"Property '".repeat(100_000)}`],
    ['panics', '[    1.000000] Kernel panic - not syncing: x\n'.repeat(20_000)],
    ['lines', 'root panic mount\n'.repeat(60_000)],
    ['bare returns', 'root\r'.repeat(200_000)],
  ])('a megabyte of %s takes linear time', (_, text) => {
    // Quadratic time would be 10^12 steps: the test's own time limit is the bound.
    expect(likelyCauses({ console: text, engineLog: text, host: { kernelLog: text } }).length).toBeLessThanOrEqual(1)
  })
})
