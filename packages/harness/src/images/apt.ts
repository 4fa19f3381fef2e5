import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from './command.ts'
import { ImageError } from './errors.ts'

/** A package as the lists of apt have it: name, version and the digest that apt checks the download against. */
export interface AptPackage {
  readonly name: string
  readonly version: string
  readonly sha256: string
  /** Names in Depends; of alternatives (`a | b`) the first. */
  readonly depends: readonly string[]
}

const NOT_DEBIAN = 'this kernel comes from apt packages; on another system give the `kernel` option a path'

/** Looks a package up in apt's lists; needs no root and no network. Fails with ERR_IMAGE_PACKAGE. */
export async function findPackage(name: string, signal?: AbortSignal): Promise<AptPackage> {
  if (!/^[a-z0-9][a-z0-9+.-]+$/.test(name)) {
    throw new ImageError(
      'ERR_IMAGE_PACKAGE',
      `"${name}" is not the name of a package: give the kernel's \`package\` as apt has it`,
    )
  }
  const args = ['show', '--no-all-versions', name]
  let text: string
  try {
    text = (await runCommand('apt-cache', args, { whenMissing: NOT_DEBIAN, signal })).toString('utf8')
  } catch (error) {
    if (!(error instanceof ImageError) || error.code !== 'ERR_IMAGE_COMMAND') throw error
    throw await unknownPackage(name, error)
  }
  const field = (key: string): string => new RegExp(`^${key}: (.*)$`, 'm').exec(text)?.[1] ?? ''
  const depends = field('Depends')
    .split(',')
    .map((item) => /^\s*([^\s:(|]+)/.exec(item)?.[1] ?? '')
  // A package that is only installed has no digest in the lists: it cannot be downloaded again.
  const sha256 = field('SHA256')
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw await unknownPackage(name)
  return { name, version: field('Version'), sha256, depends: depends.filter((item) => item !== '') }
}

/**
 * Downloads packages into the folder `dir` and gives the paths of their files; needs no root. apt checks each against
 * the digest in its signed lists. Fails with ERR_IMAGE_COMMAND or ERR_IMAGE_ABORTED.
 */
export async function downloadPackages(
  packages: readonly AptPackage[],
  dir: string,
  signal?: AbortSignal,
): Promise<string[]> {
  const asked = packages.map(({ name, version }) => `${name}=${version}`)
  try {
    await runCommand('apt-get', ['download', '--quiet', ...asked], {
      cwd: dir,
      timeoutMs: 900_000,
      whenMissing: NOT_DEBIAN,
      signal,
    })
  } catch (error) {
    if (!(error instanceof ImageError) || error.code !== 'ERR_IMAGE_COMMAND') throw error
    const message = `${asked.join(', ')} cannot be downloaded: run \`apt-get update\` as root and try again, or check the network`
    throw new ImageError('ERR_IMAGE_PACKAGE', `${message} (${error.message})`, error)
  }
  return (await readdir(dir))
    .filter((name) => name.endsWith('.deb'))
    .toSorted()
    .map((name) => join(dir, name))
}

/** Unpacks a package's files below `dir`, without installing it; needs no root. */
export async function unpackPackage(file: string, dir: string, signal?: AbortSignal): Promise<void> {
  const whenMissing = 'install the package dpkg'
  await runCommand('dpkg-deb', ['--extract', file, dir], { timeoutMs: 300_000, whenMissing, signal })
}

async function unknownPackage(name: string, cause?: unknown): Promise<ImageError> {
  const message = (await hasLists())
    ? `apt knows no package ${name} that it could download: check the name, or give the \`kernel\` option a path`
    : `apt has no package lists, so ${name} cannot be found: run \`apt-get update\` as root`
  return new ImageError('ERR_IMAGE_PACKAGE', message, cause)
}

/** Whether any list of packages is there; apt may keep them elsewhere, and compressed. */
async function hasLists(): Promise<boolean> {
  try {
    const output = await runCommand('apt-config', ['shell', 'LISTS', 'Dir::State::lists/d'], {
      whenMissing: NOT_DEBIAN,
    })
    const dir = /^LISTS='(.*)'$/m.exec(output.toString('utf8'))?.[1] ?? '/var/lib/apt/lists/'
    return (await readdir(dir)).some((file) => /_Packages(\.\w+)?$/.test(file))
  } catch {
    return false
  }
}
