import { type Ablation, ablation, type ExitsReport } from '@boxlab/probes'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bootBox } from '../boot-box.ts'
import { exclusiveHost } from '../ledger/index.ts'
import type { BoxOptions } from '../options.ts'
import { readExits } from '../reports/record-exits.ts'
import { seeded } from './order.ts'

/** What can be taken away from a boot, and how its options change. A command line is the user's with more at its end. */
export const ABLATIONS: Readonly<Record<AblationName, (options: BoxOptions) => BoxOptions>> = {
  rng: (options) => ({ ...options, devices: { ...options.devices, rng: false } }),
  ioeventfd: (options) => ({ ...options, devices: { ...options.devices, ioeventfd: false } }),
  // Each byte on the console is two exits: the kernel says little.
  'console-bytes': (options) => ({ ...options, cmdline: `${options.cmdline ?? ''} quiet`.trim() }),
  // Linux looks for a PCI root on each of 256 buses.
  'bus-scan': (options) => ({ ...options, cmdline: `${options.cmdline ?? ''} pci=lastbus=0`.trim() }),
}

export type AblationName = 'rng' | 'ioeventfd' | 'console-bytes' | 'bus-scan'

/** How an ablation is booted. */
export interface AblationOrder {
  readonly rows: readonly AblationName[]
  /** Boots of each row, and of the base. */
  readonly boots: number
  /** Decides the order of the boots. */
  readonly seed: number
  readonly signal?: AbortSignal | undefined
  readonly booted?: (boot: { readonly done: number; readonly of: number; readonly row: string }) => void
}

/**
 * Boots a box as it is and with something taken away, each row once a round in an order that the seed decides, on a host
 * that no other box of this user uses. Fails with the first boot that fails, and where a boot has no counters of KVM.
 */
export async function bootAblation(options: BoxOptions, order: AblationOrder): Promise<Ablation> {
  const { rows, boots, seed, signal, booted } = order
  const random = seeded(seed)
  const names = ['all', ...rows] as const
  const reports = new Map<string, ExitsReport[]>(names.map((name) => [name, []]))
  const scratch = await mkdtemp(join(tmpdir(), 'boxlab-ablation-'))
  using host = await exclusiveHost({ label: 'an ablation of exits', signal })
  try {
    let done = 0
    for (let round = 0; round < boots; round += 1) {
      const turns = names.map((name) => ({ name, at: random() })).toSorted((a, b) => a.at - b.at)
      for (const { name } of turns) {
        const changed = name === 'all' ? options : ABLATIONS[name](options)
        const dir = join(scratch, `${round}-${name}`)
        const counters = options.record?.counters ?? true
        const box = await bootBox({ ...changed, signal, record: { counters, dir, keep: 'always' } })
        await box.stop()
        const result = readExits(dir)
        if (!result.found) throw new Error(result.message)
        reports.get(name)?.push(result)
        done += 1
        booted?.({ done, of: boots * names.length, row: name })
      }
    }
  } finally {
    host.release()
    await rm(scratch, { recursive: true, force: true })
  }
  return ablation(reports.get('all') ?? [], Object.fromEntries(rows.map((name) => [name, reports.get(name) ?? []])))
}
