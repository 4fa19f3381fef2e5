import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bootOf, recordsOf } from './watch-record.ts'

/** What is left of a cell beside its processes. */
export interface Leftovers {
  /** Unix sockets with a name, of the file system or abstract. */
  readonly sockets: number
  /** Files in the temporary folder that are not the test runner's, and throw-away layers of disks anywhere. */
  readonly tempFiles: readonly string[]
  /** Outcomes of the records, `no boot.json` among them. */
  readonly outcomes: readonly string[]
}

/** Looks at the folders of a cell. */
export function leftovers(home: string, temp: string, socketsBefore: ReadonlySet<string>): Leftovers {
  const mine = (name: string): boolean => name.includes(home) || name.includes(temp) || /^@.*boxlab/.test(name)
  const sockets = [...socketNames()].filter((name) => mine(name) && !socketsBefore.has(name))
  return {
    sockets: sockets.length + readEntries(home).filter((entry) => entry.isSocket()).length,
    tempFiles: [...readdirSync(temp).filter((name) => !isRunners(name) && !isLayer(name)), ...layers(home, temp)],
    outcomes: recordsOf(home).map((record) => bootOf(record)?.outcome ?? 'no boot.json'),
  }
}

/** The throw-away layers of disks that have a name (`vl.XXXXXX`: QEMU 7.2, block.c). */
export function layers(...folders: readonly string[]): string[] {
  return folders.flatMap((folder) => readdirSync(folder, { recursive: true }).map(String).filter(isLayer))
}

function isLayer(path: string): boolean {
  return /(?:^|\/)vl\.\w{6}$/.test(path)
}

/** The names in /proc/net/unix (its eighth column, absent for sockets without a name). */
export function socketNames(): Set<string> {
  const lines = readFileSync('/proc/net/unix', 'utf8').split('\n')
  return new Set(lines.flatMap((line) => line.split(/\s+/).slice(7, 8)))
}

/** What vitest and vite keep while they run: transformed modules in folders named by chance, and vite's cache. */
function isRunners(name: string): boolean {
  return /^(?:vitest|node-compile-cache|[\w-]{21})$/.test(name)
}

function readEntries(folder: string): { isSocket(): boolean }[] {
  const top = readdirSync(folder, { withFileTypes: true })
  const below = top.filter((entry) => entry.isDirectory())
  return [...top, ...below.flatMap(({ name }) => readEntries(join(folder, name)))]
}
