import type { Accelerator, KvmPreflight } from '@boxlab/native'

/** The accelerator of a box and why it is that one, or the sentence that refuses what was asked. */
export type AcceleratorChoice = { readonly accel: Accelerator; readonly reason: string } | { readonly refusal: string }

/** What of the preflight decides. */
export type KvmAnswer = Pick<KvmPreflight, 'verdict' | 'tiers'>

/**
 * Chooses what runs guest code. `auto` takes KVM where the processor runs guest code, else TCG, which is faster than
 * a KVM that emulates; `kvm` and `tcg` are taken at their word or refused. Whatever comes out says why: it is shown
 * beside every number.
 */
export function chooseAccelerator(
  asked: 'auto' | 'kvm' | 'tcg',
  guest: 'linux' | 'firmware',
  preflight: KvmAnswer,
): AcceleratorChoice {
  if (asked === 'tcg') return { accel: 'tcg', reason: "`accel: 'tcg'` was asked for" }
  const wanted = asked === 'kvm' ? "`accel: 'kvm'` was asked for, and " : ''
  if (preflight.verdict === 'native') return { accel: 'kvm', reason: `${wanted}the processor runs guest code here` }
  if (preflight.verdict === 'unusable') {
    const why = failureOf(preflight)
    if (asked === 'auto') return { accel: 'tcg', reason: `KVM cannot be used here: ${why.detail}` }
    const remedy = why.remedy ?? "use `accel: 'tcg'` or 'auto'"
    return { refusal: `\`accel: 'kvm'\` cannot be had here: ${unended(why.detail)}. ${remedy}` }
  }
  if (asked === 'auto') {
    return { accel: 'tcg', reason: "this host's KVM emulates guest code instruction by instruction" }
  }
  if (guest === 'firmware') {
    return { accel: 'kvm', reason: `${wanted}this host's KVM runs firmware, though it emulates the code of kernels` }
  }
  return {
    refusal:
      "`accel: 'kvm'` would not boot Linux here: this host's KVM emulates guest kernels instruction by instruction, so that " +
      "a boot takes minutes or dies; use `accel: 'tcg'` or 'auto'",
  }
}

/** Why KVM cannot be used: the first tier that failed. */
export function failureOf(preflight: KvmAnswer): { readonly detail: string; readonly remedy?: string } {
  const failed = preflight.tiers.find(({ outcome }) => outcome === 'failed')
  if (!failed) return { detail: 'the preflight named no reason' }
  return failed.remedy ? { detail: failed.detail, remedy: failed.remedy } : { detail: failed.detail }
}

function unended(sentence: string): string {
  return sentence.replace(/\.$/, '')
}
