import { compareIds, type StatSchema, type StatsSample, type StatValue } from './stats.ts'

/** Where statistics are put together as they are found. */
export interface Assembler {
  readonly schemas: Map<string, StatSchema>
  /** Number of a vCPU by its QOM path, as `query-cpus-fast` tells it. */
  readonly indexOfPath: Map<string, number>
  /** A part of a sample: of the VM, or of the vCPU `id`. A part that the sample at hand already has begins the next one. */
  add(part: StatsPart): void
  /** A sample that the source itself keeps whole. */
  addWhole(sample: StatsSample): void
  samples(): readonly StatsSample[]
}

/** Statistics of a VM, or of one vCPU of it. */
export interface StatsPart {
  readonly label: string
  readonly vmId?: string | undefined
  /** Absent for those of the VM. */
  readonly vcpu?: string
  readonly values: ReadonlyMap<string, StatValue>
}

interface Open {
  readonly label: string
  readonly vmId: string | undefined
  vm: ReadonlyMap<string, StatValue> | undefined
  readonly vcpus: Map<string, ReadonlyMap<string, StatValue>>
}

/** Makes an {@link Assembler}. */
export function assembleStats(): Assembler {
  const schemas = new Map<string, StatSchema>()
  const indexOfPath = new Map<string, number>()
  const done: StatsSample[] = []
  let open: Open | undefined

  function close(): void {
    if (!open) return
    const { label, vmId, vm, vcpus } = open
    done.push({
      label,
      ...(vmId !== undefined && { vmId }),
      marks: [],
      vm: vm ?? new Map(),
      vcpus: [...vcpus].map(([id, values]) => ({ id, values })),
    })
    open = undefined
  }

  function fits({ vmId, vcpu }: StatsPart): boolean {
    if (!open || open.vmId !== vmId) return false
    return vcpu === undefined ? open.vm === undefined : !open.vcpus.has(vcpu)
  }

  return {
    schemas,
    indexOfPath,
    add(part) {
      if (!fits(part)) close()
      open ??= { label: part.label, vmId: part.vmId, vm: undefined, vcpus: new Map() }
      if (part.vcpu === undefined) open.vm = part.values
      else open.vcpus.set(part.vcpu, part.values)
    },
    addWhole(sample) {
      close()
      done.push(sample)
    },
    samples() {
      close()
      return done.map((sample) => ({ ...sample, vcpus: byNumber(sample.vcpus, indexOfPath) }))
    },
  }
}

/** The number of a vCPU may stand after its statistics. */
function byNumber(vcpus: StatsSample['vcpus'], indexOfPath: ReadonlyMap<string, number>): StatsSample['vcpus'] {
  const named = vcpus.map(({ id, values }) => {
    const index = indexOfPath.get(id)
    return { id: index === undefined ? id : `vcpu ${index}`, values }
  })
  return named.toSorted((a, b) => compareIds(a.id, b.id))
}
