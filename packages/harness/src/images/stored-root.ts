import { chmod, lstat, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CacheInput, findEntry, removeEntry } from './cache.ts'
import { fileDigest } from './digest.ts'
import { writeExt4 } from './formats/ext4/write-ext4.ts'
import { writeErofs } from './formats/write-erofs.ts'
import { writeInitramfs } from './formats/write-initramfs.ts'
import type { StepProgress } from './progress.ts'
import type { RootFormat } from './root-image.ts'
import type { DirectoryNode } from './tree/node.ts'
import type { Spool } from './tree/spool.ts'
import { treeFacts } from './tree/tree-facts.ts'

/** In which form a tree is asked for. */
export interface Target {
  readonly format: RootFormat
  readonly freeMib: number
  readonly tools: string | null
}

/** Beside every root image. */
export interface ImageFile {
  readonly file: string
  readonly sha256: string
  readonly bytes: number
  /** Nanoseconds: together with the size it shows cheaply that nobody wrote to the file. */
  readonly mtimeNs: string
  readonly architecture?: string
  readonly init?: string
  readonly entries: number
  readonly contentBytes: number
}

/** Raised when equal trees would give other bytes. */
const IMAGE_FORM = 2
/** The kind of cache entry that holds root images. */
export const ROOT_KIND = 'root'
const IMAGE_FILE = 'image.json'

/** Writes a tree's image, and what is said beside it, into the empty folder of an entry. */
export async function writeImage(
  dir: string,
  root: DirectoryNode,
  spool: Spool,
  digest: string,
  { format, freeMib }: Target,
  report: StepProgress,
  signal: AbortSignal | undefined,
): Promise<void> {
  const path = join(dir, `root.${format}`)
  const facts = treeFacts(root)
  const onBytes = (doneBytes: number, totalBytes = facts.contentBytes): void =>
    report('format', { doneBytes, totalBytes: Math.max(doneBytes, totalBytes) })
  const options = { digest, onBytes, signal }
  if (format === 'ext4') await writeExt4(path, root, spool, { ...options, freeMib })
  else if (format === 'erofs') await writeErofs(path, root, spool, options)
  else await writeInitramfs(path, root, spool, options)
  await chmod(path, 0o444)
  const { size, mtimeNs } = await stat(path, { bigint: true })
  const { architecture, init, entries, contentBytes } = facts
  const image: ImageFile = {
    file: `root.${format}`,
    sha256: await fileDigest(path),
    bytes: Number(size),
    mtimeNs: String(mtimeNs),
    ...(architecture !== undefined && { architecture }),
    ...(init !== undefined && { init }),
    entries,
    contentBytes,
  }
  await writeFile(join(dir, IMAGE_FILE), `${JSON.stringify(image, null, 2)}\n`)
}

/** The image of a tree, when it is there and whole; a damaged one is removed. */
export async function findRoot(cacheRoot: string, digest: string, target: Target): Promise<FoundImage | undefined> {
  const inputs = rootInputs(digest, target)
  const entry = await findEntry(cacheRoot, ROOT_KIND, inputs)
  if (entry === undefined) return undefined
  try {
    const image = await readImage(entry.dir)
    if (await isWhole(image)) return image
  } catch {
    // No image, or no description of it.
  }
  await removeEntry(cacheRoot, ROOT_KIND, inputs)
  return undefined
}

/** A root image in the cache. */
export interface FoundImage extends ImageFile {
  readonly path: string
}

/** Reads what is beside a root image. */
export async function readImage(dir: string): Promise<FoundImage> {
  const image = JSON.parse(await readFile(join(dir, IMAGE_FILE), 'utf8')) as ImageFile
  return { ...image, path: join(dir, image.file) }
}

/**
 * Size and time of the last write are compared at each use, which costs nothing; where they differ (a cache that was copied)
 * the digest of all bytes decides. `boxlab image verify` compares that for every image.
 */
export async function isWhole(image: FoundImage, thoroughly = false): Promise<boolean> {
  const { size, mtimeNs } = await lstat(image.path, { bigint: true })
  if (Number(size) !== image.bytes) return false
  if (!thoroughly && String(mtimeNs) === image.mtimeNs) return true
  return (await fileDigest(image.path)) === image.sha256
}

/** What the key of a root image is made of. */
export function rootInputs(digest: string, { format, freeMib, tools }: Target): CacheInput {
  return { form: IMAGE_FORM, tree: digest, format, freeMib, tools }
}
