import type { JobLife } from '../model/job-life.ts'

// `system-x\x2da.slice` holds the instances of `x-a@.service`: the first instance queues it (unit_set_default_slice in
// src/core/unit.c). Dashes of the name are escaped, since a dash makes a slice inside another one.
const SLICE = /^system-((?:[^-\\]|\\x[0-9a-f]{2})+)\.slice$/

/** For each slice of a template's instances, the ids of the jobs of those that were queued with it. */
export function firstInstances(lives: Iterable<JobLife>): ReadonlyMap<number, readonly number[]> {
  const slices = new Map<string, JobLife[]>()
  const instances = new Map<string, JobLife[]>()
  for (const life of lives) {
    const escaped = SLICE.exec(life.unit)?.[1]
    const at = life.unit.indexOf('@')
    if (escaped !== undefined) push(slices, unescape(escaped), life)
    else if (at > 0) push(instances, life.unit.slice(0, at), life)
  }
  const found = new Map<number, readonly number[]>()
  for (const [prefix, jobs] of slices) {
    for (const job of jobs) {
      const queuedWith = (instances.get(prefix) ?? []).filter((instance) => overlap(job, instance))
      if (queuedWith.length > 0)
        found.set(
          job.id,
          queuedWith.map(({ id }) => id).toSorted((a, b) => a - b),
        )
    }
  }
  return found
}

function unescape(name: string): string {
  return name.replace(/\\x([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

function overlap(one: JobLife, other: JobLife): boolean {
  if (one.firstSeq === undefined || other.firstSeq === undefined) return false
  const [oneGone = Number.POSITIVE_INFINITY, otherGone = Number.POSITIVE_INFINITY] = [one.goneSeq, other.goneSeq]
  return one.firstSeq < otherGone && other.firstSeq < oneGone
}

function push(map: Map<string, JobLife[]>, key: string, life: JobLife): void {
  const known = map.get(key)
  if (known === undefined) map.set(key, [life])
  else known.push(life)
}
