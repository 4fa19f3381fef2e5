import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { promisify } from 'node:util'
import { gunzip, zstdDecompress } from 'node:zlib'
import { runCommand } from './command.ts'
import { readElfSection } from './elf.ts'
import { ImageError } from './errors.ts'

/** What a kernel module says about itself in its section .modinfo (the kernel's include/linux/module.h). */
export interface ModuleInfo {
  /** Names of the modules whose symbols it uses, as the kernel's modpost wrote them down. */
  readonly depends: readonly string[]
  /** Names or aliases that should be loaded before it where they exist (`softdep=pre: ...`). */
  readonly softDepends: readonly string[]
  /** Other names it answers to. */
  readonly aliases: readonly string[]
  /** The release it was built for; absent in a kernel without CONFIG_MODVERSIONS and vermagic. */
  readonly release?: string
}

/** File names of modules, plain and in every compression the kernel's build knows. */
export const MODULE_FILE: RegExp = /\.ko(\.xz|\.zst|\.gz)?$/

/** The name that the kernel uses for a module file or a name: `a/virtio-rng.ko.xz` is `virtio_rng`. */
export function moduleName(text: string): string {
  return basename(text).replace(MODULE_FILE, '').replaceAll('-', '_')
}

/** The plain .ko of a module file, unpacked where it is compressed. Fails with ERR_IMAGE_MODULE or ERR_IMAGE_TOOL_MISSING. */
export async function readModule(path: string, signal?: AbortSignal): Promise<Buffer> {
  try {
    if (path.endsWith('.xz')) {
      // Node has no xz of its own.
      const whenMissing = `${path} is compressed with it: install the package xz-utils`
      return await runCommand('xz', ['--decompress', '--stdout', '--', path], {
        whenMissing,
        signal,
      })
    }
    const bytes = await readFile(path)
    if (path.endsWith('.zst')) return await promisify(zstdDecompress)(bytes)
    if (path.endsWith('.gz')) return await promisify(gunzip)(bytes)
    return bytes
  } catch (error) {
    if (error instanceof ImageError && error.code !== 'ERR_IMAGE_COMMAND') throw error
    throw new ImageError(
      'ERR_IMAGE_MODULE',
      `The kernel module ${path} cannot be read: is the package complete?`,
      error,
    )
  }
}

/** Reads .modinfo: texts of the form key=value, each ended by a NUL. Fails with ERR_IMAGE_MODULE. */
export function readModuleInfo(path: string, plain: Buffer): ModuleInfo {
  const section = readElfSection(plain, '.modinfo')
  if (section === undefined)
    throw new ImageError('ERR_IMAGE_MODULE', `${path} is not a kernel module: it has no section .modinfo`)
  const texts = section.toString('latin1').split('\0')
  const values = (key: string): string[] =>
    texts.filter((text) => text.startsWith(`${key}=`)).map((text) => text.slice(key.length + 1))
  const release = values('vermagic')[0]?.split(' ', 1)[0]
  return {
    depends: values('depends')
      .flatMap((list) => list.split(','))
      .filter((name) => name !== '')
      .map(moduleName),
    softDepends: values('softdep').flatMap(softNames),
    aliases: values('alias'),
    ...(release ? { release } : {}),
  }
}

/** `pre: a b post: c`: what comes before matters to a load order, what comes after is up to the user. */
function softNames(text: string): string[] {
  return (/\bpre:\s*(.*?)\s*(?:post:|$)/.exec(text)?.[1] ?? '').split(/\s+/).filter((name) => name !== '')
}
