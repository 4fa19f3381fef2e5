import { createHash } from 'node:crypto'
import { type BigIntStats, lstatSync, readdirSync } from 'node:fs'
import { ImageError } from '../errors.ts'

/** A change that is younger may share its time with a later one, since the kernel stamps files by ticks of some ms. */
const SETTLED_MS = 2_000

/**
 * A digest over what lstat(2) says of everything below a folder. Every change of a file's content, owner, mode or xattrs sets
 * its change time, which nobody can set back: as long as the stamp is the same, so is the tree. Undefined when something
 * changed just now, so that a stamp would prove nothing. Fails with ERR_IMAGE_SOURCE.
 */
export function directoryStamp(folder: string): string | undefined {
  const nowMs = Date.now()
  const hash = createHash('sha256')
  let newestMs = 0
  const visit = (path: Buffer): void => {
    const stat = lstatSync(path, { bigint: true })
    newestMs = Math.max(newestMs, Number(stat.ctimeMs))
    hash.update(path).update(`\0${facts(stat)}\n`)
    if (!stat.isDirectory()) return
    const names = readdirSync(path, { encoding: 'buffer' }).toSorted((a, b) => Buffer.compare(a, b))
    for (const name of names) visit(Buffer.concat([path, Buffer.from('/'), name]))
  }
  try {
    if (!lstatSync(folder).isDirectory()) throw new Error('it is no directory')
    visit(Buffer.from(folder))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ImageError(
      'ERR_IMAGE_SOURCE',
      `The directory ${folder} cannot be read: check its path and its modes (${reason})`,
      error,
    )
  }
  return nowMs - newestMs < SETTLED_MS ? undefined : hash.digest('hex')
}

function facts({ dev, ino, mode, nlink, uid, gid, rdev, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, mode, nlink, uid, gid, rdev, size, mtimeNs, ctimeNs].join(' ')
}
