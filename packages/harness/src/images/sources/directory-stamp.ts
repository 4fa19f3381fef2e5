import { createHash } from 'node:crypto'
import { type BigIntStats, lstatSync, readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { ImageError, throwIfAborted } from '../errors.ts'

/** A change that is younger may share its time with a later one, since the kernel stamps files by ticks of some ms. */
const SETTLED_MS = 2_000

/** What a folder was at one moment. */
export interface DirectoryStamp {
  /**
   * A digest over what lstat(2) says of everything below. Every change of a file's content, owner, mode or xattrs sets its
   * change time, which nobody can set back: as long as the digest is the same, so is the tree.
   */
  readonly digest: string
  /** The sum of all files, hard links counted each. */
  readonly bytes: number
  /** How long ago the last change was. */
  readonly quietMs: number
}

/**
 * The digest of a folder. Undefined when something changed just now, so that it would prove nothing. Fails with
 * ERR_IMAGE_SOURCE.
 */
export function settledDigest(folder: string): string | undefined {
  const { digest, quietMs } = directoryStamp(folder)
  return quietMs < SETTLED_MS ? undefined : digest
}

/**
 * Waits until the last change of a folder is old enough for its digest to stand for it, up to 2 s after a change. Fails with
 * ERR_IMAGE_SOURCE when the changes do not end within `limitMs`.
 */
export async function settledStamp(
  folder: string,
  signal: AbortSignal | undefined,
  limitMs = 20_000,
): Promise<DirectoryStamp> {
  const deadlineMs = performance.now() + limitMs
  for (;;) {
    const stamp = directoryStamp(folder)
    if (stamp.quietMs >= SETTLED_MS) return stamp
    if (performance.now() > deadlineMs) {
      const remedy = 'let nobody write to it while a box begins, or give a copy of it'
      throw new ImageError('ERR_IMAGE_SOURCE', `The directory ${folder} changes all the time: ${remedy}`)
    }
    const leftMs = Math.min(SETTLED_MS - stamp.quietMs, SETTLED_MS)
    await sleep(leftMs, undefined, { signal }).catch(() => throwIfAborted(signal, `Reading ${folder}`))
  }
}

function directoryStamp(folder: string): DirectoryStamp {
  const nowMs = Date.now()
  const hash = createHash('sha256')
  let newestMs = 0
  let bytes = 0
  const visit = (path: Buffer): void => {
    const stat = lstatSync(path, { bigint: true })
    newestMs = Math.max(newestMs, Number(stat.ctimeMs))
    hash.update(path).update(`\0${facts(stat)}\n`)
    if (stat.isFile()) bytes += Number(stat.size)
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
  return { digest: hash.digest('hex'), bytes, quietMs: nowMs - newestMs }
}

function facts({ dev, ino, mode, nlink, uid, gid, rdev, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, mode, nlink, uid, gid, rdev, size, mtimeNs, ctimeNs].join(' ')
}
