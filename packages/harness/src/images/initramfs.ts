import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Busybox, findBusybox, listApplets } from './busybox.ts'
import { cachedEntry, type CacheInput } from './cache.ts'
import { encodeCpio } from './cpio.ts'
import { bytesDigest } from './digest.ts'
import { isStaticProgram } from './elf.ts'
import { ImageError } from './errors.ts'
import type { Stage0 } from '../stage0/description.ts'
import { MODULES_FOLDER, skeletonTree, STAGE0_FILE, STAGE0_ROOT } from './initramfs-tree.ts'
import type { Kernel } from './kernel.ts'
import { moduleName } from './module-info.ts'
import { type ModulePlan, planModules, type ModuleRequest } from './modules.ts'

/** A file for the guest: its bytes, where on the host they are, or what it links to. */
export type InitramfsFile = {
  /** Absolute path in the guest. */
  readonly path: string
  /** Permission bits. Default 0644. */
  readonly mode?: number
} & ({ readonly data: Uint8Array | string } | { readonly source: string } | { readonly link: string })

/** What a bare box's initramfs is made of. */
export interface BareInitramfsOptions {
  /** The agent: a static x86-64 program (or a script whose interpreter is inside), which becomes /init. */
  readonly agentPath: string
  readonly kernel: Pick<Kernel, 'sha256' | 'version' | 'modulesDir' | 'modulesDigest'>
  /** Modules to load, in this order after what they need. */
  readonly modules: readonly ModuleRequest[]
  /** Default: the host's /bin/busybox where it is static. `null`: none. */
  readonly busyboxPath?: string | null
  readonly files?: readonly InitramfsFile[]
  /** Of an image box: what stage 0 does. The files then go into the image's root. */
  readonly stage0?: Stage0
  /** The root that holds `images/`. */
  readonly cacheRoot: string
  readonly signal?: AbortSignal | undefined
}

/** One thing inside, for fingerprints: `agent`, `busybox`, `module:virtio_pci`, `file:/etc/hosts`. */
export interface InitramfsPart {
  readonly name: string
  readonly sha256: string
  readonly bytes: number
}

/** An initramfs in the cache. */
export interface BareInitramfs {
  /** Absolute path of the uncompressed cpio archive. */
  readonly path: string
  /** sha256 of the archive, 64 hex digits. */
  readonly sha256: string
  readonly bytes: number
  readonly parts: readonly InitramfsPart[]
  /** Names of the modules the agent will load, in order. */
  readonly modules: readonly string[]
  /** What was left out and why, in words: no busybox, an optional module that the kernel has not. */
  readonly notes: readonly string[]
  /** True when this call made it, false when it was in the cache. */
  readonly made: boolean
}

// Raised when equal inputs would give other bytes; the skeleton and the archive's form are counted by themselves.
const FORM = 1
const ARCHIVE_FILE = 'initramfs.cpio'
const DESCRIPTION_FILE = 'initramfs.json'

type Description = Omit<BareInitramfs, 'path' | 'made'>

type ContentFile = { readonly path: string; readonly mode: number } & (
  | { readonly data: Uint8Array }
  | { readonly link: string }
)

interface Contents {
  readonly agent: Buffer
  readonly busybox: Busybox | undefined
  readonly files: readonly ContentFile[]
  readonly stage0: Stage0 | undefined
  readonly notes: readonly string[]
}

/**
 * The initramfs of a bare box: the agent as /init, device nodes, empty mount points, modules in load order below
 * /lib/modules/boxlab (the file `order` there lists them one a line), busybox with its applets. Not compressed, which
 * boots faster, and made once: equal inputs are one cache entry with equal bytes.
 * Fails with ERR_IMAGE_AGENT, ERR_IMAGE_BUSYBOX, ERR_IMAGE_FILE, ERR_IMAGE_MODULE and the cache's errors.
 */
export async function bareInitramfs(options: BareInitramfsOptions): Promise<BareInitramfs> {
  const { kernel, signal } = options
  const requests = options.modules
  const contents = await readContents(options)
  // A module tree inside the cache never changes: its digest stands for it, and an entry that is there needs no look at it.
  const stable = kernel.modulesDir !== undefined && kernel.modulesDigest !== undefined
  const plan = stable ? undefined : await plannedModules(options, requests)
  const inputs: CacheInput = {
    form: FORM,
    skeleton: bytesDigest(encodeCpio(skeletonTree().entries())),
    agent: bytesDigest(contents.agent),
    busybox: contents.busybox?.sha256 ?? null,
    files: contents.files.map(({ path, mode, ...file }) => {
      return { path, mode, ...('link' in file ? file : { sha256: bytesDigest(file.data) }) }
    }),
    ...(contents.stage0 && { stage0: JSON.stringify(contents.stage0) }),
    kernel: kernel.sha256,
    modules: plan
      ? plan.load.map(({ name, plain }) => ({ name, sha256: bytesDigest(plain) }))
      : { tree: kernel.modulesDigest!, requests: requests.map(requestInput) },
    // Notes are read back from the entry, so they are part of what it holds.
    notes: [...contents.notes, ...(plan ? planNotes(plan) : [])],
  }
  const make = async (dir: string): Promise<void> => {
    const final = plan ?? (await plannedModules(options, requests))
    const description = await writeArchive(join(dir, ARCHIVE_FILE), contents, final, signal)
    await writeFile(join(dir, DESCRIPTION_FILE), JSON.stringify(description, null, 2) + '\n')
  }
  const entry = await cachedEntry(options.cacheRoot, 'initramfs', inputs, make, { signal })
  const description = JSON.parse(await readFile(join(entry.dir, DESCRIPTION_FILE), 'utf8')) as Description
  return { ...description, path: join(entry.dir, ARCHIVE_FILE), made: entry.made }
}

async function readContents(options: BareInitramfsOptions): Promise<Contents> {
  // An image has a shell of its own, or wants none.
  const found = options.stage0 ? { busybox: undefined } : await findBusybox(options.busyboxPath)
  const files = (options.files ?? []).map(async (file): Promise<ContentFile> => {
    const { path, mode = 0o644 } = file
    if ('link' in file) return { path, mode, link: file.link }
    return { path, mode, data: 'source' in file ? await readSource(file.source) : Buffer.from(file.data) }
  })
  return {
    agent: await readAgent(options.agentPath),
    busybox: 'busybox' in found ? found.busybox : undefined,
    files: await Promise.all(files),
    stage0: options.stage0,
    notes: 'note' in found ? [found.note] : [],
  }
}

async function plannedModules(options: BareInitramfsOptions, requests: readonly ModuleRequest[]): Promise<ModulePlan> {
  const { modulesDir, version } = options.kernel
  const { signal } = options
  if (modulesDir !== undefined) {
    return planModules(modulesDir, requests, { ...(version && { release: version }), signal })
  }
  // A kernel without a module folder has all it has built in. Only what the user asked for by name must be there.
  const asked = options.modules?.find((request) => typeof request === 'string' || !request.optional)
  if (asked === undefined) return { load: [], builtin: requests.map(requestName), absent: [] }
  const message = `The kernel module ${requestName(asked)} cannot be found: give the kernel its \`modulesDir\`, or leave \`modules\` out`
  throw new ImageError('ERR_IMAGE_MODULE', message)
}

async function writeArchive(
  path: string,
  contents: Contents,
  plan: ModulePlan,
  signal?: AbortSignal,
): Promise<Description> {
  const tree = skeletonTree()
  const parts: InitramfsPart[] = []
  const part = (name: string, data: Uint8Array): void => {
    parts.push({ name, sha256: bytesDigest(data), bytes: data.length })
  }
  tree.add({ type: 'file', path: 'init', data: contents.agent, mode: 0o755 })
  part('agent', contents.agent)
  const names: string[] = []
  for (const [index, { name, plain }] of plan.load.entries()) {
    // Three digits: lexical order is load order.
    const file = `${String(index).padStart(3, '0')}-${name}.ko`
    names.push(file)
    tree.add({ type: 'file', path: `${MODULES_FOLDER}/${file}`, data: plain })
    part(`module:${name}`, plain)
  }
  tree.add({
    type: 'file',
    path: `${MODULES_FOLDER}/order`,
    data: Buffer.from(names.map((name) => `${name}\n`).join('')),
  })
  if (contents.busybox) {
    tree.add({ type: 'file', path: 'bin/busybox', data: contents.busybox.bytes, mode: 0o755 })
    part('busybox', contents.busybox.bytes)
    const applets = new Set(['bin/sh', ...(await listApplets(contents.busybox, signal))])
    for (const applet of applets) tree.add({ type: 'symlink', path: applet, target: '/bin/busybox' })
  }
  const { stage0 } = contents
  if (stage0) tree.add({ type: 'file', path: STAGE0_FILE, data: Buffer.from(`${JSON.stringify(stage0, null, 2)}\n`) })
  for (const file of contents.files) {
    tree.addUserFile(file, stage0 ? STAGE0_ROOT : '')
    part(`file:${file.path}`, 'link' in file ? Buffer.from(file.link) : file.data)
  }
  const archive = encodeCpio(tree.entries())
  await writeFile(path, archive)
  const notes = [...contents.notes, ...planNotes(plan)]
  return {
    sha256: bytesDigest(archive),
    bytes: archive.length,
    parts,
    modules: plan.load.map(({ name }) => name),
    notes,
  }
}

function planNotes(plan: ModulePlan): string[] {
  return plan.absent.map((name) => `no module ${name}: the kernel does not have it`)
}

async function readAgent(path: string): Promise<Buffer> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    throw new ImageError('ERR_IMAGE_AGENT', `The guest agent ${path} cannot be read: build it first`, error)
  }
  if (isStaticProgram(bytes) || bytes.subarray(0, 2).toString('latin1') === '#!') return bytes
  const message = `The guest agent ${path} is not a static x86-64 program, so nothing could start it in the guest: build it for a musl target`
  throw new ImageError('ERR_IMAGE_AGENT', message)
}

async function readSource(source: string): Promise<Buffer> {
  try {
    return await readFile(source)
  } catch (error) {
    throw new ImageError('ERR_IMAGE_FILE', `${source} cannot be put into the box: it cannot be read`, error)
  }
}

function requestName(request: ModuleRequest): string {
  return moduleName(typeof request === 'string' ? request : request.name)
}

function requestInput(request: ModuleRequest): CacheInput {
  return { name: requestName(request), optional: typeof request === 'object' && request.optional === true }
}
