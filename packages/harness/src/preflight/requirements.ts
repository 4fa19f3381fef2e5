import type { AcceleratorChoice } from './accelerator.ts'
import type { Finding } from './finding.ts'

/** What a run can require of its host. Each is one word of `--require`. */
export const requirements = ['boot', 'kvm', 'firmware-kvm', 'busybox', 'vsock', 'tun'] as const
export type Requirement = (typeof requirements)[number]

/** What each means, for help texts. */
export const requirementMeanings: { readonly [name in Requirement]: string } = {
  boot: 'Linux boxes boot, under whatever accelerator',
  kvm: 'Linux boxes run under KVM, on the processor itself',
  'firmware-kvm': 'firmware boxes run under KVM',
  busybox: 'bare boxes have a shell',
  vsock: 'the host has vhost-vsock',
  tun: 'the host has net/tun',
}

/** The accelerator that `accel: 'auto'` takes for each kind of guest. */
export interface BoxAccelerators {
  readonly linux: AcceleratorChoice
  readonly firmware: AcceleratorChoice
}

/** What is known of the host when a requirement is looked at; no accelerators where the runtime does not load. */
export interface Known {
  readonly findings: readonly Finding[]
  readonly boxes?: BoxAccelerators
}

/** Whether a word names a requirement. */
export function isRequirement(word: string): word is Requirement {
  return (requirements as readonly string[]).includes(word)
}

/** Why the host does not give what is required, in one sentence; undefined where it does. */
export function unmet(requirement: Requirement, { findings, boxes }: Known): string | undefined {
  switch (requirement) {
    case 'boot':
      return sentence(requirement, findings.find(({ id, outcome }) => bootNeeds.has(id) && outcome === 'failed'))
    case 'kvm':
      return underKvm(requirement, 'Linux', boxes?.linux)
    case 'firmware-kvm':
      return underKvm(requirement, 'firmware', boxes?.firmware)
    case 'busybox':
    case 'vsock':
    case 'tun':
      return sentence(requirement, findings.find(({ id, outcome }) => id === requirement && outcome !== 'ok'))
  }
}

// What is needed for any box is looked at in any case.
const bootNeeds: ReadonlySet<string> = new Set(['kernel', 'memory'])

function underKvm(requirement: Requirement, guest: string, choice: AcceleratorChoice | undefined): string | undefined {
  if (choice && 'accel' in choice && choice.accel === 'kvm') return undefined
  const why = choice ? ('reason' in choice ? choice.reason : choice.refusal) : 'the native runtime does not load'
  return `\`${requirement}\` is required, and ${guest} boxes do not run under KVM here: ${why}`
}

function sentence(requirement: Requirement, missing: Finding | undefined): string | undefined {
  return missing && `\`${requirement}\` is required: ${missing.title}: ${missing.detail}`
}
