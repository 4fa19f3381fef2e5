import { ImageError } from '../../errors.ts'

/** An operating system and a processor, as OCI images name them. */
export interface Platform {
  readonly os: string
  readonly architecture: string
  readonly variant?: string
}

/** What OCI (as Go) calls a processor, what Node does, and what `uname -m` says there. */
const ARCHITECTURES: readonly (readonly [oci: string, node: string, uname: string])[] = [
  ['amd64', 'x64', 'x86_64'],
  ['arm64', 'arm64', 'aarch64'],
  ['386', 'ia32', 'i686'],
  ['arm', 'arm', 'armv7l'],
  ['riscv64', 'riscv64', 'riscv64'],
  ['ppc64le', 'ppc64', 'ppc64le'],
  ['s390x', 's390x', 's390x'],
  ['loong64', 'loong64', 'loongarch64'],
]

/** Reads `linux/arm64` or `linux/arm/v7`; without text this machine's. Fails with ERR_IMAGE_ARCHITECTURE. */
export function parsePlatform(text: string | undefined): Platform {
  if (text === undefined) {
    const known = ARCHITECTURES.find(([, node]) => node === process.arch)
    return { os: 'linux', architecture: known?.[0] ?? process.arch }
  }
  const match = /^([a-z0-9]+)\/([a-z0-9_]+)(?:\/([a-z0-9.]+))?$/.exec(text)
  if (!match) {
    const message = `\`platform\` must be like 'linux/arm64', not ${JSON.stringify(text)}`
    throw new ImageError('ERR_IMAGE_ARCHITECTURE', message)
  }
  const [, os, architecture, variant] = match as unknown as [string, string, string, string?]
  return { os, architecture, ...(variant !== undefined && { variant }) }
}

export function formatPlatform({ os, architecture, variant }: Platform): string {
  return [os, architecture, ...(variant === undefined ? [] : [variant])].join('/')
}

/** Whether an image for `offered` is one for `wanted`; a variant counts where both name one. */
export function isFor(wanted: Platform, offered: Partial<Platform>): boolean {
  const variants = wanted.variant === undefined || offered.variant === undefined || wanted.variant === offered.variant
  return wanted.os === (offered.os ?? 'linux') && wanted.architecture === offered.architecture && variants
}

/** As `uname -m` says it. */
export function unameOf(architecture: string): string {
  return ARCHITECTURES.find(([oci]) => oci === architecture)?.[2] ?? architecture
}

/** The error of an image for other machines only. */
export function wrongPlatform(name: string, wanted: Platform, offered: readonly string[]): ImageError {
  const has = offered.length === 0 ? 'it names none' : `it is for ${offered.join(', ')}`
  const message = `${name} has no image for ${formatPlatform(wanted)}: ${has}. Choose another image, or give \`platform\``
  return new ImageError('ERR_IMAGE_ARCHITECTURE', message)
}
