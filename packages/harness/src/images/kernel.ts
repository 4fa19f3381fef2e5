import { access, constants, stat } from 'node:fs/promises'
import { release } from 'node:os'
import { join, resolve } from 'node:path'
import { fileDigest } from './digest.ts'
import { ImageError, throwIfAborted } from './errors.ts'
import { checkKernelImage } from './kernel-image.ts'

/** A kernel that is ready to boot. */
export interface Kernel {
  /** Absolute path of the bzImage or PVH vmlinux. */
  readonly path: string
  /** What `uname -r` prints in the guest; absent when the file does not tell. */
  readonly version?: string
  /** The folder that holds `kernel/` and `modules.builtin`; absent when there is none, so everything is built in. */
  readonly modulesDir?: string
  /** Digest of what `modulesDir` holds; only where that never changes, which is inside the cache. */
  readonly modulesDigest?: string
  /** sha256 of the file at `path`, 64 hex digits. */
  readonly sha256: string
  /** Where it came from, in words. */
  readonly origin: string
}

/** Where a kernel may be looked for and kept. */
export interface KernelContext {
  /** The root that holds `images/`. */
  readonly cacheRoot: string
  readonly signal?: AbortSignal | undefined
  /** Ask the package lists again although an answer is remembered. Default false. */
  readonly refresh?: boolean
}

/** A kernel to be had: nothing is read or fetched before `resolve` is called. */
export interface KernelSource {
  /** The source in words, for plans and messages. */
  readonly description: string
  /** Fails with an ImageError. */
  resolve(context: KernelContext): Promise<Kernel>
}

/**
 * A kernel file of the user's, and the folder of its modules (`/lib/modules/<release>`, where they are not built in).
 * `resolve` fails with ERR_IMAGE_KERNEL or ERR_IMAGE_MODULE.
 */
export function kernelFile(path: string, options: { readonly modulesDir?: string } = {}): KernelSource {
  return {
    description: `kernel file ${path}`,
    resolve: async ({ signal }) => {
      throwIfAborted(signal, `Reading the kernel ${path}`)
      return readKernel(resolve(path), options.modulesDir && resolve(options.modulesDir), `file ${path}`)
    },
  }
}

/**
 * The kernel that this host runs, from /boot, with its modules from /lib/modules where they are readable.
 * `resolve` fails with ERR_IMAGE_KERNEL where the host keeps no readable kernel file, as containers do.
 */
export function hostKernel(options: { readonly root?: string; readonly release?: string } = {}): KernelSource {
  const running = options.release ?? release()
  const path = join(options.root ?? '/', 'boot', `vmlinuz-${running}`)
  const modulesDir = join(options.root ?? '/', 'lib/modules', running)
  return {
    description: `kernel of this host (${running})`,
    resolve: async ({ signal }) => {
      throwIfAborted(signal, 'Reading the kernel of this host')
      if (!(await isReadable(path))) {
        const remedy = 'give a path, or leave the option out for a packaged kernel'
        throw new ImageError(
          'ERR_IMAGE_KERNEL',
          `The \`kernel\` option hostKernel() finds no readable ${path}: ${remedy}`,
        )
      }
      const modules = (await isReadable(modulesDir)) ? modulesDir : undefined
      return readKernel(path, modules, `host ${running}`)
    },
  }
}

async function readKernel(path: string, modulesDir: string | undefined, origin: string): Promise<Kernel> {
  const image = await checkKernelImage(path)
  if (modulesDir) await checkModulesDir(modulesDir)
  return {
    path,
    ...(image.release === undefined ? {} : { version: image.release }),
    ...(modulesDir ? { modulesDir } : {}),
    sha256: await fileDigest(path),
    origin,
  }
}

/** Both layouts of a module tree have one of these; /lib/modules itself and a source tree have none. */
async function checkModulesDir(modulesDir: string): Promise<void> {
  for (const name of ['modules.builtin', 'modules.dep', 'modules.order']) {
    if (await isReadable(join(modulesDir, name))) return
  }
  const isFolder = await stat(modulesDir).then(
    (found) => found.isDirectory(),
    () => false,
  )
  const reason = isFolder ? 'it holds neither modules.builtin nor modules.dep' : 'there is no such folder'
  const remedy = 'name the folder of one release, such as /lib/modules/6.1.0'
  throw new ImageError('ERR_IMAGE_MODULE', `\`modulesDir\` ${modulesDir} cannot be used: ${reason}; ${remedy}`)
}

async function isReadable(path: string): Promise<boolean> {
  return access(path, constants.R_OK).then(
    () => true,
    () => false,
  )
}
