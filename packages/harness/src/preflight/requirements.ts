import { type AcceleratorChoice, chooseAccelerator, type KvmAnswer } from './accelerator.ts'
import type { Finding } from './finding.ts'

/** What a run can require of its host. Each is one word of `--require`. */
export const requirements = ['boot', 'kvm', 'firmware-kvm', 'busybox', 'vsock', 'tun'] as const
export type Requirement = (typeof requirements)[number]

/** What each means, for help texts. */
export const requirementMeanings: { readonly [name in Requirement]: string } = {
  boot: 'Linux boxes boot, under whatever accelerator',
  kvm: 'Linux boxes run under KVM',
  'firmware-kvm': 'firmware boxes can run under KVM',
  busybox: 'bare boxes have a shell',
  vsock: 'the host has vhost-vsock',
  tun: 'the host has net/tun',
}

/** The accelerator that `accel: 'auto'` takes for each kind of guest. */
export interface BoxAccelerators {
  readonly linux: AcceleratorChoice
  readonly firmware: AcceleratorChoice
}

/** What is known of the host when a requirement is looked at; nothing of KVM where the runtime does not load. */
export interface Known {
  readonly findings: readonly Finding[]
  readonly kvm?: KvmAnswer | undefined
}

/** Whether a word names a requirement. */
export function isRequirement(word: string): word is Requirement {
  return (requirements as readonly string[]).includes(word)
}

/** Why the host does not give what is required, in one sentence; undefined where it does. */
export function unmet(requirement: Requirement, { findings, kvm }: Known): string | undefined {
  if (requirement === 'kvm') return underKvm(requirement, 'linux', kvm)
  if (requirement === 'firmware-kvm') return underKvm(requirement, 'firmware', kvm)
  const missing =
    requirement === 'boot'
      ? findings.find(({ id, outcome }) => bootNeeds.has(id) && outcome === 'failed')
      : findings.find(({ id, outcome }) => id === requirement && outcome !== 'ok')
  return missing && `\`${requirement}\` is required: ${missing.title}: ${missing.detail}`
}

// What is needed for any box is looked at in any case.
const bootNeeds: ReadonlySet<string> = new Set(['kernel', 'memory'])

function underKvm(
  requirement: Requirement,
  guest: 'linux' | 'firmware',
  kvm: KvmAnswer | undefined,
): string | undefined {
  if (!kvm) return `\`${requirement}\` is required, and KVM was not tested, since the native runtime does not load`
  const choice = chooseAccelerator('kvm', guest, kvm)
  return 'refusal' in choice ? `\`${requirement}\` is required: ${choice.refusal}` : undefined
}
