import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { BoxError, type ExecExit, type Machine } from '@boxlab/native'
import type { ExecDefaults } from '../exec.ts'
import type { ImageConfig, RootImage } from '../images/root-image.ts'

/** What the process of an OCI image printed, in its record. */
export const entrypointLog = 'guest/entrypoint.log'

/** Longer than any box lives: a command of the guest needs a limit. */
const limitMs = 24 * 3600 * 1000
const shownBytes = 2000

/** The process that an image was made for. */
export interface Entrypoint {
  /** Its command line. */
  readonly argv: readonly string[]
  /** Rejects with ERR_BOX_ENTRYPOINT when it ends otherwise than well; a process that goes on leaves it pending. */
  readonly failed: Promise<never>
}

/** The command line of an image's process (OCI image specification, config.md). Undefined where it has none. */
export function entrypointOf(config: ImageConfig | undefined): string[] | undefined {
  const argv = [...(config?.entrypoint ?? []), ...(config?.cmd ?? [])]
  return argv.length > 0 ? argv : undefined
}

/**
 * Starts the process of an OCI image as its configuration says; `process-ready` is when it runs, `process-exit` when it has
 * ended. What it prints goes into the record.
 */
export async function startEntrypoint(
  machine: Machine,
  image: RootImage,
  {
    record,
    defaults,
    limitBytes,
  }: { readonly record: string; readonly defaults: ExecDefaults; readonly limitBytes: number },
): Promise<Entrypoint> {
  const argv = entrypointOf(image.config)
  if (!argv) {
    throw new BoxError('ERR_BOX_IMAGE', "`run: 'entrypoint'`: the image has neither an entrypoint nor a command")
  }
  const { env, user, workdir } = defaults
  const command = await machine.exec({
    argv,
    env: Object.entries(env),
    ...(workdir !== undefined && { cwd: workdir }),
    ...(user !== undefined && { user }),
    timeoutMs: limitMs,
  })
  machine.mark('process-ready')
  command.stdin.end()
  const log = createWriteStream(join(record, entrypointLog))
  const said = tail()
  const outputs = [command.stdout, command.stderr].filter((stream) => stream !== undefined)
  const written = Promise.all(outputs.map((stream) => keep(stream, said, log, limitBytes))).finally(() => log.end())
  const failed = command.wait().then(
    async (exit) => {
      machine.mark('process-exit')
      await written
      if (exit.exitCode !== 0) throw entrypointError(argv, exit, said.text())
      return new Promise<never>(() => {})
    },
    // The box has ended: others tell of that.
    async () => new Promise<never>(() => {}),
  )
  failed.catch(() => {})
  return { argv, failed }
}

function entrypointError(argv: readonly string[], exit: ExecExit, said: string): BoxError {
  const how = exit.exitCode === undefined ? `was ended by ${exit.signal}` : `ended with exit code ${exit.exitCode}`
  const words = said === '' ? '' : `; it said: ${said.split('\n').slice(-3).join(' | ')}`
  return new BoxError('ERR_BOX_ENTRYPOINT', `the image's process \`${argv.join(' ')}\` ${how}${words}`)
}

async function keep(stream: Readable, said: Tail, log: NodeJS.WritableStream, limitBytes: number): Promise<void> {
  let left = limitBytes
  const bounded = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      said.add(chunk)
      const kept = chunk.subarray(0, left)
      left -= kept.length
      done(null, kept)
    },
  })
  await pipeline(stream, bounded, log, { end: false }).catch(() => {})
}

interface Tail {
  add(chunk: Buffer): void
  text(): string
}

function tail(): Tail {
  let bytes = Buffer.alloc(0)
  return {
    add(chunk) {
      bytes = Buffer.concat([bytes, chunk]).subarray(-shownBytes)
    },
    text: () => bytes.toString().trim(),
  }
}
