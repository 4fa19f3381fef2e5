import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

/** A folder as GNU tar archives it, with all that it knows of. */
export function tarOf(folder: string, more: readonly string[] = []): Buffer {
  const args = [
    '--create',
    '--format=posix',
    '--numeric-owner',
    '--xattrs',
    '--xattrs-include=*',
    '--sparse',
    '--sort=name',
  ]
  return execFileSync('tar', [...args, ...more, '--directory', folder, '.'], { maxBuffer: 2 ** 30 })
}

/** One member of an archive that no program would make. */
export interface Member {
  readonly path: string
  /** Default a file. */
  readonly type?: 'file' | 'hardlink' | 'symlink' | 'directory'
  readonly link?: string
  readonly data?: string
  readonly mode?: number
}

const TYPES = { file: '0', hardlink: '1', symlink: '2', directory: '5' } as const

/** An archive of exactly these members. */
export function tarOfMembers(members: readonly Member[]): Buffer {
  const parts = members.flatMap(({ path, type = 'file', link = '', data = '', mode = 0o755 }) => {
    const header = Buffer.alloc(512)
    header.write(path, 0)
    header.write(`${mode.toString(8).padStart(7, '0')}\0${'0'.repeat(7)}\0${'0'.repeat(7)}\0`, 100)
    header.write(`${data.length.toString(8).padStart(11, '0')}\0${'0'.repeat(11)}\0        ${TYPES[type]}${link}`, 124)
    header.write('ustar\u{0}00', 257, 'latin1')
    const sum = header.reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    const body = Buffer.alloc(Math.ceil(data.length / 512) * 512)
    body.write(data)
    return [header, body]
  })
  return Buffer.concat([...parts, Buffer.alloc(1024)])
}

/** What an image is described with. */
export interface LayoutOptions {
  /** Default 'amd64'. */
  readonly architecture?: string
  readonly config?: Record<string, unknown>
  /** Default 'latest'. */
  readonly tag?: string
  /** Gives each blob another content than its digest says, from the layer of this number on. */
  readonly spoilLayer?: number
}

/** Writes an OCI image layout of gzipped layers, lowest first. */
export function writeLayout(folder: string, layers: readonly Buffer[], options: LayoutOptions = {}): void {
  const blobs = join(folder, 'blobs/sha256')
  mkdirSync(blobs, { recursive: true })
  const put = (mediaType: string, bytes: Buffer, spoil = false): Record<string, unknown> => {
    const hex = createHash('sha256').update(bytes).digest('hex')
    writeFileSync(join(blobs, hex), spoil ? Buffer.concat([bytes.subarray(0, -1), Buffer.from('!')]) : bytes)
    return { mediaType, digest: `sha256:${hex}`, size: bytes.length }
  }
  const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
  const { architecture = 'amd64', config = {}, tag = 'latest', spoilLayer } = options
  const diffIds = layers.map((layer) => `sha256:${createHash('sha256').update(layer).digest('hex')}`)
  const configuration = { architecture, os: 'linux', config, rootfs: { type: 'layers', diff_ids: diffIds } }
  const manifest = {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: put('application/vnd.oci.image.config.v1+json', json(configuration)),
    layers: layers.map((layer, index) =>
      put('application/vnd.oci.image.layer.v1.tar+gzip', gzipSync(layer), index === spoilLayer),
    ),
  }
  const descriptor = put(manifest.mediaType, json(manifest))
  const annotations = { 'org.opencontainers.image.ref.name': tag }
  const index = {
    schemaVersion: 2,
    manifests: [{ ...descriptor, annotations, platform: { os: 'linux', architecture } }],
  }
  writeFileSync(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}')
  writeFileSync(join(folder, 'index.json'), json(index))
}

/** Writes a layout with one image for several platforms, out of layouts with one each; its tag is `all`. */
export function writeIndex(folder: string, layouts: readonly string[]): void {
  for (const layout of layouts) cpSync(layout, folder, { recursive: true })
  const manifests = layouts.flatMap((layout) => {
    const { manifests: own } = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')) as { manifests: object[] }
    return own.map((each) => ({ ...each, annotations: {} }))
  })
  const mediaType = 'application/vnd.oci.image.index.v1+json'
  const inner = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, manifests }))
  const hex = createHash('sha256').update(inner).digest('hex')
  writeFileSync(join(folder, 'blobs/sha256', hex), inner)
  const annotations = { 'org.opencontainers.image.ref.name': 'all' }
  const outer = { mediaType, digest: `sha256:${hex}`, size: inner.length, annotations }
  writeFileSync(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [outer] }))
}
