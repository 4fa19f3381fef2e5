import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cachedEntry, type CacheInput, findEntry, removeEntry } from './cache.ts'
import { ImageError, isNoSpace, noSpace, throwIfAborted } from './errors.ts'
import { erofsMakerDigest } from './formats/write-erofs.ts'
import { progressOf, type StepProgress } from './progress.ts'
import type { FormatOptions, ImageConfig, ImageContext, RootFormat, RootImage } from './root-image.ts'
import { findRoot, type FoundImage, readImage, ROOT_KIND, rootInputs, type Target, writeImage } from './stored-root.ts'
import { Spool } from './tree/spool.ts'
import { TreeBuilder } from './tree/tree-builder.ts'
import { treeDigest } from './tree/tree-digest.ts'
import { withWorkspace } from './workspace.ts'

/** What a source gives beside the tree. */
export interface SourceFacts {
  readonly sourceBytes?: number
  /** Where the source itself says it. */
  readonly architecture?: string
  readonly config?: ImageConfig
}

/** How a source becomes a tree. */
export interface RootJob extends FormatOptions {
  /** The source's name. */
  readonly name: string
  /**
   * All that the tree depends on. Absent where only the content itself tells: it is read each time then, and only the image
   * is cached.
   */
  readonly inputs?: CacheInput
  /** A memory of the source that is older is not used. Default: it is used for ever. */
  readonly maxAgeMs?: number
  /** Fills the tree; `folder` is empty and is removed afterwards. */
  readonly fill: (tree: TreeBuilder, folder: string, report: StepProgress) => Promise<SourceFacts>
}

/** What is remembered of a source: which tree it was, and what it said. */
interface Memory extends SourceFacts {
  readonly digest: string
}

/** Raised when equal sources would give another tree. */
const SOURCE_FORM = 1
const SOURCE_KIND = 'source'
const MEMORY_FILE = 'source.json'
/** A distribution is built in some minutes; who waits for that should not give up before. */
const LOCK_TIMEOUT_MS = 1_800_000

/**
 * The root image of a source. Two steps are cached: which tree a source is (kind `source`), and the image of a tree (kind
 * `root`), so that equal trees from several sources are one file. Fails with what the source fails with, or the cache.
 */
export async function buildRoot(context: ImageContext, job: RootJob): Promise<RootImage> {
  const { signal } = context
  throwIfAborted(signal, `Making ${job.name}`)
  const lock = { timeoutMs: LOCK_TIMEOUT_MS, signal }
  const inputs: CacheInput = { form: SOURCE_FORM, source: job.inputs ?? null }
  const format = job.format ?? 'ext4'
  const target = { format, freeMib: job.freeMib ?? 0, tools: format === 'erofs' ? await erofsMakerDigest() : null }
  if (job.inputs !== undefined) {
    const memory = await recall(context.cacheRoot, inputs, job.maxAgeMs)
    const found = memory && (await findRoot(context.cacheRoot, memory.digest, target))
    if (memory && found) return rootImage(memory, found, format, true)
  }
  let made: RootImage | undefined
  const build = async (): Promise<Memory> => {
    const built = await makeRoot(context, job, target)
    made = built.image
    return built.memory
  }
  try {
    if (job.inputs === undefined) await build()
    else {
      const make = async (dir: string): Promise<void> => {
        await writeFile(join(dir, MEMORY_FILE), `${JSON.stringify({ name: job.name, ...(await build()) }, null, 2)}\n`)
      }
      const entry = await cachedEntry(context.cacheRoot, SOURCE_KIND, inputs, make, lock)
      // It was remembered, but its image was removed; or another process made it while this one waited.
      made ??= await fromMemory(context, job, inputs, target, entry.dir)
    }
  } catch (error) {
    if (signal?.aborted && !(error instanceof ImageError)) throwIfAborted(signal, `Making ${job.name}`)
    throw isNoSpace(error) ? noSpace(`Making ${job.name}`, error) : error
  }
  return made!
}

async function fromMemory(
  context: ImageContext,
  job: RootJob,
  inputs: CacheInput,
  target: Target,
  dir: string,
): Promise<RootImage> {
  const memory = JSON.parse(await readFile(join(dir, MEMORY_FILE), 'utf8')) as Memory
  const found = await findRoot(context.cacheRoot, memory.digest, target)
  if (found) return rootImage(memory, found, target.format, true)
  const built = await makeRoot(context, job, target)
  // A mirror may have given other packages than the last time.
  if (built.memory.digest !== memory.digest) await removeEntry(context.cacheRoot, SOURCE_KIND, inputs)
  return built.image
}

/** Reads the source and writes its image, unless an equal tree has one. */
async function makeRoot(
  context: ImageContext,
  job: RootJob,
  target: Target,
): Promise<{ memory: Memory; image: RootImage }> {
  const { cacheRoot, signal } = context
  const { fill } = job
  return withWorkspace(cacheRoot, SOURCE_KIND, async (folder) => {
    const report = progressOf(context, job.name)
    const spool = await Spool.create(join(folder, 'contents'))
    try {
      const tree = new TreeBuilder(spool)
      const facts = await fill(tree, folder, report)
      throwIfAborted(signal, `Making ${job.name}`)
      const memory: Memory = { digest: treeDigest(tree.root), ...facts }
      const known = await findRoot(cacheRoot, memory.digest, target)
      if (known) return { memory, image: rootImage(memory, known, target.format, true) }
      const make = async (dir: string): Promise<void> => {
        report('format')
        await writeImage(dir, tree.root, spool, memory.digest, target, report, signal)
        report('rename')
      }
      const inputs = rootInputs(memory.digest, target)
      const lock = { timeoutMs: LOCK_TIMEOUT_MS, signal }
      const entry = await cachedEntry(cacheRoot, ROOT_KIND, inputs, make, lock)
      return { memory, image: rootImage(memory, await readImage(entry.dir), target.format, !entry.made) }
    } finally {
      await spool.close()
    }
  })
}

/** What is remembered of a source, unless that is too long ago. */
async function recall(cacheRoot: string, inputs: CacheInput, maxAgeMs = Infinity): Promise<Memory | undefined> {
  const entry = await findEntry(cacheRoot, SOURCE_KIND, inputs)
  if (entry === undefined) return undefined
  const path = join(entry.dir, MEMORY_FILE)
  try {
    const { mtimeMs } = await stat(path)
    if (Date.now() - mtimeMs <= maxAgeMs) return JSON.parse(await readFile(path, 'utf8')) as Memory
  } catch {
    // Of no use as it is; it is made again.
  }
  await removeEntry(cacheRoot, SOURCE_KIND, inputs)
  return undefined
}

function rootImage(memory: Memory, image: FoundImage, format: RootFormat, cached: boolean): RootImage {
  const { digest, sourceBytes, config } = memory
  const architecture = memory.architecture ?? image.architecture
  return {
    path: image.path,
    format,
    digest,
    bytes: image.bytes,
    ...(sourceBytes !== undefined && { sourceBytes }),
    ...(architecture !== undefined && { architecture }),
    hasInit: image.init !== undefined,
    ...(image.init !== undefined && { init: image.init }),
    ...(config && { config }),
    cached,
  }
}
