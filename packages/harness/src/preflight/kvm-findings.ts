import type { KvmPreflight } from '@boxlab/native'
import type { About, Finding } from './finding.ts'

type Tier = KvmPreflight['tiers'][number]

const titles: { readonly [id in Tier['id']]: string } = {
  open: 'KVM: device opens',
  'api-version': 'KVM: API version',
  'create-vm': 'KVM: makes a VM',
  'real-mode-hlt': 'KVM: runs firmware code',
  'long-mode': 'KVM: runs kernel code',
}

const slow = 'Linux boxes run under TCG: timing lanes refuse it, and boots are much slower than under KVM'

/** One finding a tier of the preflight. An absent preflight could not be asked for. */
export function kvmFindings(preflight: KvmPreflight | undefined): Finding[] {
  if (preflight) return preflight.tiers.map((tier) => tierFinding(tier, preflight))
  return Object.entries(titles).map(([id, title]) => ({
    ...about(id, title),
    outcome: 'not-run',
    detail: 'Not run, since the native runtime does not load.',
    durationMs: 0,
  }))
}

function tierFinding(tier: Tier, { verdict, insnEmulation }: KvmPreflight): Finding {
  const emulates = tier.id === 'long-mode' && verdict === 'emulated'
  const failed = tier.outcome === 'failed'
  return {
    ...about(tier.id, titles[tier.id] ?? tier.id),
    // KVM that emulates kernels still runs firmware natively enough.
    outcome: failed && emulates ? 'limited' : tier.outcome,
    detail: tier.detail,
    ...(tier.remedy && { remedy: tier.remedy }),
    ...(failed && { limit: emulates ? slow : `${slow}; firmware boxes run under TCG too` }),
    ...(tier.id === 'long-mode' && insnEmulation ? { facts: { insnEmulation: withoutNulls(insnEmulation) } } : {}),
    durationMs: tier.durationMs,
  }
}

function about(id: string, title: string): About {
  return { id: `kvm-${id}`, title, level: 'wanted' }
}

/** The runtime writes null for what it did not measure; here that is absent. */
function withoutNulls(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, part: unknown) => (part === null ? undefined : part)))
}
