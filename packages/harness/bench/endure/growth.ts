import { median } from '@boxlab/probes'
import type { Resources } from './own-resources.ts'

/** One quantity over a run. */
export interface Growth {
  readonly name: string
  readonly first: number
  readonly middle: number
  readonly last: number
  /** The largest of all. */
  readonly most: number
  /** Medians of the second and of the last quarter: the first quarter is warm-up. */
  readonly secondQuarter: number
  readonly lastQuarter: number
  readonly allowed: number
  readonly grew: boolean
}

/**
 * How much more the last quarter may hold than the second. Resident memory is never given back evenly: 3 % or 4 MiB, which
 * over a hundred boots is 40 KiB a boot and less than one console buffer. The heap is exact: 1 MiB, or 10 KiB a boot. Of
 * descriptors and threads there may be no more.
 */
function allowance(name: keyof Resources, base: number): number {
  if (name === 'residentMib') return Math.max(4, base * 0.03)
  return name === 'heapMib' ? 1 : 0
}

/** Of these nothing may be there after any boot. */
const none: readonly (keyof Resources)[] = ['children', 'zombies', 'records', 'tempFiles']

/** Judges each quantity. */
export function growthOf(samples: readonly Resources[]): Growth[] {
  const names = Object.keys(samples[0] ?? {}) as (keyof Resources)[]
  return names.map((name) => {
    const values = samples.map((sample) => sample[name])
    const quarter = (index: number): number => {
      const part = values.slice(Math.floor((values.length * index) / 4), Math.floor((values.length * (index + 1)) / 4))
      return median(part) ?? Number.NaN
    }
    const [secondQuarter, lastQuarter] = [quarter(1), quarter(3)]
    const most = Math.max(...values)
    const allowed = allowance(name, secondQuarter)
    return {
      name,
      first: values[0] ?? Number.NaN,
      middle: values[Math.floor(values.length / 2)] ?? Number.NaN,
      last: values.at(-1) ?? Number.NaN,
      secondQuarter,
      lastQuarter,
      most,
      allowed,
      // A NaN is no proof of anything.
      grew: none.includes(name) ? most > 0 : !(lastQuarter - secondQuarter <= allowed),
    }
  })
}
