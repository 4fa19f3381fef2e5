import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Addon } from './binding.ts'
import { NativeError } from './errors.ts'

/** The version that the addon must be of: both are built from one tree, and the seam has no versions of its own. */
const version = '0.1.0'
const artifacts = new URL('../artifacts/', import.meta.url)
const remedy = 'build it with `npm run build` (in a checkout of boxlab) or install the package again'

/** What came of loading the addon. */
export type Loaded = { readonly addon: Addon } | { readonly error: NativeError }

/** The files that are tried, in order: `BOXLAB_NATIVE` alone where it is set, else the one beside this package. */
export function addonFiles(environment: NodeJS.ProcessEnv): string[] {
  const given = environment['BOXLAB_NATIVE']
  return given ? [given] : [fileURLToPath(new URL('boxlab.linux-x64-gnu.node', artifacts))]
}

/** Loads the first of the files that is there. Never throws. */
export function loadAddon(files: readonly string[]): Loaded {
  const require = createRequire(import.meta.url)
  const file = files.find((candidate) => existsSync(candidate))
  const tried = files.join(', ')
  if (file === undefined)
    return { error: new NativeError(`the native runtime is not there (tried ${tried}): ${remedy}`, files) }
  try {
    const addon = require(file) as Addon
    const found = typeof addon.nativeVersion === 'function' ? addon.nativeVersion() : 'none'
    if (found === version) return { addon }
    const message = `the native runtime at ${file} is of version ${found} and this package of ${version}: ${remedy}`
    return { error: new NativeError(message, files) }
  } catch (error) {
    const cause = error instanceof Error ? error : new Error(String(error))
    return {
      error: new NativeError(
        `the native runtime at ${file} cannot be loaded (${cause.message}): ${remedy}`,
        files,
        cause,
      ),
    }
  }
}

let loaded: Loaded | undefined

/** The addon. Importing this package never fails; the first use of the addon does where it is missing. */
export function native(): Addon {
  loaded ??= loadAddon(addonFiles(process.env))
  if ('error' in loaded) throw loaded.error
  return loaded.addon
}

/** The agent's binary, which goes into initramfs images. */
export function agentPath(): string {
  const path = fileURLToPath(new URL('boxlab-agent', artifacts))
  if (!existsSync(path)) throw new NativeError(`the agent is not there (tried ${path}): ${remedy}`, [path])
  return path
}
