import { join } from 'node:path'
import { buildRoot } from '../build-root.ts'
import { progressOf } from '../progress.ts'
import { type FormatOptions, formatOptions, type ImageSource } from '../root-image.ts'
import { connectEngine } from './engine.ts'
import { findImage, type PullPolicy } from './engine-image.ts'
import { sweepEngine } from './leftovers.ts'
import { saveImage } from './save-image.ts'
import { addSaved } from './saved-image.ts'

/** How an image is taken out of a container engine. */
export interface ContainerOptions extends FormatOptions {
  /** Default 'missing': only when the engine does not have it. */
  readonly pull?: PullPolicy
}

/**
 * An image of a container engine (Docker, Podman) by its name or id, found through testcontainers. Its layers are taken as
 * they are (`docker save`): a container would bring files of the engine's own (/.dockerenv, /etc/hosts, /dev/console) and
 * lose xattrs, so none is made. An image that was pulled stays with the engine. Once cached, the engine is only asked for
 * the id.
 */
export function container(image: string, options: ContainerOptions = {}): ImageSource {
  const name = `container ${image}`
  return {
    name,
    async resolve(context) {
      const { signal } = context
      const engine = await connectEngine(signal)
      const step = progressOf(context, name)
      const onPull = (): void => step('fetch', { detail: `pull ${image}` })
      const { id } = await findImage(engine, image, options.pull ?? 'missing', signal, onPull)
      return buildRoot(context, {
        ...formatOptions(options),
        name,
        inputs: { container: id },
        async fill(tree, folder, report) {
          await sweepEngine({ engine, signal })
          report('fetch')
          const onBytes = (doneBytes: number): void => report('fetch', { doneBytes })
          const saved = await saveImage(engine, id, {
            folder: join(folder, 'saved'),
            name,
            onBytes,
            signal,
          })
          return addSaved(tree, saved, name, report, signal)
        },
      })
    },
  }
}
