import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'

const known = new Map<string, string>()

/**
 * sha256 of a file's content, 64 hex digits. Remembered inside this process for as long as the file's inode, size and
 * times stay the same, since a suite asks for the same kernel and agent at every boot. Fails with the system's error.
 */
export async function fileDigest(path: string): Promise<string> {
  const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
  const identity = [dev, ino, size, mtimeNs, ctimeNs].join(':')
  const found = known.get(identity)
  if (found !== undefined) return found
  const hash = createHash('sha256')
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash)
  const digest = hash.digest('hex')
  known.set(identity, digest)
  return digest
}

/** sha256 of bytes, 64 hex digits. */
export function bytesDigest(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}
