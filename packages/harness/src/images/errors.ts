/** What went wrong while a kernel, an initramfs or a cache entry was made ready; each code has one meaning. */
export type ImageErrorCode =
  /** The caller's AbortSignal fired; `cause` is its reason. */
  | 'ERR_IMAGE_ABORTED'
  /** The image is for another architecture than the one that was asked for. */
  | 'ERR_IMAGE_ARCHITECTURE'
  /** An archive or a layer is damaged, cut, or holds a path that leads out of it. */
  | 'ERR_IMAGE_ARCHIVE'
  /** The agent binary is missing or cannot run as /init. */
  | 'ERR_IMAGE_AGENT'
  /** The busybox that was asked for is missing or not static. */
  | 'ERR_IMAGE_BUSYBOX'
  /** The cache folder cannot be read or written. */
  | 'ERR_IMAGE_CACHE'
  /** A tool ran and failed, or took too long. */
  | 'ERR_IMAGE_COMMAND'
  /** An archive entry that the newc format or the kernel's unpacker cannot take. */
  | 'ERR_IMAGE_CPIO'
  /** Bytes are not those that their digest promises. */
  | 'ERR_IMAGE_DIGEST'
  /** A disk that cannot be used: not of its format, or with a backing file somewhere else. */
  | 'ERR_IMAGE_DISK'
  /** A file for the initramfs that cannot be added as asked. */
  | 'ERR_IMAGE_FILE'
  /** The image format cannot hold this tree. */
  | 'ERR_IMAGE_FORMAT'
  /** The kernel is missing, unreadable or not a kernel. */
  | 'ERR_IMAGE_KERNEL'
  /** Another process held a cache entry's lock for longer than the caller waits. */
  | 'ERR_IMAGE_LOCK_TIMEOUT'
  /** A kernel module is missing, unreadable or built for another kernel. */
  | 'ERR_IMAGE_MODULE'
  /** A distribution package cannot be found or does not hold what it should. */
  | 'ERR_IMAGE_PACKAGE'
  /** Only root, or a user with subordinate ids, can do this. */
  | 'ERR_IMAGE_PRIVILEGE'
  /** A registry, or the reference to an image in it, did not give an image. */
  | 'ERR_IMAGE_REGISTRY'
  /** The source of an image is not there, cannot be read, or is something else. */
  | 'ERR_IMAGE_SOURCE'
  /** The disk that holds the cache is full. */
  | 'ERR_IMAGE_SPACE'
  /** A tool of the host is not installed. */
  | 'ERR_IMAGE_TOOL_MISSING'

/** An error of the images area: one sentence that names the thing and the remedy, with the origin in `cause`. */
export class ImageError extends Error {
  override readonly name = 'ImageError'
  readonly code: ImageErrorCode

  constructor(code: ImageErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }
}

/** The `code` of a system error (`ENOENT`, ...), or undefined for anything else. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** Throws ERR_IMAGE_ABORTED, with the signal's reason as `cause`, when the signal has fired. */
export function throwIfAborted(signal: AbortSignal | undefined, doing: string): void {
  if (signal?.aborted) throw new ImageError('ERR_IMAGE_ABORTED', `${doing} was aborted`, signal.reason)
}

/** Whether an error of the system, or a tool's words, say that a disk is full. */
export function isNoSpace(thing: unknown): boolean {
  // The last is what GNU tar says of a write that was cut short.
  if (typeof thing === 'string')
    return /No space left on device|Disk quota exceeded|Wrote only \d+ of \d+ bytes/.test(thing)
  return ['ENOSPC', 'EDQUOT'].includes(systemCode(thing) ?? '')
}

/** The error of a full disk. */
export function noSpace(doing: string, cause: unknown): ImageError {
  const remedy = 'free some (`boxlab image gc --max-size 10G`), or set BOXLAB_HOME to a folder on a larger disk'
  return new ImageError('ERR_IMAGE_SPACE', `${doing} needs more space than is left on the disk: ${remedy}`, cause)
}
