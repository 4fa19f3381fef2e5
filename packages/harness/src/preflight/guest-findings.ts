import { access, constants, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findProgram } from '../find-program.ts'
import { findBusybox } from '../images/busybox.ts'
import { kindFolder } from '../images/index.ts'
import { type Finding, look } from './finding.ts'

/** The package of the default kernel, as `debianKernel()` asks for it. */
const kernelPackage = 'linux-image-cloud-amd64'

/** Whether the default kernel is there, or can be fetched by the first boot. */
export function kernelFinding(root: string, environment: NodeJS.ProcessEnv = process.env): Promise<Finding> {
  return look({ id: 'kernel', title: 'default kernel', level: 'wanted' }, async () => {
    const version = await cachedKernel(root)
    if (version) return { outcome: 'ok', detail: `Linux ${version} is in the cache.`, facts: { version } }
    const path = 'or give every box a `kernel` of your own'
    if (findProgram('apt-get', environment) === undefined) {
      const detail = `The default kernel (${kernelPackage}) is not in the cache, and apt-get, which fetches it, is not here.`
      const remedy = 'Give every box a `kernel` of your own: a path or hostKernel().'
      return { outcome: 'failed', detail, limit: 'boxes without a `kernel` option do not boot', remedy }
    }
    if (!(await hasPackageLists())) {
      const detail = `The default kernel (${kernelPackage}) is not in the cache, and apt has no package lists to find it in.`
      const remedy = `Run \`apt-get update\` as root, ${path}.`
      return { outcome: 'failed', detail, limit: 'boxes without a `kernel` option do not boot', remedy }
    }
    return {
      outcome: 'limited',
      detail: `The default kernel (${kernelPackage}) is not in the cache yet; the first boot fetches it with apt-get.`,
      limit: 'the first boot without a `kernel` option needs the network',
      remedy: `Run \`boxlab boot\` once, ${path}.`,
    }
  })
}

/** Whether bare boxes get a shell and its tools. */
export function busyboxFinding(): Promise<Finding> {
  return look({ id: 'busybox', title: 'busybox', level: 'wanted' }, async () => {
    const found = await findBusybox(undefined)
    if ('busybox' in found)
      return { outcome: 'ok', detail: `${found.busybox.path} is static and goes into bare boxes.` }
    return {
      outcome: 'failed',
      detail: 'There is no static /bin/busybox.',
      limit: 'bare boxes have no shell and no tools, only what you put in',
      remedy: 'Install it (Debian: `apt-get install busybox-static`).',
    }
  })
}

/** The version of the kernel that `debianKernel()` would take from the cache; what it keeps is described there. */
async function cachedKernel(root: string): Promise<string | undefined> {
  try {
    const name = await readFile(join(kindFolder(root, 'kernel-names'), `${kernelPackage}.json`), 'utf8')
    const folder = join(kindFolder(root, 'kernel'), (JSON.parse(name) as { key: string }).key)
    const kernel = JSON.parse(await readFile(join(folder, 'kernel.json'), 'utf8')) as { path: string; version: string }
    await access(join(folder, kernel.path), constants.R_OK)
    return kernel.version
  } catch {
    return undefined
  }
}

// Asking apt itself for the package reads all its lists, which takes longer than everything else here.
async function hasPackageLists(): Promise<boolean> {
  const names = await readdir('/var/lib/apt/lists').catch((): string[] => [])
  return names.some((name) => /_Packages(\.\w+)?$/.test(name))
}
