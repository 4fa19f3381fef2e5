import { ImageError } from '../../errors.ts'
import { imageConfig } from '../../image-config.ts'
import type { ImageConfig } from '../../root-image.ts'
import { type Descriptor, descriptors, isDescriptor, type OciLayout } from './layout.ts'
import { formatPlatform, isFor, type Platform, unameOf, wrongPlatform } from './platform.ts'

/** One image for one platform. */
export interface OciImage {
  /** Lowest first. */
  readonly layers: readonly Descriptor[]
  /** As `uname -m` says it. */
  readonly architecture?: string
  readonly config: ImageConfig
}

/** An index in an index in an index is as deep as any tool makes them. */
const INDEX_DEPTH = 4

/** The manifest for a platform: of an index the one that fits. Fails with ERR_IMAGE_ARCHITECTURE. */
export async function imageFor(layout: OciLayout, top: Descriptor, platform: Platform): Promise<OciImage> {
  let descriptor = top
  for (let depth = 0; depth < INDEX_DEPTH; depth++) {
    const document = await layout.json(descriptor)
    const choices = descriptors(document, 'manifests')
    if (choices === undefined) return readImage(layout, document, platform)
    const fitting = choices.find((choice) => choice.platform !== undefined && isFor(platform, choice.platform))
    const only = choices.length === 1 && choices[0]!.platform === undefined ? choices[0] : undefined
    const next = fitting ?? only
    if (next === undefined) throw wrongPlatform(layout.name, platform, offered(choices))
    descriptor = next
  }
  throw new ImageError('ERR_IMAGE_SOURCE', `${layout.name} is an index of indexes without an end: make it again`)
}

async function readImage(
  layout: OciLayout,
  manifest: Readonly<Record<string, unknown>>,
  platform: Platform,
): Promise<OciImage> {
  const layers = descriptors(manifest, 'layers')
  const configuration = manifest['config']
  if (layers === undefined || !isDescriptor(configuration)) {
    throw new ImageError(
      'ERR_IMAGE_SOURCE',
      `${layout.name} has a manifest without layers or configuration: make it again`,
    )
  }
  for (const { mediaType = '' } of layers) {
    if (mediaType !== '' && (!mediaType.includes('tar') || mediaType.includes('encrypted'))) {
      const message = `${layout.name} has a layer of the type ${mediaType}, which is no readable file system: it is no container image, or an encrypted one`
      throw new ImageError('ERR_IMAGE_SOURCE', message)
    }
  }
  const document = await layout.json(configuration)
  const { os, architecture, variant } = document as Record<string, string | undefined>
  const actual = { ...(os && { os }), ...(architecture && { architecture }), ...(variant && { variant }) }
  if (architecture && !isFor(platform, actual)) {
    throw wrongPlatform(layout.name, platform, [
      formatPlatform({ os: os || 'linux', architecture, ...(variant && { variant }) }),
    ])
  }
  return {
    layers,
    ...(architecture && { architecture: unameOf(architecture) }),
    config: imageConfig(document['config']),
  }
}

function offered(choices: readonly Descriptor[]): string[] {
  const platforms = choices.map(({ platform }) => platform)
  return platforms.flatMap((each) => {
    // Attestations stand in an index as images for nothing.
    if (!each?.architecture || each.architecture === 'unknown') return []
    const { os = 'linux', architecture, variant } = each
    return [formatPlatform({ os, architecture, ...(variant !== undefined && { variant }) })]
  })
}
