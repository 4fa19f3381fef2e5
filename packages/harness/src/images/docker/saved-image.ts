import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import type { SourceFacts } from '../build-root.ts'
import { ImageError } from '../errors.ts'
import { counted, type StepProgress } from '../progress.ts'
import { unameOf } from '../sources/oci/platform.ts'
import { decompress } from '../tar/decompress.ts'
import { readTar, type TarEntry } from '../tar/read-tar.ts'
import type { TreeBuilder } from '../tree/tree-builder.ts'
import { imageConfig } from '../image-config.ts'

/** An image out of an engine, as files in a folder. */
export interface SavedImage {
  /** Lowest first: paths, and the digests of the plain archives in them. */
  readonly layers: readonly { readonly path: string; readonly diffId: string }[]
  readonly bytes: number
  readonly configuration: Readonly<Record<string, unknown>>
}

/** Links of an old engine's archive, from a layer to an equal one. */
const LINK_LIMIT = 8

/**
 * Unpacks what `docker save` gives (moby, image/spec/v1.2.md; newer engines add an OCI layout around the same manifest.json)
 * into numbered files of a folder; names of the archive never become paths. Fails with ERR_IMAGE_ARCHIVE.
 */
export async function unpackSaved(
  chunks: AsyncIterable<Uint8Array>,
  folder: string,
  name: string,
): Promise<SavedImage> {
  await mkdir(folder)
  const files = new Map<string, string>()
  const links = new Map<string, string>()
  for await (const entry of readTar(chunks, { name: `the saved ${name}` })) {
    const path = posix.normalize(entry.path)
    if (entry.type === 'symlink') links.set(path, posix.join(posix.dirname(path), entry.link))
    if (entry.type === 'hardlink') links.set(path, posix.normalize(entry.link))
    if (entry.type !== 'file') continue
    const place = join(folder, String(files.size))
    await writePieces(place, entry)
    files.set(path, place)
  }
  const find = (wanted: unknown): string => {
    let path = posix.normalize(String(wanted))
    for (let steps = 0; steps < LINK_LIMIT && links.has(path); steps++) path = links.get(path)!
    const place = files.get(path)
    if (place === undefined) throw damaged(name, `it lacks ${path}`)
    return place
  }
  const [manifest, ...others] = list(await json(find('manifest.json'), name))
  if (!isRecord(manifest) || others.length > 0) throw damaged(name, 'it does not hold one image')
  const configuration = await json(find(manifest['Config']), name)
  const paths = list(manifest['Layers']).map(find)
  const diffIds =
    isRecord(configuration) && isRecord(configuration['rootfs']) ? list(configuration['rootfs']['diff_ids']) : []
  if (!isRecord(configuration) || diffIds.length !== paths.length) {
    throw damaged(name, `it has ${paths.length} layers and names ${diffIds.length}`)
  }
  const layers = paths.map((path, index) => ({ path, diffId: String(diffIds[index]) }))
  const sizes = await Promise.all(paths.map(sizeOf))
  return { layers, configuration, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

/** Lays the layers over each other, the digest of each compared. Fails with ERR_IMAGE_ARCHIVE or ERR_IMAGE_DIGEST. */
export async function addSaved(
  tree: TreeBuilder,
  { layers, bytes, configuration }: SavedImage,
  name: string,
  report: StepProgress,
  signal?: AbortSignal,
): Promise<SourceFacts> {
  report('unpack')
  let before = 0
  for (const [index, { path, diffId }] of layers.entries()) {
    const title = `layer ${index + 1} of ${layers.length}`
    let done = 0
    const file = counted(createReadStream(path, { highWaterMark: 1 << 20 }), (doneBytes) => {
      done = doneBytes
      report('unpack', { doneBytes: before + done, totalBytes: bytes, detail: title })
    })
    const hash = createHash('sha256')
    const layer = `${name}, ${title}`
    const plain = hashed(decompress(file, layer, signal), hash)
    await tree.addLayer(plain, { name: layer, whiteouts: true, wholeWithoutEnd: true, signal })
    const actual = `sha256:${hash.digest('hex')}`
    if (actual !== diffId) {
      const message = `${layer} has the digest ${actual} and should have ${diffId}: build or pull the image again`
      throw new ImageError('ERR_IMAGE_DIGEST', message)
    }
    before += done
  }
  const { architecture, config } = configuration
  const uname = typeof architecture === 'string' && architecture !== '' ? unameOf(architecture) : undefined
  return { sourceBytes: bytes, config: imageConfig(config), ...(uname !== undefined && { architecture: uname }) }
}

async function* hashed(chunks: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    hash.update(chunk)
    yield chunk
  }
}

async function writePieces(path: string, { pieces }: TarEntry): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const { offset, bytes } of pieces) {
      for (let at = 0; at < bytes.length;)
        at += (await file.write(bytes, at, bytes.length - at, offset + at)).bytesWritten
    }
  } finally {
    await file.close()
  }
}

async function sizeOf(path: string): Promise<number> {
  const file = await open(path)
  try {
    return (await file.stat()).size
  } finally {
    await file.close()
  }
}

async function json(path: string, name: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    throw damaged(name, 'its description is no JSON', error)
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function damaged(name: string, what: string, cause?: unknown): ImageError {
  const message = `The archive of ${name} that the container engine gave cannot be read: ${what}. Try another engine version`
  return new ImageError('ERR_IMAGE_ARCHIVE', message, cause)
}
