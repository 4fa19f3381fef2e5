import { realpathSync } from 'node:fs'
import { buildRoot, type SourceFacts } from '../build-root.ts'
import { ImageError } from '../errors.ts'
import { counted } from '../progress.ts'
import type { DirectoryOptions, ImageSource, RootImage } from '../root-image.ts'
import { pipeTool } from '../run-tool.ts'
import { folderFacts } from '../tree/folder-facts.ts'
import { settledDigest, settledStamp } from './directory-stamp.ts'

/**
 * A folder of the host as a root file system, with owners, modes, times, xattrs, hard links, device nodes and holes as they
 * are there; sockets are left out. Who is not root gets what that user can read. Nothing is read before `resolve`. With
 * `format: 'virtiofs'` the folder is not copied but shared, so that the next boot sees what was changed in it.
 */
export function directory(path: string, options: DirectoryOptions = {}): ImageSource {
  const name = `directory ${path}`
  if (options.format === 'virtiofs') return { name, resolve: ({ signal }) => sharedFolder(path, signal) }
  return {
    name,
    async resolve(context) {
      const { signal } = context
      const folder = realFolder(path)
      const stamp = settledDigest(folder)
      return buildRoot(context, {
        ...options,
        name,
        ...(stamp !== undefined && { inputs: { directory: stamp } }),
        async fill(tree, _folder, report): Promise<SourceFacts> {
          report('unpack')
          const chunks = readFolder(folder, signal)
          let sourceBytes = 0
          const watched = counted(chunks, (doneBytes) => {
            sourceBytes = doneBytes
            report('unpack', { doneBytes })
          })
          await tree.addLayer(watched, { name, signal })
          return { sourceBytes }
        },
      })
    },
  }
}

/** The folder where it is. Its digest is waited for: what a guest reads must not be another tree than what is recorded. */
async function sharedFolder(path: string, signal: AbortSignal | undefined): Promise<RootImage> {
  const folder = realFolder(path)
  const { digest, bytes } = await settledStamp(folder, signal)
  const { init, architecture } = folderFacts(folder)
  return {
    path: folder,
    format: 'virtiofs',
    digest: `sha256:${digest}`,
    bytes,
    ...(architecture !== undefined && { architecture }),
    hasInit: init !== undefined,
    ...(init !== undefined && { init }),
    cached: true,
  }
}

/** A folder as an archive. GNU tar reads it: it knows xattrs and holes, which Node does not. */
export async function* readFolder(folder: string, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
  const form = [
    '--format=posix',
    '--pax-option=delete=atime,delete=ctime',
    '--sort=name',
    '--numeric-owner',
    '--sparse',
  ]
  const args = ['--create', ...form, '--xattrs', '--xattrs-include=*', '--directory', folder, '.']
  try {
    yield* pipeTool('tar', args, { whenMissing: 'install the package tar', signal })
  } catch (error) {
    if (!(error instanceof ImageError) || error.code !== 'ERR_IMAGE_COMMAND') throw error
    const words = String(error.cause)
    const remedy = /Permission denied/.test(words)
      ? 'run as root, or make its files readable'
      : 'let nobody change it while it is read'
    const message = `The directory ${folder} cannot be read whole: ${remedy} (${words.split('\n')[0]})`
    throw new ImageError('ERR_IMAGE_SOURCE', message, error)
  }
}

function realFolder(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    throw new ImageError('ERR_IMAGE_SOURCE', `The directory ${path} cannot be read: check its path`, error)
  }
}
