import { Box } from './box.ts'
import type { BoxOptions } from './options.ts'

/**
 * Boots a box and resolves when it is ready; `await using box = await bootBox()` stops it at the end of the block.
 * `onCreated` gets the box before it boots, for those who follow its marks.
 */
export async function bootBox(options: BoxOptions = {}, onCreated?: (box: Box) => void): Promise<Box> {
  const box = new Box(options)
  onCreated?.(box)
  return box.boot()
}
