import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ImageError, systemCode } from '../../errors.ts'

/** A pointer to a blob (OCI image specification 1.1, descriptor.md), as far as it is read here. */
export interface Descriptor {
  readonly mediaType?: string
  readonly digest: string
  readonly size: number
  readonly platform?: { readonly os?: string; readonly architecture?: string; readonly variant?: string }
  readonly annotations?: Readonly<Record<string, string>>
}

const TAG = 'org.opencontainers.image.ref.name'
// As registries limit a manifest (distribution specification, "Pushing Manifests").
const JSON_LIMIT_BYTES = 4 << 20

/** A folder in the form of the OCI image layout (image-layout.md). */
export class OciLayout {
  /** What the errors call it. */
  readonly name: string
  readonly #folder: string

  constructor(folder: string, name: string) {
    this.#folder = folder
    this.name = name
  }

  /** The image of a tag; without a tag the only one. Fails with ERR_IMAGE_SOURCE. */
  async find(tag: string | undefined): Promise<Descriptor> {
    let index: unknown
    try {
      index = JSON.parse(await readFile(join(this.#folder, 'index.json'), 'utf8'))
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new ImageError(
        'ERR_IMAGE_SOURCE',
        `${this.name} is no OCI layout: its index.json cannot be read (${reason})`,
        error,
      )
    }
    const manifests = descriptors(index, 'manifests') ?? []
    const found = tag === undefined ? manifests : manifests.filter(({ annotations }) => annotations?.[TAG] === tag)
    if (found.length === 1) return found[0]!
    const tags = manifests.map(({ annotations }) => annotations?.[TAG]).filter((each) => each !== undefined)
    const has = tags.length > 0 ? `it has ${tags.join(', ')}` : `it has ${manifests.length} images without a tag`
    const what = tag === undefined ? 'needs a tag, as in oci:/path:tag' : `has no image ${tag}`
    throw new ImageError('ERR_IMAGE_SOURCE', `${this.name} ${what}: ${has}`)
  }

  /** A manifest, an index or a configuration, its digest verified. */
  async json(descriptor: Descriptor): Promise<Readonly<Record<string, unknown>>> {
    if (descriptor.size > JSON_LIMIT_BYTES)
      throw this.#damaged(descriptor, `it says that it has ${descriptor.size} bytes`)
    await this.verify(descriptor)
    try {
      return JSON.parse(await readFile(this.path(descriptor), 'utf8')) as Record<string, unknown>
    } catch (error) {
      throw this.#damaged(descriptor, 'it is no JSON', error)
    }
  }

  /** Reads a blob whole and compares. Fails with ERR_IMAGE_DIGEST, or ERR_IMAGE_SOURCE when it is not there. */
  async verify(descriptor: Descriptor): Promise<void> {
    const path = this.path(descriptor)
    const [algorithm, expected] = descriptor.digest.split(':') as [string, string]
    const hash = createHash(algorithm)
    let bytes: number
    try {
      bytes = (await stat(path)).size
      await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash)
    } catch (error) {
      if (systemCode(error) === undefined) throw error
      const message = `${this.name} lacks the blob ${descriptor.digest}: make or fetch it again`
      throw new ImageError('ERR_IMAGE_SOURCE', message, error)
    }
    const actual = hash.digest('hex')
    if (actual === expected && bytes === descriptor.size) return
    throw this.#damaged(
      descriptor,
      actual === expected ? `it has ${bytes} bytes` : `its digest is ${algorithm}:${actual}`,
    )
  }

  /** Where a blob is; a digest that is none would be a path. */
  path({ digest }: Descriptor): string {
    const match = /^(sha256|sha512):([0-9a-f]{64,128})$/.exec(digest)
    if (!match) {
      throw new ImageError(
        'ERR_IMAGE_DIGEST',
        `${this.name} names a blob ${JSON.stringify(digest)}, which is no digest: make it again`,
      )
    }
    return join(this.#folder, 'blobs', match[1]!, match[2]!)
  }

  #damaged({ digest, size }: Descriptor, what: string, cause?: unknown): ImageError {
    const message = `${this.name}: the blob ${digest} of ${size} bytes is not what it should be: ${what}. Make or fetch it again`
    return new ImageError('ERR_IMAGE_DIGEST', message, cause)
  }
}

/** A list of descriptors of a JSON document; undefined when it has no such list. */
export function descriptors(document: unknown, key: string): Descriptor[] | undefined {
  const list =
    typeof document === 'object' && document !== null ? (document as Record<string, unknown>)[key] : undefined
  if (!Array.isArray(list)) return undefined
  return list.filter((item): item is Descriptor => isDescriptor(item))
}

export function isDescriptor(value: unknown): value is Descriptor {
  if (typeof value !== 'object' || value === null) return false
  const { digest, size } = value as Partial<Record<'digest' | 'size', unknown>>
  return typeof digest === 'string' && Number.isSafeInteger(size)
}
