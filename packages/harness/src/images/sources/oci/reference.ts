import { resolve } from 'node:path'
import { ImageError } from '../../errors.ts'

/** Where an OCI image is. */
export type OciReference =
  | { readonly kind: 'layout'; readonly path: string; readonly tag?: string }
  | {
      readonly kind: 'archive'
      readonly transport: 'docker-archive' | 'oci-archive'
      readonly path: string
      readonly tag?: string
    }
  | {
      readonly kind: 'registry'
      /** With tag or digest, as skopeo takes it after `docker://`. */
      readonly reference: string
      /** Without tag and digest. */
      readonly repository: string
      readonly digest?: string
      /** Whether the registry is on this host, where Docker too speaks http without being told. */
      readonly isLoopback: boolean
    }

/** Reads a reference. Fails with ERR_IMAGE_SOURCE. */
export function parseReference(text: string): OciReference {
  const local = /^(oci|docker-archive|oci-archive):([^:]+)(?::(.+))?$/.exec(text)
  if (local && !text.startsWith('oci://')) {
    const [, transport, path, tag] = local as unknown as [string, string, string, string?]
    const place = { path: resolve(path), ...(tag !== undefined && { tag }) }
    if (transport === 'oci') return { kind: 'layout', ...place }
    return { kind: 'archive', transport: transport as 'docker-archive' | 'oci-archive', ...place }
  }
  const reference = text.replace(/^docker:\/\//, '')
  // Host and port, path, tag, digest; in the words of the distribution's reference grammar.
  const match =
    /^((?:[\w.-]+(?::\d+)?\/|\[[0-9a-f:]+\](?::\d+)?\/)?[a-z0-9._/-]+)(:[\w.-]{1,128})?(?:@(sha256:[0-9a-f]{64}))?$/i.exec(
      reference,
    )
  if (!match || /^[a-z-]+:\//.test(reference)) {
    const forms =
      "'oci:/path:tag', 'docker-archive:/path', 'oci-archive:/path' or a registry reference such as 'localhost:5000/name:tag'"
    throw new ImageError('ERR_IMAGE_SOURCE', `${JSON.stringify(text)} names no image: give ${forms}`)
  }
  const [, repository, tag, digest] = match as unknown as [string, string, string?, string?]
  const host = /^(\[[^\]]*\]|[^:/]+)(?::\d+)?\//.exec(repository)?.[1] ?? ''
  return {
    kind: 'registry',
    // With both, the digest decides.
    reference: digest === undefined ? `${repository}${tag ?? ''}` : `${repository}@${digest}`,
    repository,
    ...(digest !== undefined && { digest }),
    isLoopback: host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host),
  }
}
