import { ImageError, throwIfAborted } from './errors.ts'
import { type ModuleIndex, readModuleIndex } from './module-index.ts'
import { type ModuleInfo, moduleName, readModule, readModuleInfo } from './module-info.ts'

/** A module by name, - and _ being equal; an optional one may be missing from the kernel. */
export type ModuleRequest = string | { readonly name: string; readonly optional?: boolean }

/** A module to load. */
export interface PlannedModule {
  /** The kernel's name for it, with _. */
  readonly name: string
  /** Absolute path of its file, compressed or not. */
  readonly path: string
  /** The uncompressed .ko, signature and all. */
  readonly plain: Buffer
}

/** What to load, in an order in which every module finds what it needs. */
export interface ModulePlan {
  readonly load: readonly PlannedModule[]
  /** Requested, and in the kernel already. */
  readonly builtin: readonly string[]
  /** Requested as optional, and nowhere. */
  readonly absent: readonly string[]
}

/** How a plan is made. */
export interface ModulePlanOptions {
  /** The kernel's release: modules built for another are refused here, as the kernel would refuse them. */
  readonly release?: string
  readonly signal?: AbortSignal | undefined
}

/**
 * The closure of the requested modules over what they need, each after its needs, else in the order of the requests.
 * Needs are read in the modules themselves, so that a package on which depmod never ran serves as well.
 * Fails with ERR_IMAGE_MODULE: a module that is neither a file nor built in, or one built for another release.
 */
export async function planModules(
  modulesDir: string,
  requests: readonly ModuleRequest[],
  options: ModulePlanOptions = {},
): Promise<ModulePlan> {
  const planner = new Planner(modulesDir, await readModuleIndex(modulesDir), options)
  const builtin: string[] = []
  const absent: string[] = []
  for (const request of requests) {
    const { name: asked, optional = false } = typeof request === 'string' ? { name: request } : request
    const name = moduleName(asked)
    if (planner.index.files.has(name)) await planner.add(name)
    else if (planner.index.builtin.has(name)) builtin.push(name)
    else if (optional) absent.push(name)
    else {
      const place = `neither in ${modulesDir} nor built into the kernel`
      throw new ImageError(
        'ERR_IMAGE_MODULE',
        `The kernel module ${asked} is ${place}: take it out of \`modules\`, or make it optional`,
      )
    }
  }
  return { load: planner.load, builtin, absent }
}

/** One walk over the needs; has identity because it remembers what it read and what it placed. */
class Planner {
  readonly load: PlannedModule[] = []
  readonly index: ModuleIndex
  readonly #modulesDir: string
  readonly #options: ModulePlanOptions
  readonly #begun = new Set<string>()
  readonly #read = new Map<string, Promise<{ readonly plain: Buffer; readonly info: ModuleInfo }>>()

  constructor(modulesDir: string, index: ModuleIndex, options: ModulePlanOptions) {
    this.#modulesDir = modulesDir
    this.index = index
    this.#options = options
  }

  /** Places a module that has a file, after all that it needs. */
  async add(name: string): Promise<void> {
    // Marked before its needs are walked: modules do not need each other in a circle, soft needs may.
    if (this.#begun.has(name)) return
    this.#begun.add(name)
    const path = this.index.files.get(name)!
    const { plain, info } = await this.#readOnce(path)
    this.#checkRelease(path, info)
    for (const soft of info.softDepends) for (const found of await this.#answeringTo(soft)) await this.add(found)
    for (const need of info.depends) {
      if (this.index.files.has(need)) await this.add(need)
      else if (!this.index.builtin.has(need)) {
        const message = `The kernel module ${name} needs ${need}, which is neither in ${this.#modulesDir} nor built in: the folder is not complete`
        throw new ImageError('ERR_IMAGE_MODULE', message)
      }
    }
    this.load.push({ name, path, plain })
  }

  /**
   * Modules for a soft need, which is a name or an alias such as `crc32c` or `crypto-crc32c`. Aliases are in the
   * modules: only those named after the alias (crc32c_generic, crc32c_intel) are looked into, not all thousands.
   */
  async #answeringTo(soft: string): Promise<string[]> {
    const wanted = moduleName(soft)
    if (this.index.files.has(wanted)) return [wanted]
    if (this.index.builtin.has(wanted) || this.index.builtinAliases.has(soft)) return []
    const stem = wanted.replace(/^crypto_/, '')
    const found: string[] = []
    for (const [name, path] of this.index.files) {
      if (name !== stem && !name.startsWith(`${stem}_`)) continue
      if ((await this.#readOnce(path)).info.aliases.includes(soft)) found.push(name)
    }
    return found
  }

  #readOnce(path: string): Promise<{ readonly plain: Buffer; readonly info: ModuleInfo }> {
    throwIfAborted(this.#options.signal, 'Reading kernel modules')
    const known = this.#read.get(path)
    if (known !== undefined) return known
    const reading = readModule(path, this.#options.signal).then((plain) => ({
      plain,
      info: readModuleInfo(path, plain),
    }))
    this.#read.set(path, reading)
    return reading
  }

  #checkRelease(path: string, info: ModuleInfo): void {
    const { release } = this.#options
    if (release === undefined || info.release === undefined || info.release === release) return
    const message = `${path} is built for kernel ${info.release}, and this one is ${release}: give the \`modulesDir\` that belongs to it`
    throw new ImageError('ERR_IMAGE_MODULE', message)
  }
}
