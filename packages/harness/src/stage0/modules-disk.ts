import { cp, mkdir, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { buildRoot } from '../images/build-root.ts'
import { runCommand } from '../images/command.ts'
import type { Kernel } from '../images/index.ts'
import type { ImageContext, RootImage } from '../images/root-image.ts'
import { readFolder } from '../images/sources/directory.ts'

// Raised when equal modules would give another disk.
const form = 3

/**
 * An ext4 image of a kernel's modules below usr/lib/modules, with the indices that modprobe(8) needs, for images that bring no modules of that
 * kernel. Made once a kernel; undefined for a kernel whose modules are not known to the byte (one of the user's own
 * folders, which may change).
 */
export async function modulesDisk(
  { modulesDir, modulesDigest, version }: Pick<Kernel, 'modulesDir' | 'modulesDigest' | 'version'>,
  context: ImageContext,
): Promise<RootImage | undefined> {
  if (modulesDir === undefined || modulesDigest === undefined || version === undefined) return undefined
  const { signal } = context
  const name = `modules of ${version}`
  return buildRoot(context, {
    name,
    inputs: { form, modules: modulesDigest, release: version },
    async fill(tree, folder, report) {
      report('unpack')
      const copy = join(folder, 'lib/modules', version)
      await mkdir(dirname(copy), { recursive: true })
      await cp(modulesDir, copy, { recursive: true })
      await runCommand('depmod', ['-b', folder, version], { signal, whenMissing: 'install kmod' })
      // depmod knows /lib alone; in a layer under an image they are where its link leads.
      const root = join(folder, 'root')
      await mkdir(join(root, 'usr'), { recursive: true })
      await rename(join(folder, 'lib'), join(root, 'usr/lib'))
      await tree.addLayer(readFolder(root, signal), { name, signal })
      return {}
    },
  })
}
