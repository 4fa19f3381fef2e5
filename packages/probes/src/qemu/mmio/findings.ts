import type { MemoryMap } from '../mtree/owners.ts'
import type { TraceFacts } from '../trace/tokenize.ts'
import type { ConfigSpace } from './config-space.ts'
import type { MmioFinding, PhaseRow, RegionRow } from './report.ts'

interface Found {
  readonly trace: TraceFacts
  readonly map: MemoryMap | undefined
  readonly regions: readonly RegionRow[]
  readonly config: ConfigSpace | undefined
  readonly phases: readonly PhaseRow[]
  readonly console: { readonly bytes: number }
}

/** What a person should know before they read the numbers. */
export function mmioFindings({ trace, map, regions, config, phases, console }: Found): readonly MmioFinding[] {
  const { events } = trace
  const has = (pattern: RegExp): boolean => Object.keys(events).some((name) => pattern.test(name))
  const nameless = regions.filter(({ named }) => named === 'address').length
  const ownerless = regions.filter(({ device, pointers }) => device === undefined && pointers > 1)
  const findings: MmioFinding[] = []
  const add = (name: MmioFinding['name'], message: string): void => void findings.push({ name, message })
  if (regions.length === 0)
    add('regions-not-traced', 'accesses to memory regions were not traced: enable memory_region_ops_read and _write')
  else if (!has(/^memory_region_\w+_read$/))
    add('reads-not-traced', 'there is not one read of a region: memory_region_ops_read was not enabled')
  else if (!has(/^memory_region_\w+_write$/))
    add('writes-not-traced', 'there is not one write to a region: memory_region_ops_write was not enabled')
  if (nameless > 0)
    add(
      'no-names',
      `${nameless} regions have no name (QEMU prints none before 6.2, nor for subpages and assigned memory); they go by address, and reads of absent functions by memory (ECAM) do not show${map ? '' : ', and a memory map of the same boot names them'}`,
    )
  if (regions.length > 0 && phases.length === 1)
    add(
      'no-phases',
      console.bytes === 0
        ? 'nothing was written to port 0x3f8, so there are no phases: the guest has its console elsewhere, or none'
        : 'the console in the trace shows no line that begins a phase (it is quiet, or no kernel ran), so there is one',
    )
  for (const note of map?.notes ?? []) add('map-incomplete', note)
  if (ownerless.length > 0)
    add(
      'owner-unknown',
      `several regions share a name and are counted together: ${ownerless.map(({ name, pointers }) => `${name} (${pointers})`).join(', ')}${map ? '; the memory map does not tell them apart' : '; a memory map of the same boot (--mtree) tells whose they are'}`,
    )
  if (config?.source === 'accesses' && (config.byDevice.length > 0 || (config.absent?.functions ?? 0) > 0))
    add(
      'config-not-traced',
      'pci_cfg_* was not traced: functions have no names, and one counts as absent that answered every read with all ones',
    )
  return findings
}
