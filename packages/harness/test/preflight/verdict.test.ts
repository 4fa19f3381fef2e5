import { describe, expect, test } from 'vitest'
import type { KvmAnswer } from '../../src/preflight/accelerator.ts'
import type { Finding } from '../../src/preflight/finding.ts'
import { judge } from '../../src/preflight/verdict.ts'

const finding = (changes: Partial<Finding>): Finding => ({
  id: 'memory',
  title: 'memory',
  level: 'wanted',
  outcome: 'ok',
  detail: 'There is enough.',
  durationMs: 1,
  ...changes,
})

const kvm = (verdict: KvmAnswer['verdict']): KvmAnswer => ({
  verdict,
  tiers: verdict === 'native' ? [] : [{ id: 'open', outcome: 'failed', detail: 'It does not open.', durationMs: 1 }],
})

const limited = finding({ id: 'kvm-long-mode', outcome: 'limited', limit: 'Linux boxes run under TCG' })
const noEngine = finding({
  id: 'engine',
  title: 'QEMU',
  level: 'needed',
  outcome: 'failed',
  detail: 'It is not on PATH.',
})
const noVsock = finding({
  id: 'vsock',
  title: 'vhost-vsock',
  level: 'informational',
  outcome: 'failed',
  detail: 'ENOENT.',
})

describe('without requirements', () => {
  test('a host where everything works is ready', () => {
    expect(judge({ findings: [finding({})], kvm: kvm('native') }, [])).toMatchObject({ verdict: 'ready', exitCode: 0 })
  })

  test('what boxes do without decides nothing', () => {
    expect(judge({ findings: [noVsock] }, [])).toMatchObject({ exitCode: 0, limits: [], blockers: [] })
  })

  test('a limit is said and makes it 1', () => {
    expect(judge({ findings: [limited] }, [])).toEqual({
      verdict: 'limited',
      exitCode: 1,
      blockers: [],
      limits: ['Linux boxes run under TCG'],
    })
  })

  test('something that every box needs makes it 2, and the limits are still said', () => {
    expect(judge({ findings: [noEngine, limited] }, [])).toEqual({
      verdict: 'unusable',
      exitCode: 2,
      blockers: ['QEMU: It is not on PATH.'],
      limits: ['Linux boxes run under TCG'],
    })
  })

  test('something that every box needs and nobody could test is no pass', () => {
    expect(judge({ findings: [{ ...noEngine, outcome: 'not-run' }] }, [])).toMatchObject({ exitCode: 2 })
  })
})

describe('with requirements', () => {
  test('a limit that nobody asked about is no reason', () => {
    expect(judge({ findings: [limited], kvm: kvm('emulated') }, ['firmware-kvm'])).toMatchObject({
      verdict: 'ready',
      exitCode: 0,
    })
    expect(judge({ findings: [limited], kvm: kvm('emulated') }, ['boot'])).toMatchObject({
      verdict: 'ready',
      exitCode: 0,
    })
  })

  test('what is required and missing makes it 2 and is named', () => {
    expect(judge({ findings: [limited], kvm: kvm('emulated') }, ['kvm'])).toMatchObject({
      verdict: 'unusable',
      exitCode: 2,
      blockers: [expect.stringMatching(/^`kvm` is required: .*instruction by instruction/)],
    })
    expect(judge({ findings: [], kvm: kvm('unusable') }, ['firmware-kvm'])).toMatchObject({
      exitCode: 2,
      blockers: [expect.stringMatching(/^`firmware-kvm` is required: .*It does not open/)],
    })
    expect(judge({ findings: [noVsock] }, ['vsock'])).toMatchObject({
      exitCode: 2,
      blockers: ['`vsock` is required: vhost-vsock: ENOENT.'],
    })
    expect(judge({ findings: [finding({ outcome: 'failed', limit: 'no room' })] }, ['boot'])).toMatchObject({
      exitCode: 2,
    })
  })

  test('KVM that nobody could test is no pass', () => {
    expect(judge({ findings: [] }, ['kvm'])).toMatchObject({ exitCode: 2 })
  })

  test('they add to what every box needs and never replace it', () => {
    expect(judge({ findings: [noEngine], kvm: kvm('native') }, ['kvm'])).toMatchObject({ exitCode: 2 })
  })
})
