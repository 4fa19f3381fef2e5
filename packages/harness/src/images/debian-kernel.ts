import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type AptPackage, downloadPackages, findPackage, unpackPackage } from './apt.ts'
import { type CacheEntry, cachedEntry, type CacheInput, kindFolder } from './cache.ts'
import { fileDigest } from './digest.ts'
import { ImageError, throwIfAborted } from './errors.ts'
import type { Kernel, KernelContext, KernelSource } from './kernel.ts'
import { checkKernelImage } from './kernel-image.ts'

/** Which package of the distribution to take. */
export interface DebianKernelOptions {
  /** `cloud` (default): linux-image-cloud-amd64, small and without drivers for real hardware. */
  readonly flavour?: 'cloud'
  /** A package by name instead: one kernel (linux-image-6.1.0-57-cloud-amd64) or one that depends on the current one. */
  readonly package?: string
}

const KIND = 'kernel'
// Raised when what is kept of a package changes, so that entries of an older form are not taken for new ones.
const FORM = 1
const DESCRIPTION_FILE = 'kernel.json'

/** kernel.json: a Kernel with its paths relative to the entry. */
interface KernelDescription {
  readonly path: string
  readonly version: string
  readonly modulesDir?: string
  readonly sha256: string
  readonly origin: string
}

/**
 * A kernel package of Debian, or of a distribution that packages kernels alike. The first `resolve` asks apt's lists,
 * downloads without root and unpacks into the cache; the answer is remembered, and later ones read two small files,
 * also offline, until `refresh` asks again. Fails with ERR_IMAGE_PACKAGE, ERR_IMAGE_TOOL_MISSING and the cache's errors.
 */
export function debianKernel(options: DebianKernelOptions = {}): KernelSource {
  const asked = options.package ?? `linux-image-${options.flavour ?? 'cloud'}-amd64`
  return {
    description: `package ${asked}`,
    resolve: async (context) => {
      throwIfAborted(context.signal, `Finding the kernel package ${asked}`)
      const remembered = context.refresh ? undefined : await recall(context.cacheRoot, asked)
      return remembered ?? (await fetchKernel(asked, context))
    },
  }
}

async function fetchKernel(asked: string, context: KernelContext): Promise<Kernel> {
  const { cacheRoot, signal } = context
  const packages = await findKernelPackages(asked, signal)
  const inputs: CacheInput = {
    form: FORM,
    packages: packages.map(({ name, version, sha256 }) => ({ name, version, sha256 })),
  }
  const entry = await cachedEntry(cacheRoot, KIND, inputs, (dir) => unpackKernel(packages, dir, signal), { signal })
  await remember(cacheRoot, asked, entry)
  return readEntry(entry.dir, entry.key)
}

/** Follows packages that only depend on the current kernel, and adds the modules where they are packaged apart. */
async function findKernelPackages(asked: string, signal?: AbortSignal): Promise<readonly AptPackage[]> {
  let found = await findPackage(asked, signal)
  for (let step = 0; step < 4; step++) {
    const next = found.depends.find((name) => name.startsWith('linux-image-'))
    if (next === undefined) break
    found = await findPackage(next, signal)
  }
  const modules = found.depends.find((name) => /^linux-modules-\d/.test(name))
  return modules === undefined ? [found] : [found, await findPackage(modules, signal)]
}

async function unpackKernel(packages: readonly AptPackage[], dir: string, signal?: AbortSignal): Promise<void> {
  const tree = join(dir, 'tree')
  for (const file of await downloadPackages(packages, dir, signal)) {
    await unpackPackage(file, tree, signal)
    await rm(file)
  }
  const origin = packages.map(({ name, version }) => `${name} ${version}`).join(', ')
  const description = await describe(dir, origin)
  await writeFile(join(dir, DESCRIPTION_FILE), JSON.stringify(description, null, 2) + '\n')
  // Documentation and bug scripts: nothing that a boot needs.
  await rm(join(tree, 'usr/share'), { recursive: true, force: true })
}

/** Finds kernel and modules: /lib became /usr/lib, and some packages keep the kernel beside its modules. */
async function describe(dir: string, origin: string): Promise<KernelDescription> {
  const moduleDirs = (
    await Promise.all(['lib/modules', 'usr/lib/modules'].map((path) => list(dir, `tree/${path}`)))
  ).flat()
  const kernels = (await list(dir, 'tree/boot')).filter((path) => /\/vmlinuz-[^/]+$/.test(path))
  for (const modules of moduleDirs)
    kernels.push(...(await list(dir, modules)).filter((path) => path.endsWith('/vmlinuz')))
  const path = kernels[0]
  if (path === undefined)
    throw new ImageError('ERR_IMAGE_PACKAGE', `${origin} holds no kernel: name a linux-image package`)
  const image = await checkKernelImage(join(dir, path))
  const version = image.release ?? path.replace(/^.*vmlinuz-/, '')
  const modulesDir = moduleDirs.find((modules) => modules.endsWith(`/${version}`))
  return { path, version, ...(modulesDir && { modulesDir }), sha256: await fileDigest(join(dir, path)), origin }
}

async function list(dir: string, path: string): Promise<string[]> {
  const names = await readdir(join(dir, path)).catch((): string[] => [])
  return names.toSorted().map((name) => `${path}/${name}`)
}

async function readEntry(dir: string, key: string): Promise<Kernel> {
  const found = JSON.parse(await readFile(join(dir, DESCRIPTION_FILE), 'utf8')) as KernelDescription
  const modules = found.modulesDir && { modulesDir: join(dir, found.modulesDir), modulesDigest: key }
  return { ...found, path: join(dir, found.path), ...modules }
}

/** Writes down which entry answers to this name, whole or not at all. */
async function remember(root: string, asked: string, entry: CacheEntry): Promise<void> {
  const folder = kindFolder(root, `${KIND}-names`)
  await mkdir(folder, { recursive: true })
  const path = join(folder, `${asked}.json`)
  const beside = `${path}.${randomBytes(4).toString('hex')}`
  await writeFile(beside, JSON.stringify({ form: FORM, key: entry.key, resolvedAt: new Date().toISOString() }) + '\n')
  await rename(beside, path)
}

/** The remembered kernel; undefined when there is none, or when any of it can no longer be read. */
async function recall(root: string, asked: string): Promise<Kernel | undefined> {
  try {
    const text = await readFile(join(kindFolder(root, `${KIND}-names`), `${asked}.json`), 'utf8')
    const { form, key } = JSON.parse(text) as { form?: number; key?: string }
    if (form !== FORM || key === undefined) return undefined
    return await readEntry(join(kindFolder(root, KIND), key), key)
  } catch {
    return undefined
  }
}
