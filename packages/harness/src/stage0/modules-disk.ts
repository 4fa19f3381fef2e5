import { cp, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { cachedEntry } from '../images/cache.ts'
import { runCommand } from '../images/command.ts'
import type { Kernel } from '../images/index.ts'

/** Where the modules disk lies. */
export interface ModulesDisk {
  readonly path: string
  /** True when this call made it. */
  readonly made: boolean
}

// Raised when equal modules would give another disk.
const form = 1

/**
 * An ext4 image of a kernel's modules with the indices that modprobe(8) needs, for images that bring no modules of that
 * kernel. Made once a kernel; undefined for a kernel whose modules are not known to the byte (one of the user's own
 * folders, which may change).
 */
export async function modulesDisk(
  { modulesDir, modulesDigest, version }: Pick<Kernel, 'modulesDir' | 'modulesDigest' | 'version'>,
  { cacheRoot, signal }: { readonly cacheRoot: string; readonly signal?: AbortSignal | undefined },
): Promise<ModulesDisk | undefined> {
  if (modulesDir === undefined || modulesDigest === undefined || version === undefined) return undefined
  const cancel = signal && { signal }
  const inputs = { form, modules: modulesDigest, release: version }
  const entry = await cachedEntry(cacheRoot, 'modules-disk', inputs, make, cancel)
  return { path: join(entry.dir, 'modules.ext4'), made: entry.made }

  async function make(dir: string): Promise<void> {
    const base = join(dir, 'tree')
    const tree = join(base, 'lib/modules', version ?? '')
    await mkdir(join(base, 'lib/modules'), { recursive: true })
    await cp(modulesDir ?? '', tree, { recursive: true })
    const depmod = { ...cancel, whenMissing: 'install kmod' }
    await runCommand('depmod', ['-b', base, version ?? ''], depmod)
    const disk = join(dir, 'modules.ext4')
    const mke2fs = { ...cancel, timeoutMs: 300_000, whenMissing: 'install e2fsprogs' }
    const size = await runCommand('du', ['-sk', '--apparent-size', tree], {
      ...cancel,
      whenMissing: 'install coreutils',
    })
    const kib = Math.ceil(Number.parseInt(size.toString(), 10) * 1.15) + 8192
    const options = ['-q', '-t', 'ext4', '-O', '^has_journal', '-m', '0', '-d', tree]
    await runCommand('mke2fs', [...options, disk, `${kib}k`], mke2fs)
    await rm(base, { recursive: true })
  }
}
