import { realpath, stat } from 'node:fs/promises'
import { fileDigest } from '../digest.ts'
import { ImageError } from '../errors.ts'

/** A file that the user gave. */
export interface SourceFile {
  /** Absolute, without links. */
  readonly path: string
  readonly bytes: number
  /** 64 hex digits. */
  readonly sha256: string
}

/** Looks a file of the user's up and takes its digest. Fails with ERR_IMAGE_SOURCE. */
export async function sourceFile(path: string, what: string): Promise<SourceFile> {
  try {
    const real = await realpath(path)
    const facts = await stat(real)
    if (!facts.isFile()) throw new Error('it is no file')
    return { path: real, bytes: facts.size, sha256: await fileDigest(real) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ImageError('ERR_IMAGE_SOURCE', `The ${what} ${path} cannot be read: check its path (${reason})`, error)
  }
}
