import { createHash } from 'node:crypto'
import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import dockerignore from '@balena/dockerignore'
import { fileDigest } from '../digest.ts'
import { ImageError, systemCode } from '../errors.ts'
import { pipeTool } from '../run-tool.ts'

/** What a builder is given of a folder. */
export interface BuildContext {
  /** Relative to it, each directory before what is in it. */
  readonly names: readonly string[]
  /** Over names, modes, link targets and contents; as for Docker's own cache, times and owners do not count. */
  readonly digest: string
  /** The text of its .dockerignore. */
  readonly ignoreText?: string
}

const IGNORE_FILE = '.dockerignore'
/** Our copy of the Dockerfile; .dockerignore names it, so that the builder takes it away before anything is copied. */
export const OWN_DOCKERFILE = '.boxlab.dockerfile'

/** Looks a folder over, without what its .dockerignore names. Fails with ERR_IMAGE_SOURCE. */
export async function readContext(folder: string, signal?: AbortSignal): Promise<BuildContext> {
  try {
    const ignoreText = await readFile(join(folder, IGNORE_FILE), 'utf8').catch((error: unknown) => {
      if (systemCode(error) === 'ENOENT') return undefined
      throw error
    })
    const isIgnored = ignorer(ignoreText)
    // A folder that is ignored may hold something that is not, where the file says so.
    const hasExceptions = /^\s*!/m.test(ignoreText ?? '')
    const hash = createHash('sha256')
    const names: string[] = []
    const visit = async (path: string): Promise<void> => {
      const entries = (await readdir(join(folder, path), { withFileTypes: true })).toSorted((a, b) =>
        a.name < b.name ? -1 : 1,
      )
      for (const entry of entries) {
        signal?.throwIfAborted()
        const name = path === '' ? entry.name : `${path}/${entry.name}`
        const ignored = isIgnored(name)
        if ((ignored && !(hasExceptions && entry.isDirectory())) || entry.isSocket()) continue
        const at = names.length
        if (entry.isDirectory()) await visit(name)
        if (ignored && names.length === at) continue
        names.splice(at, 0, name)
        hash.update(`${name}\0${await describe(join(folder, name))}\n`)
      }
    }
    await visit('')
    return { names, digest: hash.digest('hex'), ...(ignoreText !== undefined && { ignoreText }) }
  } catch (error) {
    if (systemCode(error) === undefined) throw error
    const reason = (error as Error).message
    throw new ImageError(
      'ERR_IMAGE_SOURCE',
      `The build folder ${folder} cannot be read: check its path and modes (${reason})`,
      error,
    )
  }
}

/** The folder as a tar archive, with a Dockerfile of ours from `extra`, where that and its .dockerignore lie. */
export function packContext(
  folder: string,
  names: readonly string[],
  extra: string,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  const form = ['--format=posix', '--pax-option=delete=atime,delete=ctime', '--numeric-owner', '--no-recursion']
  const xattrs = ['--xattrs', '--xattrs-include=security.capability']
  const listed = [`--directory=${folder}`, '--null', '--verbatim-files-from', '--files-from=-']
  const own = [`--directory=${extra}`, OWN_DOCKERFILE, IGNORE_FILE]
  const input = Buffer.from(
    names
      .filter((name) => name !== IGNORE_FILE && name !== OWN_DOCKERFILE)
      .map((name) => `${name}\0`)
      .join(''),
  )
  return pipeTool('tar', ['--create', ...form, ...xattrs, ...listed, ...own], {
    input: (async function* () {
      yield input
    })(),
    whenMissing: 'install the package tar',
    signal,
  })
}

/** The .dockerignore that goes with it. Where it is to be ignored itself, or there is none, the builder removes it too. */
export function ownIgnoreText({ names, ignoreText }: BuildContext): string {
  const own = names.includes(IGNORE_FILE) ? [OWN_DOCKERFILE] : [OWN_DOCKERFILE, IGNORE_FILE]
  return [...(names.includes(IGNORE_FILE) ? [ignoreText ?? ''] : []), ...own, ''].join('\n')
}

function ignorer(text: string | undefined): (name: string) => boolean {
  if (text === undefined) return () => false
  // Its types say that it is no CommonJS module.
  const make = dockerignore as unknown as typeof dockerignore.default
  const patterns = make({ ignorecase: false }).add(text)
  return (name) => patterns.ignores(name)
}

async function describe(path: string): Promise<string> {
  const stat = await lstat(path)
  const mode = (stat.mode & 0o7777).toString(8)
  if (stat.isDirectory()) return `directory ${mode}`
  if (stat.isSymbolicLink()) return `symlink ${await readlink(path)}`
  return stat.isFile() ? `file ${mode} ${await fileDigest(path)}` : `other ${stat.mode} ${stat.rdev}`
}
