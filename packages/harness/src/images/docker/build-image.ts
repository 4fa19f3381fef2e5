import { stripVTControlCharacters } from 'node:util'
import { ImageError, throwIfAborted } from '../errors.ts'
import { type Engine, EngineRefusal } from './engine.ts'

/** One build. */
export interface BuildJob {
  /** What the errors call it. */
  readonly name: string
  /** A tar archive. */
  readonly context: AsyncIterable<Uint8Array>
  /** Name of the Dockerfile in it. */
  readonly dockerfile: string
  readonly target?: string
  readonly buildArgs?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  /** What the builder says, line by line. */
  readonly onLine: (line: string) => void
}

/** One line of the builder's answer (Docker Engine API, ImageBuild). */
interface BuildMessage {
  readonly stream?: string
  readonly aux?: { readonly ID?: string }
  readonly error?: string
}

const SHOWN_LINES = 6

/**
 * Builds an image and gives its id. Fails with ERR_IMAGE_COMMAND: the step, what the builder says of it, and the step's own
 * last lines; or with ERR_IMAGE_ABORTED, or with what the context fails with.
 */
export async function buildImage(engine: Engine, job: BuildJob): Promise<string> {
  const { name, context, dockerfile, target, buildArgs = {}, signal } = job
  const query = {
    dockerfile,
    ...(target !== undefined && { target }),
    buildargs: JSON.stringify(buildArgs),
    // Containers of steps go, also of the step that failed.
    rm: 'true',
    forcerm: 'true',
    version: '1',
  }
  let step = ''
  let lines: string[] = []
  let id: string | undefined
  try {
    const call = { method: 'POST', path: '/build', query, input: context, signal } as const
    for await (const { stream, aux, error } of messages(await engine.stream(call))) {
      id = aux?.ID ?? id
      for (const line of plainLines(stream ?? '')) {
        if (/^Step \d+\/\d+ : /.test(line)) {
          step = line
          lines = []
        } else if (!isChatter(line)) lines = [...lines, line].slice(-SHOWN_LINES)
        job.onLine(line)
      }
      if (error !== undefined) throw failed(name, step, error, lines)
    }
  } catch (error) {
    throwIfAborted(signal, `Building ${name}`)
    throw error instanceof EngineRefusal ? failed(name, step, error.message, lines, error) : error
  }
  if (id === undefined) throw failed(name, step, 'the builder ended without an image', lines)
  return id
}

/** What the builder says of its own. */
function isChatter(line: string): boolean {
  return line.startsWith(' ---> ') || /^Removing intermediate container [0-9a-f]+$/.test(line)
}

async function* messages(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<BuildMessage> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as BuildMessage
  }
  if (rest.trim() !== '') yield JSON.parse(rest) as BuildMessage
}

/** Without the colours that the builder gives to what a step writes to standard error. */
function plainLines(text: string): string[] {
  return stripVTControlCharacters(text)
    .split(/[\r\n]+/)
    .filter((line) => line.trim() !== '')
}

function failed(name: string, step: string, words: string, lines: readonly string[], cause?: unknown): ImageError {
  const where = step === '' ? `${name} cannot be built` : `${name} cannot be built, in ${step.replace(' : ', ': ')}`
  const said = lines.length === 0 ? '' : `, after: ${lines.join(' / ')}`
  const remedy = /buildkit/i.test(words)
    ? 'build it with `docker buildx build --load` and give the image to container()'
    : 'correct the Dockerfile'
  return new ImageError('ERR_IMAGE_COMMAND', `${where}: ${remedy} (${words.trim()}${said})`, cause)
}
