import { createHash, randomBytes } from 'node:crypto'
import { lstat, readlink, symlink, unlink } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { currentOwner, formatOwner, isGone, type Owner, parseOwner } from '../owner.ts'
import { ImageError, systemCode, throwIfAborted } from './errors.ts'

/** How long to wait for a lock, and who may end the wait early. */
export interface LockOptions {
  readonly signal?: AbortSignal | undefined
  /** Default 600 000: a kernel package on a slow line. */
  readonly timeoutMs?: number
}

/** A lock that is held until `release`, or until its thread is gone. */
export interface Lock {
  /** Owner and nonce in one word: unique to this taking of the lock. */
  readonly token: string
  release(): Promise<void>
}

const FIRST_DELAY_MS = 5
const LAST_DELAY_MS = 100

/**
 * Takes the lock at `path`. The lock is a symbolic link whose target names its holder: the link is made in one
 * system call, fails when it exists, and so is never seen without its holder, unlike a file that is created and
 * then written. Fails with ERR_IMAGE_LOCK_TIMEOUT or ERR_IMAGE_ABORTED.
 */
export async function acquireLock(path: string, options: LockOptions = {}): Promise<Lock> {
  const timeoutMs = options.timeoutMs ?? 600_000
  const deadlineMs = performance.now() + timeoutMs
  const token = `${formatOwner(currentOwner())}-${randomBytes(4).toString('hex')}`
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(delayMs * 2, LAST_DELAY_MS)) {
    throwIfAborted(options.signal, `Waiting for the lock ${path}`)
    if (await tryLink(token, path)) return { token, release: () => release(path, token) }
    if (await breakStaleLock(path)) continue
    if (performance.now() + delayMs > deadlineMs) throw await timedOut(path, timeoutMs)
    // The signal is looked at above, so that every end of the wait has the same error.
    await sleep(delayMs, undefined, { signal: options.signal }).catch(() => {})
  }
}

/**
 * Removes the lock at `path` when its holder is gone; true when it is free afterwards. Two processes may see the same
 * dead lock: only the one that holds the lock named after it may remove it, so neither can remove a lock that
 * a third one took in between.
 */
export async function breakStaleLock(path: string): Promise<boolean> {
  const seen = await readLock(path)
  if (seen === undefined) return true
  if (!isStale(seen)) return false
  const mark = createHash('sha256').update(seen.token).digest('hex').slice(0, 8)
  const breaking = await acquireLock(`${path}.${mark}`, { timeoutMs: 10_000 })
  try {
    if ((await readLock(path))?.token === seen.token) await unlink(path)
    return true
  } finally {
    await breaking.release()
  }
}

async function tryLink(token: string, path: string): Promise<boolean> {
  try {
    await symlink(token, path)
    return true
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false
    throw new ImageError('ERR_IMAGE_CACHE', `The lock ${path} cannot be made: is its folder writable?`, error)
  }
}

interface SeenLock {
  readonly token: string
  readonly ageMs: number
}

async function readLock(path: string): Promise<SeenLock | undefined> {
  try {
    const [token, stat] = await Promise.all([readlink(path), lstat(path)])
    return { token, ageMs: Date.now() - stat.mtimeMs }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw new ImageError('ERR_IMAGE_CACHE', `${path} is in the way of a lock: remove it`, error)
  }
}

function isStale(seen: SeenLock): boolean {
  const owner = ownerOf(seen.token)
  return owner === undefined || isGone(owner, seen.ageMs)
}

/** The token without its nonce. */
function ownerOf(token: string): Owner | undefined {
  return parseOwner(token.slice(0, token.lastIndexOf('-')))
}

async function release(path: string, token: string): Promise<void> {
  if ((await readLock(path))?.token === token) await unlink(path)
}

async function timedOut(path: string, timeoutMs: number): Promise<ImageError> {
  const token = (await readLock(path))?.token
  const owner = token === undefined ? undefined : ownerOf(token)
  const holder = owner === undefined ? 'another process' : `process ${owner.pid}`
  return new ImageError(
    'ERR_IMAGE_LOCK_TIMEOUT',
    `The lock ${path} was still held by ${holder} after ${timeoutMs} ms: let it finish, end it, or wait longer`,
  )
}
