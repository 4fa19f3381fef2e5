import { createHash } from 'node:crypto'
import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isGone, parseOwner } from '../owner.ts'
import { ImageError, systemCode, throwIfAborted } from './errors.ts'
import { acquireLock, breakStaleLock, type LockOptions } from './lock.ts'

/** What a key is made of: plain JSON data, every fact that the made bytes depend on. */
export type CacheInput =
  | string
  | number
  | boolean
  | null
  | readonly CacheInput[]
  | { readonly [name: string]: CacheInput | undefined }

/** A finished entry; nothing in it changes any more. */
export interface CacheEntry {
  /** Absolute path of the entry's folder. */
  readonly dir: string
  /** sha256 of the inputs, 64 hex digits. */
  readonly key: string
  /** True when this call made it, false when it was there. */
  readonly made: boolean
}

/** Fills the empty folder `dir` with the entry's content. A throw leaves no entry. */
export type MakeEntry = (dir: string) => Promise<void>

/** Written last into every entry, with the inputs it was made from, for whoever wonders what a folder is. */
export const ENTRY_FILE = 'entry.json'
const MAKING = /^[0-9a-f]{64}\.making-(?<owner>[0-9a-f.]+)-[0-9a-f]{8}$/

/**
 * The entry of `<root>/images/<kind>` for these inputs; `make` runs only when it is not there yet, once among all
 * processes that ask at the same time. It is made in a folder beside and renamed in, so that an entry is complete or
 * absent at every instant. What dead makers of this kind left behind is removed before a new one starts.
 * Fails with ERR_IMAGE_CACHE, ERR_IMAGE_LOCK_TIMEOUT, ERR_IMAGE_ABORTED, or with what `make` threw.
 */
export async function cachedEntry(
  root: string,
  kind: string,
  inputs: CacheInput,
  make: MakeEntry,
  options: LockOptions = {},
): Promise<CacheEntry> {
  const folder = kindFolder(root, kind)
  const key = cacheKey(kind, inputs)
  const dir = join(folder, key)
  if (await isComplete(dir)) {
    await markUsed(dir)
    return { dir, key, made: false }
  }
  throwIfAborted(options.signal, `Making ${dir}`)
  await makeFolder(folder)
  const lock = await acquireLock(`${dir}.lock`, options)
  try {
    if (await isComplete(dir)) return { dir, key, made: false }
    await sweep(folder)
    const making = `${dir}.making-${lock.token}`
    await mkdir(making)
    try {
      await make(making)
      await writeFile(join(making, ENTRY_FILE), canonicalJson({ version: 1, kind, inputs }) + '\n')
      return { dir, key, made: await moveIn(making, dir) }
    } finally {
      await rm(making, { recursive: true, force: true, maxRetries: 3 })
    }
  } finally {
    await lock.release()
  }
}

/** The entry for these inputs when it is there; nothing is made. */
export async function findEntry(root: string, kind: string, inputs: CacheInput): Promise<CacheEntry | undefined> {
  const key = cacheKey(kind, inputs)
  const dir = join(kindFolder(root, kind), key)
  if (!(await isComplete(dir))) return undefined
  await markUsed(dir)
  return { dir, key, made: false }
}

/** Removes the entry for these inputs. Whoever has its files open keeps them. */
export async function removeEntry(root: string, kind: string, inputs: CacheInput): Promise<void> {
  await removeKey(root, kind, cacheKey(kind, inputs))
}

/** Removes an entry by its key: first its name, in one step, so that nobody finds half of it. */
export async function removeKey(root: string, kind: string, key: string): Promise<void> {
  const dir = join(kindFolder(root, kind), key)
  const lock = await acquireLock(`${dir}.lock`)
  try {
    // The name of an entry in the making: were this process killed here, the next sweep would go on.
    const leaving = `${dir}.making-${lock.token}`
    await rename(dir, leaving)
    await rm(leaving, { recursive: true, force: true, maxRetries: 3 })
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') {
      throw new ImageError('ERR_IMAGE_CACHE', `The cache entry ${dir} cannot be removed: remove it by hand`, error)
    }
  } finally {
    await lock.release()
  }
}

/** The folder that holds the entries of one kind. */
export function kindFolder(root: string, kind: string): string {
  return join(root, 'images', kind)
}

/** The key of an entry: sha256, in hex, over the canonical JSON of kind and inputs. */
export function cacheKey(kind: string, inputs: CacheInput): string {
  return createHash('sha256').update(canonicalJson({ kind, inputs })).digest('hex')
}

/** JSON with the names of every object sorted and undefined left out: equal data gives equal text. */
export function canonicalJson(value: CacheInput): string {
  return JSON.stringify(value, (_name, part: unknown) => {
    if (typeof part === 'number' && !Number.isFinite(part)) throw new TypeError(`${part} cannot be part of a cache key`)
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    return Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  })
}

/** Whether the finished entry is there. */
async function isComplete(dir: string): Promise<boolean> {
  try {
    return (await stat(join(dir, ENTRY_FILE))).isFile()
  } catch {
    return false
  }
}

/** The time of the entry's own file says when it was last used; a cache that cannot be written to is of use too. */
async function markUsed(dir: string): Promise<void> {
  const now = new Date()
  await utimes(join(dir, ENTRY_FILE), now, now).catch(() => {})
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
  } catch (error) {
    const remedy = 'set BOXLAB_HOME to a folder that you can write to'
    throw new ImageError('ERR_IMAGE_CACHE', `The image cache ${folder} cannot be made: ${remedy}`, error)
  }
}

/** Renames the folder in; false when somebody out of sight of the lock (another container) was first. */
async function moveIn(making: string, dir: string): Promise<boolean> {
  try {
    await rename(making, dir)
    return true
  } catch (error) {
    const taken = ['ENOTEMPTY', 'EEXIST'].includes(systemCode(error) ?? '')
    if (taken && (await isComplete(dir))) return false
    throw new ImageError('ERR_IMAGE_CACHE', `${dir} is in the way of a finished cache entry: remove it`, error)
  }
}

/** Removes what gone makers of a kind left. */
export async function sweepKind(root: string, kind: string): Promise<void> {
  await sweep(kindFolder(root, kind)).catch(() => {})
}

/** Removes what gone makers left. Best effort: what cannot be removed now is for the next sweep. */
async function sweep(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    if (/\.lock(\.[0-9a-f]{8})*$/.test(name)) {
      await breakStaleLock(path).catch(() => {})
      continue
    }
    const owner = parseOwner(MAKING.exec(name)?.groups?.['owner'] ?? '')
    if (owner && isGone(owner, await ageMs(path))) {
      // A child of the dead maker may still write there for a moment.
      await rm(path, { recursive: true, force: true, maxRetries: 3 }).catch(() => {})
    }
  }
}

async function ageMs(path: string): Promise<number> {
  try {
    return Date.now() - (await stat(path)).mtimeMs
  } catch {
    return 0
  }
}
