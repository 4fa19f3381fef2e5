import { describe, expect, test } from 'vitest'
import { chooseAccelerator, type KvmAnswer } from '../../src/preflight/accelerator.ts'

const tier = (id: string, outcome: string, detail: string, remedy?: string): KvmAnswer['tiers'][number] =>
  ({ id, outcome, detail, remedy: remedy ?? null, durationMs: 1 }) as KvmAnswer['tiers'][number]

const native: KvmAnswer = { verdict: 'native', tiers: [tier('long-mode', 'ok', 'Hardware runs it.')] }
const emulated: KvmAnswer = { verdict: 'emulated', tiers: [tier('long-mode', 'failed', 'KVM emulates.')] }
const unusable: KvmAnswer = {
  verdict: 'unusable',
  tiers: [
    tier('open', 'failed', 'Opening /dev/kvm failed with EACCES.', 'Join the group kvm.'),
    tier('create-vm', 'not-run', 'Not run, since open failed.'),
  ],
}

describe('auto takes KVM where it runs this kind of guest, and says why', () => {
  test.for([
    ['linux', native, 'kvm', /processor/],
    ['linux', emulated, 'tcg', /emulates guest code/],
    ['linux', unusable, 'tcg', /Opening \/dev\/kvm failed with EACCES/],
    ['firmware', native, 'kvm', /processor/],
    ['firmware', emulated, 'tcg', /emulates guest code/],
    ['firmware', unusable, 'tcg', /Opening \/dev\/kvm failed with EACCES/],
  ] as const)('%s guest, %o: %s', ([guest, answer, accel, reason]) => {
    expect(chooseAccelerator('auto', guest, answer)).toEqual({ accel, reason: expect.stringMatching(reason) })
  })
})

describe('kvm is taken at its word or refused, and never becomes TCG', () => {
  test('on real KVM both kinds of guest get it', () => {
    expect(chooseAccelerator('kvm', 'linux', native)).toMatchObject({ accel: 'kvm' })
    expect(chooseAccelerator('kvm', 'firmware', native)).toMatchObject({ accel: 'kvm' })
  })

  test('where KVM emulates, firmware gets it and a Linux kernel is refused with the way out', () => {
    expect(chooseAccelerator('kvm', 'firmware', emulated)).toMatchObject({ accel: 'kvm' })
    expect(chooseAccelerator('kvm', 'linux', emulated)).toEqual({
      refusal: expect.stringMatching(/instruction by instruction.*use `accel: 'tcg'` or 'auto'/),
    })
  })

  test.for(['linux', 'firmware'] as const)(
    'where KVM cannot be used, %s is refused with the remedy of what failed',
    (guest) => {
      expect(chooseAccelerator('kvm', guest, unusable)).toEqual({
        refusal: "`accel: 'kvm'` cannot be had here: Opening /dev/kvm failed with EACCES. Join the group kvm.",
      })
    },
  )

  test('a failure without a remedy of its own is refused with the way out', () => {
    const answer: KvmAnswer = { verdict: 'unusable', tiers: [tier('create-vm', 'failed', 'It hung.')] }
    expect(chooseAccelerator('kvm', 'linux', answer)).toEqual({
      refusal: expect.stringMatching(/It hung\. use `accel: 'tcg'`/),
    })
  })
})

test.for([native, emulated, unusable])('tcg is what was asked for, whatever KVM can do', (answer) => {
  expect(chooseAccelerator('tcg', 'linux', answer)).toMatchObject({
    accel: 'tcg',
    reason: expect.stringMatching(/asked/),
  })
})
