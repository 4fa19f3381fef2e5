import { statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { currentOwner, formatOwner, isGone, parseOwner } from '../owner.ts'
import { namesOrNone } from '../read-or-empty.ts'

/**
 * The folder of what a box's engine puts aside while it runs: QEMU makes a file there for each disk that takes writes, and
 * unlinks it at once, unless it is killed in that moment. Its name says whose it is, wherever the record may be.
 */
export function asideFolder(root: string, id: string): string {
  return join(root, 'boxes', `${id}-${formatOwner(currentOwner())}`)
}

/** Removes the folders of owners that are gone. Best effort: what cannot be removed now is for the next sweep. */
export async function sweepAside(root: string): Promise<void> {
  const folder = join(root, 'boxes')
  for (const name of namesOrNone(folder)) {
    const path = join(folder, name)
    const owner = parseOwner(name.slice(name.indexOf('-') + 1))
    if (owner && isGone(owner, ageMs(path))) await rm(path, { recursive: true, force: true }).catch(() => {})
  }
}

function ageMs(path: string): number {
  return Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
}
