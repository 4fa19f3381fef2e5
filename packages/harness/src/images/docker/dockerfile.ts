import { mkdir, readFile, realpath, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { buildRoot } from '../build-root.ts'
import { bytesDigest } from '../digest.ts'
import { ImageError } from '../errors.ts'
import { progressOf, type StepProgress } from '../progress.ts'
import { type FormatOptions, formatOptions, type ImageContext, type ImageSource } from '../root-image.ts'
import { type BuildContext, OWN_DOCKERFILE, ownIgnoreText, packContext, readContext } from './build-context.ts'
import { buildImage } from './build-image.ts'
import { type DockerfilePlan, planDockerfile, withLabels } from './dockerfile-plan.ts'
import { connectEngine, type Engine } from './engine.ts'
import { type EngineImage, findImage } from './engine-image.ts'
import { labelledBuild, sweepEngine } from './leftovers.ts'
import { saveImage } from './save-image.ts'
import { addSaved, type SavedImage } from './saved-image.ts'

/** How a Dockerfile is built. */
export interface DockerfileOptions extends FormatOptions {
  /** The stage to build. Default: the last. */
  readonly target?: string
  readonly buildArgs?: Readonly<Record<string, string>>
  /** The Dockerfile, from the folder on. Default 'Dockerfile'. */
  readonly file?: string
}

/** Raised when equal input would be built in another way. */
const FORM = 1

/**
 * The image that a Dockerfile makes of a folder, built by a container engine (Docker, Podman) that testcontainers finds.
 * Nothing of it stays there; images that its stages begin with do. Built again only when the folder (as .dockerignore leaves
 * it), the Dockerfile, its arguments or those images change, or when it adds something from outside; not when a command
 * would now fetch something else. The engine's classic builder is used, so BuildKit's own instructions are refused.
 */
export function dockerfile(dir: string, options: DockerfileOptions = {}): ImageSource {
  const name = `dockerfile ${options.file === undefined ? dir : join(dir, options.file)}`
  return {
    name,
    async resolve(context) {
      const { signal } = context
      const { folder, text } = await readDockerfile(dir, options.file ?? 'Dockerfile')
      const { target, buildArgs } = options
      const plan = planDockerfile(text, options)
      const engine = await connectEngine(signal)
      const bases = await findBases(engine, plan, context, name)
      const content = await readContext(folder, signal)
      const inputs = {
        form: FORM,
        dockerfile: bytesDigest(text),
        context: content.digest,
        bases: bases.map(({ name: base, id }) => [base, id]),
        target,
        buildArgs,
      }
      return buildRoot(context, {
        ...formatOptions(options),
        name,
        ...(plan.outside === undefined && { inputs }),
        async fill(tree, work, report) {
          await sweepEngine({ engine, signal })
          const saved = await build({ engine, name, folder, text, plan, content, options, work, report, signal })
          const after = await readContext(folder, signal)
          if (after.digest !== content.digest) {
            const message = `The build folder ${folder} changed while it was built: let nobody write there, or name what changes in .dockerignore`
            throw new ImageError('ERR_IMAGE_SOURCE', message)
          }
          return addSaved(tree, saved, name, report, signal)
        },
      })
    },
  }
}

async function readDockerfile(dir: string, file: string): Promise<{ folder: string; text: string }> {
  try {
    const folder = await realpath(dir)
    if (!(await stat(folder)).isDirectory()) throw new Error(`${dir} is no directory`)
    return { folder, text: await readFile(resolve(folder, file), 'utf8') }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const message = `The Dockerfile ${join(dir, file)} cannot be read: check the folder and \`file\` (${reason})`
    throw new ImageError('ERR_IMAGE_SOURCE', message, error)
  }
}

async function findBases(
  engine: Engine,
  { images }: DockerfilePlan,
  context: ImageContext,
  name: string,
): Promise<(EngineImage & { name: string })[]> {
  const report = progressOf(context, name)
  const found: (EngineImage & { name: string })[] = []
  for (const image of images) {
    const onPull = (): void => report('fetch', { detail: `pull ${image}` })
    const base = await findImage(engine, image, 'missing', context.signal, onPull)
    if (base.triggers.length > 0) {
      // What they make comes before our labels, so that nobody would know whose it is.
      const remedy = 'build it with `docker build` and give the image to container()'
      throw new ImageError('ERR_IMAGE_SOURCE', `The image ${image} of ${name} has ONBUILD triggers: ${remedy}`)
    }
    found.push({ ...base, name: image })
  }
  return found
}

interface Build {
  readonly engine: Engine
  readonly name: string
  readonly folder: string
  readonly text: string
  readonly plan: DockerfilePlan
  readonly content: BuildContext
  readonly options: DockerfileOptions
  readonly work: string
  readonly report: StepProgress
  readonly signal: AbortSignal | undefined
}

/** Builds the image, takes it out of the engine, and removes it there. */
async function build({
  engine,
  name,
  folder,
  text,
  plan,
  content,
  options,
  work,
  report,
  signal,
}: Build): Promise<SavedImage> {
  const made = labelledBuild(engine)
  let settled = false
  try {
    const extra = join(work, 'own')
    await mkdir(extra)
    await writeFile(join(extra, OWN_DOCKERFILE), withLabels(text, plan, made.labels))
    await writeFile(join(extra, '.dockerignore'), ownIgnoreText(content))
    report('fetch', { detail: 'build' })
    const id = await buildImage(engine, {
      name,
      context: packContext(folder, content.names, extra, signal),
      dockerfile: OWN_DOCKERFILE,
      ...(options.target !== undefined && { target: options.target }),
      ...(options.buildArgs && { buildArgs: options.buildArgs }),
      onLine: (detail) => report('fetch', { detail }),
      signal,
    })
    settled = true
    report('fetch', { detail: 'save' })
    const onBytes = (doneBytes: number): void => report('fetch', { doneBytes })
    const saved = await saveImage(engine, id, { folder: join(work, 'saved'), name, onBytes, signal })
    report('fetch', { detail: 'remove' })
    return saved
  } finally {
    await made.end(settled)
  }
}
