import { unlessAborted } from '../../unless-aborted.ts'
import { ImageError, throwIfAborted } from '../errors.ts'
import { type Engine, EngineRefusal } from './engine.ts'

/** When an image is pulled, as of `docker run --pull`. */
export type PullPolicy = 'missing' | 'always' | 'never'

/** What an engine says of an image that it has. */
export interface EngineImage {
  /** Its content address: `sha256:…` */
  readonly id: string
  /** Instructions that it adds to every Dockerfile that begins with it. */
  readonly triggers: readonly string[]
}

/** The image of a name, pulled where the policy says so. Fails with ERR_IMAGE_REGISTRY or ERR_IMAGE_SOURCE. */
export async function findImage(
  engine: Engine,
  name: string,
  pull: PullPolicy,
  signal?: AbortSignal,
  onPull?: () => void,
): Promise<EngineImage> {
  if (!/^[\w.[\]-][\w.:@/[\]-]*$/.test(name)) {
    const message = `${JSON.stringify(name)} is no name of an image: give one like debian:trixie, or its id`
    throw new ImageError('ERR_IMAGE_SOURCE', message)
  }
  const known = pull === 'always' ? undefined : await inspect(engine, name, signal)
  if (known) return known
  if (pull === 'never') {
    const message = `The container engine has no image ${name}, and it is not to be pulled: build or import it first`
    throw new ImageError('ERR_IMAGE_SOURCE', message)
  }
  onPull?.()
  let cause: unknown
  try {
    // testcontainers has no way to end a pull; the engine goes on with it, as after Ctrl-C in `docker pull`.
    await unlessAborted(engine.pull(name), signal)
  } catch (error) {
    throwIfAborted(signal, `Pulling ${name}`)
    cause = error
  }
  const pulled = cause === undefined ? await inspect(engine, name, signal) : undefined
  if (pulled) return pulled
  const words =
    cause instanceof Error ? cause.message.replace(/^\(HTTP code \d+\) .*? - /, '').trim() : 'it ended without one'
  const remedy = 'check its name, that the registry answers, and `docker login`; or build or import it under this name'
  throw new ImageError(
    'ERR_IMAGE_REGISTRY',
    `The container engine cannot get the image ${name}: ${remedy} (${words})`,
    cause,
  )
}

async function inspect(
  engine: Engine,
  name: string,
  signal: AbortSignal | undefined,
): Promise<EngineImage | undefined> {
  try {
    const call = { method: 'GET', path: `/images/${name}/json`, signal } as const
    const { Id, Config } = await engine.ask<{ Id: string; Config?: { OnBuild?: string[] | null } | null }>(call)
    return { id: Id, triggers: Config?.OnBuild ?? [] }
  } catch (error) {
    if (error instanceof EngineRefusal && error.status === 404) return undefined
    throw error
  }
}
