import { createReadStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { buildRoot, type RootJob, type SourceFacts } from '../../build-root.ts'
import type { CacheInput } from '../../cache.ts'
import { bytesDigest } from '../../digest.ts'
import { counted, type StepProgress } from '../../progress.ts'
import {
  type FormatOptions,
  formatOptions,
  type ImageContext,
  type ImageSource,
  type RootImage,
} from '../../root-image.ts'
import { decompress } from '../../tar/decompress.ts'
import type { TreeBuilder } from '../../tree/tree-builder.ts'
import { sourceFile } from '../source-file.ts'
import { imageFor } from './image.ts'
import { OciLayout } from './layout.ts'
import { formatPlatform, parsePlatform, type Platform } from './platform.ts'
import { type OciReference, parseReference } from './reference.ts'
import { copyToLayout, inspectRaw, type RegistryOptions, type SkopeoOptions } from './skopeo.ts'

/** How an OCI image is read. */
export interface OciOptions extends FormatOptions, RegistryOptions {
  /** As in `linux/arm64`. Default: this machine's. An image for other platforms only is ERR_IMAGE_ARCHITECTURE. */
  readonly platform?: string
}

/**
 * A container image: `oci:/path[:tag]` (a layout), `docker-archive:/path[:name]` (of `docker save`), `oci-archive:/path[:tag]`,
 * or a reference to a registry, such as `localhost:5000/name:tag`. Credentials are those of `docker login`. A tag is asked for
 * at each `resolve`; a reference with a digest, once cached, needs no registry. Layers are laid over each other here
 * (OCI image specification 1.1, layer.md), each blob's digest compared before it is read.
 */
export function oci(ref: string, options: OciOptions = {}): ImageSource {
  const name = `oci ${ref}`
  return {
    name,
    async resolve(context) {
      const reference = parseReference(ref)
      const platform = parsePlatform(options.platform)
      if (reference.kind === 'layout') return fromLayout(context, name, reference, platform, options)
      return fromElsewhere(context, name, reference, platform, options)
    },
  }
}

type Layout = Extract<OciReference, { kind: 'layout' }>

async function fromLayout(
  context: ImageContext,
  name: string,
  reference: Layout,
  platform: Platform,
  options: OciOptions,
): Promise<RootImage> {
  const layout = new OciLayout(reference.path, name)
  const top = await layout.find(reference.tag)
  return buildRoot(context, {
    ...job(name, { manifest: top.digest }, platform, options),
    fill: (tree, _folder, report) => addImage(tree, layout, reference.tag, platform, report, context.signal),
  })
}

/** Archives and registries become a layout first. */
async function fromElsewhere(
  context: ImageContext,
  name: string,
  reference: Exclude<OciReference, Layout>,
  platform: Platform,
  options: OciOptions,
): Promise<RootImage> {
  const tlsVerify = options.tlsVerify ?? (reference.kind === 'registry' && reference.isLoopback ? false : undefined)
  const skopeo: SkopeoOptions = {
    name,
    platform,
    ...(reference.kind === 'registry' && tlsVerify !== undefined && { tlsVerify }),
    ...(options.certificates !== undefined && { certificates: options.certificates }),
    signal: context.signal,
  }
  const { image, input } = await locate(reference, skopeo)
  return buildRoot(context, {
    ...job(name, input, platform, options),
    async fill(tree, folder, report) {
      report('fetch')
      const place = join(folder, 'layout')
      const temporary = join(folder, 'temporary')
      await mkdir(temporary)
      await copyToLayout(image, place, temporary, { ...skopeo, onLine: (detail) => report('fetch', { detail }) })
      return addImage(tree, new OciLayout(place, name), undefined, platform, report, context.signal)
    },
  })
}

/** What skopeo is asked for, and what stands for all of its bytes. */
async function locate(
  reference: Exclude<OciReference, Layout>,
  skopeo: SkopeoOptions,
): Promise<{ image: string; input: CacheInput }> {
  if (reference.kind === 'archive') {
    const { path, sha256 } = await sourceFile(reference.path, 'archive')
    const tag = reference.tag === undefined ? '' : `:${reference.tag}`
    return { image: `${reference.transport}:${path}${tag}`, input: { archive: sha256, tag } }
  }
  const { repository, digest, reference: full } = reference
  // A tag may move between being asked for and being fetched: the digest is what is fetched.
  const manifest = digest ?? `sha256:${bytesDigest(await inspectRaw(`docker://${full}`, skopeo))}`
  return { image: `docker://${repository}@${manifest}`, input: { manifest } }
}

function job(name: string, input: CacheInput, platform: Platform, options: OciOptions): Omit<RootJob, 'fill'> {
  return { ...formatOptions(options), name, inputs: { oci: input, platform: formatPlatform(platform) } }
}

async function addImage(
  tree: TreeBuilder,
  layout: OciLayout,
  tag: string | undefined,
  platform: Platform,
  report: StepProgress,
  signal: AbortSignal | undefined,
): Promise<SourceFacts> {
  report('unpack')
  const { layers, architecture, config } = await imageFor(layout, await layout.find(tag), platform)
  const totalBytes = layers.reduce((sum, { size }) => sum + size, 0)
  let before = 0
  for (const [index, layer] of layers.entries()) {
    const detail = `layer ${index + 1} of ${layers.length}`
    await layout.verify(layer)
    const name = `${layout.name}, layer ${layer.digest}`
    const file = createReadStream(layout.path(layer), { highWaterMark: 1 << 20 })
    const chunks = counted(file, (done) => report('unpack', { doneBytes: before + done, totalBytes, detail }))
    const options = { name, whiteouts: true, wholeWithoutEnd: true, signal }
    await tree.addLayer(decompress(chunks, name, signal), options)
    before += layer.size
  }
  return { sourceBytes: totalBytes, config, ...(architecture !== undefined && { architecture }) }
}
