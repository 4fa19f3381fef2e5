import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { ImageSource } from '../../../src/images/root-image.ts'

/** The error of a source that gives no image; nothing is left in the cache then. */
export async function refusal(cacheRoot: string, source: ImageSource): Promise<unknown> {
  const error: unknown = await source.resolve({ cacheRoot }).then(
    () => 'nothing was refused',
    (thrown: unknown) => thrown,
  )
  const left = ['root', 'source'].flatMap((kind) => {
    try {
      return readdirSync(join(cacheRoot, 'images', kind))
    } catch {
      return []
    }
  })
  expect(left).toEqual([])
  return error
}

/** An ImageError with this code and message. */
export function imageError(code: string, message: RegExp): unknown {
  return expect.objectContaining({ name: 'ImageError', code, message: expect.stringMatching(message) as string })
}
