import { closeSync, lstatSync, openSync, readlinkSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { systemCode } from '../errors.ts'
import { LINK_LIMIT } from './follow.ts'
import { ELF_START_BYTES, elfMachine, INITS, PROGRAMS, type TreeFacts } from './tree-facts.ts'

/** What a boot needs to know of a folder of the host before that is its root. Links are followed inside of the folder. */
export function folderFacts(folder: string): Pick<TreeFacts, 'architecture' | 'init'> {
  const init = INITS.find((path) => isExecutable(followInFolder(folder, path)))
  const machines = PROGRAMS.map((path) => machineOf(followInFolder(folder, path)))
  const architecture = machines.find((machine) => machine !== undefined)
  return { ...(architecture !== undefined && { architecture }), ...(init !== undefined && { init: `/${init}` }) }
}

/**
 * Where a path leads on the host, with every link on the way followed as the kernel would with this folder as its root.
 * Undefined where nothing is there, or where links go round in a circle.
 */
export function followInFolder(folder: string, path: string): string | undefined {
  const found: string[] = []
  const queue = path.split('/')
  let links = 0
  for (let part = queue.shift(); part !== undefined; part = queue.shift()) {
    if (part === '' || part === '.') continue
    if (part === '..') {
      found.pop()
      continue
    }
    const place = join(folder, ...found, part)
    const target = linkTarget(place)
    if (target === undefined) return undefined
    if (target === null) found.push(part)
    else {
      links += 1
      if (links > LINK_LIMIT) return undefined
      if (target.startsWith('/')) found.length = 0
      queue.unshift(...target.split('/'))
    }
  }
  return join(folder, ...found)
}

/** Null where something else is than a link, undefined where nothing is. */
function linkTarget(place: string): string | null | undefined {
  try {
    return lstatSync(place).isSymbolicLink() ? readlinkSync(place) : null
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return undefined
    throw error
  }
}

function isExecutable(place: string | undefined): boolean {
  if (place === undefined) return false
  const stat = lstatSync(place)
  return stat.isFile() && (stat.mode & 0o111) !== 0 && stat.size > 0
}

function machineOf(place: string | undefined): string | undefined {
  if (place === undefined || !lstatSync(place).isFile()) return undefined
  const file = openSync(place, 'r')
  try {
    const start = Buffer.alloc(ELF_START_BYTES)
    return elfMachine(start.subarray(0, readSync(file, start)))
  } finally {
    closeSync(file)
  }
}
