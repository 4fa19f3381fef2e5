import { lstat, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isWhole, readImage } from './stored-root.ts'
import { ENTRY_FILE, removeKey, sweepKind } from './cache.ts'
import { ImageError, systemCode } from './errors.ts'

/** A finished entry of the cache, as a user looks at it. */
export interface StoredEntry {
  /** 64 hex digits. */
  readonly key: string
  /** `root`, `kernel`, `initramfs`, or `source`: what is remembered of a source. */
  readonly kind: string
  /** Sources that a root image came from, or a kernel's package; empty where nothing tells. */
  readonly names: readonly string[]
  readonly dir: string
  /** What it takes on the disk, holes not counted. */
  readonly diskBytes: number
  readonly usedAt: Date
}

/** What a clean-up did. */
export interface CleanUp {
  readonly removed: readonly StoredEntry[]
  /** Entries that were used so short a time ago that some box may be about to open them. */
  readonly kept: readonly StoredEntry[]
  readonly leftBytes: number
}

/** A box that is being made opens its images within this time after they were looked up. */
const IN_USE_MS = 600_000

/**
 * All entries of the cache, the last used first. What is remembered of a source gives its root images a name, and stands for
 * itself only where there is no image any more.
 */
export async function storedEntries(root: string): Promise<StoredEntry[]> {
  const found: { stored: StoredEntry; tree?: string }[] = []
  for (const kind of await kindsOf(root)) {
    for (const key of await keysOf(root, kind)) {
      const entry = await storedEntry(root, kind, key)
      if (entry !== undefined) found.push(entry)
    }
  }
  const isSource = ({ stored }: { stored: StoredEntry }): boolean => stored.kind === 'source'
  const imageTrees = new Set(found.filter((each) => !isSource(each)).map(({ tree }) => tree))
  const shown = found.filter((each) => !isSource(each) || each.tree === undefined || !imageTrees.has(each.tree))
  const named = shown.map(({ stored, tree }): StoredEntry => {
    if (tree === undefined || stored.kind === 'source') return stored
    const names = found.filter((each) => isSource(each) && each.tree === tree).flatMap((each) => each.stored.names)
    return { ...stored, names: [...new Set(names)].toSorted() }
  })
  return named.toSorted((a, b) => b.usedAt.getTime() - a.usedAt.getTime() || (a.key < b.key ? -1 : 1))
}

/** Removes entries, and what is remembered of sources whose last image that was. A box that runs from one goes on. */
export async function removeStored(root: string, entries: Iterable<StoredEntry>): Promise<void> {
  for (const { kind, key } of entries) await removeKey(root, kind, key)
  for (const { kind, key } of await storedEntries(root)) if (kind === 'source') await removeKey(root, kind, key)
}

/** Removes what dead makers left, then the longest unused entries until the rest takes no more than `maxBytes` on the disk. */
export async function collectGarbage(root: string, maxBytes: number): Promise<CleanUp> {
  for (const kind of await kindsOf(root)) await sweepKind(root, kind)
  const entries = await storedEntries(root)
  let leftBytes = entries.reduce((sum, { diskBytes }) => sum + diskBytes, 0)
  const removed: StoredEntry[] = []
  const kept: StoredEntry[] = []
  for (const entry of entries.toReversed()) {
    if (leftBytes <= maxBytes) break
    if (Date.now() - entry.usedAt.getTime() < IN_USE_MS) {
      kept.push(entry)
      continue
    }
    removed.push(entry)
    leftBytes -= entry.diskBytes
  }
  await removeStored(root, removed)
  return { removed, kept, leftBytes }
}

/** Reads every root image whole and compares digests; removes those that differ, and gives them. */
export async function verifyStored(root: string): Promise<{ whole: number; damaged: StoredEntry[] }> {
  const damaged: StoredEntry[] = []
  let whole = 0
  for (const entry of await storedEntries(root)) {
    if (entry.kind !== 'root') continue
    const isGood = await readImage(entry.dir).then(
      (image) => isWhole(image, true),
      () => false,
    )
    if (isGood) whole += 1
    else damaged.push(entry)
  }
  await removeStored(root, damaged)
  return { whole, damaged }
}

async function storedEntry(
  root: string,
  kind: string,
  key: string,
): Promise<{ stored: StoredEntry; tree?: string } | undefined> {
  const dir = join(root, 'images', kind, key)
  try {
    const { mtime } = await stat(join(dir, ENTRY_FILE))
    const inputs = (await jsonOf(join(dir, ENTRY_FILE)))?.['inputs'] as Json | undefined
    const source = kind === 'source' ? await jsonOf(join(dir, 'source.json')) : undefined
    const name = source === undefined ? packageOf(inputs) : source['name']
    const tree = source === undefined ? inputs?.['tree'] : source['digest']
    const names = typeof name === 'string' ? [name] : []
    const stored = { key, kind, names, dir, diskBytes: await bytesOnDisk(dir), usedAt: mtime }
    return { stored, ...(typeof tree === 'string' && kind !== 'initramfs' && { tree }) }
  } catch (error) {
    // It was removed meanwhile, or is not finished.
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return undefined
    throw error
  }
}

/** A kernel's package, which is among what its entry was made from. */
function packageOf(inputs: Json | undefined): string | undefined {
  const packages = inputs?.['packages']
  const first = Array.isArray(packages) ? (packages[0] as Json | undefined) : undefined
  return first && `${String(first['name'])} ${String(first['version'])}`
}

type Json = Readonly<Record<string, unknown>>

async function jsonOf(path: string): Promise<Json | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Json
  } catch {
    return undefined
  }
}

async function bytesOnDisk(path: string): Promise<number> {
  const facts = await lstat(path)
  if (!facts.isDirectory()) return facts.blocks * 512
  const inside = await Promise.all((await readdir(path)).map((name) => bytesOnDisk(join(path, name))))
  return inside.reduce((sum, bytes) => sum + bytes, facts.blocks * 512)
}

async function kindsOf(root: string): Promise<string[]> {
  return (await namesIn(join(root, 'images'))).toSorted()
}

async function keysOf(root: string, kind: string): Promise<string[]> {
  return (await namesIn(join(root, 'images', kind))).filter((name) => /^[0-9a-f]{64}$/.test(name)).toSorted()
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return []
    throw new ImageError('ERR_IMAGE_CACHE', `The image cache ${folder} cannot be read: check its modes`, error)
  }
}
