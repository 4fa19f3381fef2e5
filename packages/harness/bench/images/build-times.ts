import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { median } from '@boxlab/probes'
import type { ImageSource, RootImage } from '../../src/index.ts'
import { short } from '../overhead/table.ts'
import { diskBytes } from './source-set.ts'

/** What one source took. */
export interface BuildTimes {
  readonly name: string
  readonly image: RootImage
  /** Each in a cache of its own that was empty. */
  readonly coldMs: readonly number[]
  /** Each in a cache that had it. */
  readonly cachedMs: readonly number[]
}

/** Looks into the cache for each build. */
const LOOKS = 5

/** Builds a source into an empty cache below `folder`, then asks for it again. The cache stays with the image. */
export async function buildOnce(name: string, source: ImageSource, folder: string): Promise<BuildTimes> {
  const cacheRoot = mkdtempSync(join(folder, 'cache-'))
  const { ms, image } = await timed(source, cacheRoot)
  if (image.cached) throw new Error(`${name} was in an empty cache`)
  const cachedMs: number[] = []
  for (let look = 0; look < LOOKS; look += 1) {
    const again = await timed(source, cacheRoot)
    if (!again.image.cached) throw new Error(`${name} was built again`)
    cachedMs.push(again.ms)
  }
  return { name, image, coldMs: [ms], cachedMs }
}

/** Builds each source `rounds` times, in turn: what drifts on this host hits all alike. */
export async function buildAll(
  sources: Readonly<Record<string, ImageSource>>,
  rounds: number,
  folder: string,
): Promise<BuildTimes[]> {
  const all = new Map<string, BuildTimes>()
  for (let round = 0; round < rounds; round += 1) {
    const names = Object.keys(sources)
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const before = all.get(name)
      const own = mkdtempSync(join(folder, 'round-'))
      const now = await buildOnce(name, sources[name]!, own)
      if (before && before.image.digest !== now.image.digest) throw new Error(`${name} gave two different images`)
      // The image's size is asked for later: the last round's stays.
      if (round < rounds - 1) rmSync(own, { recursive: true })
      all.set(name, {
        ...now,
        coldMs: [...(before?.coldMs ?? []), ...now.coldMs],
        cachedMs: [...(before?.cachedMs ?? []), ...now.cachedMs],
      })
    }
  }
  return Object.keys(sources).map((name) => all.get(name)!)
}

async function timed(source: ImageSource, cacheRoot: string): Promise<{ ms: number; image: RootImage }> {
  const begin = performance.now()
  const image = await source.resolve({ cacheRoot })
  return { ms: performance.now() - begin, image }
}

/** The head of `buildRow`. */
export const buildHead: readonly string[] = [
  'source',
  'n',
  'cold, ms',
  'n',
  'cached, ms',
  'cached / cold',
  'image, MiB',
  'on disk, MiB',
  'source, MiB',
]

/** One source as a row: medians. */
export function buildRow({ name, image, coldMs, cachedMs }: BuildTimes): string[] {
  const [cold = NaN, cached = NaN] = [median(coldMs), median(cachedMs)]
  return [
    name,
    `${coldMs.length}`,
    short(cold),
    `${cachedMs.length}`,
    short(cached),
    (cached / cold).toPrecision(2),
    mib(image.bytes),
    mib(diskBytes(image.path)),
    image.sourceBytes === undefined ? '-' : mib(image.sourceBytes),
  ]
}

function mib(bytes: number): string {
  return short(bytes / 2 ** 20)
}
