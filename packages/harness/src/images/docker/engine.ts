import { Readable } from 'node:stream'
import { unlessAborted } from '../../unless-aborted.ts'
import { ImageError, throwIfAborted } from '../errors.ts'

/** One question to the engine's HTTP interface (Docker Engine API 1.41 and later). */
export interface EngineCall {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Without the query. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  /** Sent as the call's content, of the type application/x-tar. */
  readonly input?: AsyncIterable<Uint8Array>
  readonly signal?: AbortSignal | undefined
}

/** A container engine: Docker, or what speaks like it. */
export interface Engine {
  /** Where it was found, for messages. */
  readonly address: string
  /** The JSON of an answer. Fails with an EngineRefusal, or ERR_IMAGE_TOOL_MISSING when nobody answers any more. */
  ask<Answer>(call: EngineCall): Promise<Answer>
  /** An answer as it comes. */
  stream(call: EngineCall): Promise<AsyncIterable<Uint8Array>>
  /** Pulls an image with the credentials of `docker login`. That it is there afterwards is for the caller to see. */
  pull(name: string): Promise<void>
}

/** The engine answered, and not as was hoped. `message` is its own. */
export class EngineRefusal extends Error {
  override readonly name = 'EngineRefusal'
  /** Of HTTP. */
  readonly status: number

  constructor(status: number, message: string, cause: unknown) {
    super(message, { cause })
    this.status = status
  }
}

/** The part of docker-modem's interface that is used; a handle of testcontainers carries one. */
interface Modem {
  readonly socketPath?: string
  readonly host?: string
  readonly port?: number | string
  dial(options: object, callback: (error: ModemError | null, answer: unknown) => void): void
}

interface ModemError extends Error {
  readonly statusCode?: number
  readonly json?: unknown
}

const DEFAULT_SOCKET = '/var/run/docker.sock'
const CONNECT_LIMIT_MS = 20_000
const GOOD = { 200: true, 201: true, 204: true, 304: true }

/**
 * The engine that testcontainers finds: by its properties file, DOCKER_HOST, the usual socket, or a rootless one. Fails with
 * ERR_IMAGE_TOOL_MISSING where testcontainers or an engine is missing.
 */
export async function connectEngine(signal?: AbortSignal): Promise<Engine> {
  const { getContainerRuntimeClient, ImageName } = await loadTestcontainers()
  const client = await inTime(getContainerRuntimeClient(), signal).catch((error: unknown) => {
    throwIfAborted(signal, 'Looking for a container engine')
    throw noEngine(error)
  })
  // Any handle will do: it is never asked for this container.
  const modem = client.container.getById('none').modem as Modem
  const address = modem.socketPath === undefined ? `${modem.host}:${modem.port}` : modem.socketPath
  const wanted = process.env['DOCKER_HOST']
  if (wanted !== undefined && wanted !== '' && isUsualPlace(address) && !wanted.endsWith(address)) {
    // testcontainers goes on to the usual places; a build that runs in another engine than was named helps nobody.
    throw noEngine(new Error(`only ${address} answers`))
  }
  return {
    address,
    async ask<Answer>(call: EngineCall) {
      return (await dial(modem, address, call, false)) as Answer
    },
    async stream(call) {
      return (await dial(modem, address, call, true)) as AsyncIterable<Uint8Array>
    },
    pull: (name) => client.image.pull(ImageName.fromString(name), { force: true, platform: undefined }),
  }
}

async function loadTestcontainers(): Promise<typeof import('testcontainers')> {
  try {
    return await import('testcontainers')
  } catch (error) {
    const message =
      'Images from Dockerfiles and container engines need the package testcontainers, and it cannot be loaded: `npm install --save-dev testcontainers`'
    throw new ImageError('ERR_IMAGE_TOOL_MISSING', message, error)
  }
}

function isUsualPlace(address: string): boolean {
  return address === DEFAULT_SOCKET || address.endsWith('/docker.sock') || address.endsWith('/podman.sock')
}

function noEngine(cause: unknown): ImageError {
  const host = process.env['DOCKER_HOST']
  const where = host ? `at ${host} (DOCKER_HOST)` : `at ${DEFAULT_SOCKET} or any other place that testcontainers knows`
  const remedy = host
    ? 'start it, or correct or unset DOCKER_HOST'
    : 'start Docker or Podman (`systemctl start docker`), set DOCKER_HOST, or join the group that may use its socket'
  return new ImageError('ERR_IMAGE_TOOL_MISSING', `No container engine answers ${where}: ${remedy}`, cause)
}

function dial(modem: Modem, address: string, call: EngineCall, isStream: boolean): Promise<unknown> {
  const { method, path, query, input, signal } = call
  const file = input && Readable.from(input, { objectMode: false })
  const options = {
    method,
    path: query ? `${path}?` : path,
    ...(query && { options: { _query: query } }),
    ...(file && { file }),
    ...(signal && { abortSignal: signal }),
    isStream,
    statusCodes: GOOD,
  }
  return new Promise((resolve, reject) => {
    modem.dial(options, (error, answer) => {
      if (error === null || error === undefined) return resolve(answer)
      file?.destroy()
      reject(explain(error, address, call))
    })
  })
}

function explain(error: ModemError, address: string, { method, path, signal }: EngineCall): Error {
  if (signal?.aborted) return new ImageError('ERR_IMAGE_ABORTED', `\`${method} ${path}\` was aborted`, signal.reason)
  if (error instanceof ImageError) return error
  if (error.statusCode !== undefined) {
    const words = /^\(HTTP code \d+\) .*? - ([^]*?)\s*$/.exec(error.message)?.[1] ?? error.message
    return new EngineRefusal(error.statusCode, words, error)
  }
  const message = `The container engine at ${address} stopped answering: see its log, and start it again`
  return new ImageError('ERR_IMAGE_TOOL_MISSING', message, error)
}

async function inTime<Result>(promise: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  const bound = AbortSignal.any([AbortSignal.timeout(CONNECT_LIMIT_MS), ...(signal ? [signal] : [])])
  return unlessAborted(promise, bound, () => new Error(`it did not answer within ${CONNECT_LIMIT_MS} ms`))
}
