import { ImageError, throwIfAborted } from '../errors.ts'
import { counted } from '../progress.ts'
import { type Engine, EngineRefusal } from './engine.ts'
import { type SavedImage, unpackSaved } from './saved-image.ts'

/** Where an image goes. */
export interface SaveOptions {
  /** Made here; it must not be there. */
  readonly folder: string
  /** What the errors call the image. */
  readonly name: string
  readonly onBytes: (done: number) => void
  readonly signal?: AbortSignal | undefined
}

/** Takes an image out of an engine. Fails with ERR_IMAGE_SOURCE, ERR_IMAGE_ARCHIVE or ERR_IMAGE_ABORTED. */
export async function saveImage(engine: Engine, id: string, options: SaveOptions): Promise<SavedImage> {
  const { folder, name, onBytes, signal } = options
  try {
    const call = { method: 'GET', path: `/images/${id}/get`, signal } as const
    return await unpackSaved(counted(await engine.stream(call), onBytes), folder, name)
  } catch (error) {
    throwIfAborted(signal, `Saving ${name}`)
    if (!(error instanceof EngineRefusal)) throw error
    const message = `The container engine does not give the image of ${name}: build, pull or import it again (${error.message})`
    throw new ImageError('ERR_IMAGE_SOURCE', message, error)
  }
}
