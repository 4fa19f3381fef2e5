import { randomBytes } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { currentOwner, formatOwner } from '../owner.ts'
import { kindFolder } from './cache.ts'
import { ImageError, isNoSpace, noSpace } from './errors.ts'

/**
 * Runs `work` with an empty folder inside the cache, and removes the folder. Its name is that of an entry in the making, so
 * that the next maker of that kind removes what a killed one left.
 */
export async function withWorkspace<Result>(
  root: string,
  kind: string,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const owner = formatOwner(currentOwner())
  const name = `${randomBytes(32).toString('hex')}.making-${owner}-${randomBytes(4).toString('hex')}`
  const folder = join(kindFolder(root, kind), name)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    if (isNoSpace(error)) throw noSpace('Making an image', error)
    const remedy = 'set BOXLAB_HOME to a folder that you can write to'
    throw new ImageError('ERR_IMAGE_CACHE', `The image cache ${folder} cannot be made: ${remedy}`, error)
  }
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}
