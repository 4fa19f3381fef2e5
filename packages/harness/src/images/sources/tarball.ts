import { createReadStream } from 'node:fs'
import { buildRoot } from '../build-root.ts'
import type { FormatOptions, ImageSource } from '../root-image.ts'
import { counted } from '../progress.ts'
import { decompress } from '../tar/decompress.ts'
import { sourceFile } from './source-file.ts'

/**
 * A tar archive (plain, or compressed by gzip, xz, zstd or bzip2) as a root file system. A member that would lead out of the
 * archive, or an archive that is cut, is ERR_IMAGE_ARCHIVE.
 */
export function tarball(path: string, options: FormatOptions = {}): ImageSource {
  const name = `tarball ${path}`
  return {
    name,
    async resolve(context) {
      const file = await sourceFile(path, 'tarball')
      const { signal } = context
      return buildRoot(context, {
        ...options,
        name,
        inputs: { tarball: file.sha256 },
        async fill(tree, _folder, report) {
          report('unpack', { totalBytes: file.bytes })
          const chunks = counted(createReadStream(file.path, { highWaterMark: 1 << 20 }), (doneBytes) => {
            report('unpack', { doneBytes, totalBytes: file.bytes })
          })
          await tree.addLayer(decompress(chunks, name, signal), { name, signal })
          return { sourceBytes: file.bytes }
        },
      })
    },
  }
}
