/** How a statistic behaves (QEMU qapi/stats.json, StatsType; Linux include/uapi/linux/kvm.h, KVM_STATS_TYPE_*). */
export const STAT_TYPES = ['cumulative', 'instant', 'peak', 'linear-histogram', 'log2-histogram'] as const
export type StatType = (typeof STAT_TYPES)[number]

/** What a statistic counts in; without a unit it counts things. */
export const STAT_UNITS = ['bytes', 'seconds', 'cycles', 'boolean'] as const
export type StatUnit = (typeof STAT_UNITS)[number]

/** What is known of one statistic. A value times `base ** exponent` is in `unit`: nanoseconds are seconds, 10, -9. */
export interface StatSchema {
  readonly name: string
  readonly target: 'vcpu' | 'vm'
  readonly type: StatType
  readonly unit?: StatUnit
  readonly base?: number
  readonly exponent: number
  /** Width of a bucket of a linear histogram. */
  readonly bucketSize?: number
}

/** A number, a boolean, or the buckets of a histogram. */
export type StatValue = number | boolean | readonly number[]
export type StatValues = ReadonlyMap<string, StatValue>

/** The statistics of one virtual CPU. */
export interface VcpuStats {
  /** `vcpu 0`, or the QOM path where nothing says which number it has. */
  readonly id: string
  readonly values: StatValues
}

/** All statistics that were read together. */
export interface StatsSample {
  /** What the source calls it: the marks it stands for, a file, a key in a file. */
  readonly label: string
  /** Which VM, where the source says so: samples of two VMs have no difference. */
  readonly vmId?: string
  /** Marks of the boot that this sample came right after; empty outside a record. */
  readonly marks: readonly string[]
  /** When it was asked for and answered, in ns of the host's clock. */
  readonly askedNs?: number
  readonly atNs?: number
  readonly vm: StatValues
  /** In the order of their ids. */
  readonly vcpus: readonly VcpuStats[]
}

/** The name of a vCPU by its number. */
export function vcpuId(index: number): string {
  return `vcpu ${index}`
}

/** `vcpu 2` before `vcpu 10`, and names without a number by their text. */
export function compareIds(a: string, b: string): number {
  const [first, second] = [a, b].map((id) => Number(/(\d{1,9})\D{0,9}$/.exec(id.slice(-24))?.[1] ?? -1)) as [
    number,
    number,
  ]
  return first - second || (a < b ? -1 : a > b ? 1 : 0)
}

/** A counter summed over the vCPUs, or that of the VM; absent where a vCPU lacks it. */
export function sumOf({ vm, vcpus }: StatsSample, name: string): number | undefined {
  const ofVm = vm.get(name)
  if (typeof ofVm === 'number') return ofVm
  let sum = 0
  for (const { values } of vcpus) {
    const value = values.get(name)
    if (typeof value !== 'number') return undefined
    sum += value
  }
  return vcpus.length === 0 ? undefined : sum
}
