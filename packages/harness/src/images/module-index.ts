import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ImageError } from './errors.ts'
import { MODULE_FILE, moduleName } from './module-info.ts'

/** Which modules a kernel release has: as files, and in the kernel itself. Names are the kernel's own (with _). */
export interface ModuleIndex {
  /** Name to absolute path. */
  readonly files: ReadonlyMap<string, string>
  readonly builtin: ReadonlySet<string>
  /** Aliases of built-in modules. */
  readonly builtinAliases: ReadonlySet<string>
}

/**
 * Reads what `modulesDir` has. The files come from modules.dep where depmod has run: it knows which of two files of
 * one name counts. A package that was only unpacked has none, so there the folder is walked.
 * Fails with ERR_IMAGE_MODULE.
 */
export async function readModuleIndex(modulesDir: string): Promise<ModuleIndex> {
  const [dependencies, builtin, information] = await Promise.all([
    readText(join(modulesDir, 'modules.dep')),
    readText(join(modulesDir, 'modules.builtin')),
    readText(join(modulesDir, 'modules.builtin.modinfo')),
  ])
  const paths = dependencies === undefined ? await walk(modulesDir) : listed(modulesDir, dependencies)
  return {
    files: new Map(paths.map((path) => [moduleName(path), path])),
    builtin: new Set(
      (builtin ?? '')
        .split('\n')
        .filter((line) => line !== '')
        .map(moduleName),
    ),
    // `name.alias=value`, each ended by a NUL (kernel 5.2 and later).
    builtinAliases: new Set(
      (information ?? '').split('\0').flatMap((text) => /^\w+\.alias=(.*)$/.exec(text)?.[1] ?? []),
    ),
  }
}

/** `kernel/a.ko: kernel/b.ko kernel/c.ko`: modules.dep(5). Paths are relative to the folder, or absolute. */
function listed(modulesDir: string, text: string): string[] {
  const paths = text.split('\n').map((line) => line.slice(0, Math.max(line.indexOf(':'), 0)))
  return paths
    .filter((path) => MODULE_FILE.test(path))
    .map((path) => (path.startsWith('/') ? path : join(modulesDir, path)))
}

async function walk(modulesDir: string): Promise<string[]> {
  try {
    const entries = await readdir(modulesDir, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile() && MODULE_FILE.test(entry.name))
    return files.map((entry) => join(entry.parentPath, entry.name)).toSorted()
  } catch (error) {
    throw new ImageError(
      'ERR_IMAGE_MODULE',
      `The modules in ${modulesDir} cannot be listed: check \`modulesDir\``,
      error,
    )
  }
}

async function readText(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined)
}
