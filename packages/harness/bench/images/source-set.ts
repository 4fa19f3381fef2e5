import { createReadStream, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { Readable } from 'node:stream'
import { directory, dockerfile, type ImageSource, oci, type RootImage, tarball } from '../../src/index.ts'
import { connectEngine } from '../../src/images/docker/engine.ts'
import { tarOf, writeLayout } from '../../test/images/roots/archives.ts'
import { copyImage, type Registry, startRegistry } from '../../test/images/roots/registry.ts'
import { startBenchEngine } from './bench-engine.ts'
import { takeOut } from './two-ways.ts'

/** One tree as several sources. */
export interface SourceSet extends AsyncDisposable {
  readonly sources: Readonly<Record<string, ImageSource>>
  /** Sources that are not there, and why. */
  readonly missing: readonly string[]
}

/** What the tree is: programs, libraries and their settings, without kernel and modules. */
const FOLDERS = ['/etc', '/usr/bin', '/usr/sbin', '/usr/share', '/usr/lib/systemd', '/usr/lib/x86_64-linux-gnu']
const IMPORTED = 'boxlab-bench-root:1'

/** Makes sources of the files of a root image, below `folder`, with what serves them. */
export async function sourceSet(root: RootImage, folder: string): Promise<SourceSet> {
  await using stack = new AsyncDisposableStack()
  const tree = join(folder, 'tree')
  mkdirSync(tree, { recursive: true })
  for (const each of FOLDERS) {
    const parent = join(tree, each, '..')
    mkdirSync(parent, { recursive: true })
    takeOut(root.path, [each], parent)
  }
  const tar = tarOf(tree)
  const [tarPath, layout] = [join(folder, 'root.tar'), join(folder, 'layout')]
  writeFileSync(tarPath, tar)
  writeLayout(layout, [tar])
  const sources: Record<string, ImageSource> = {
    directory: directory(tree),
    tarball: tarball(tarPath),
    'oci layout': oci(`oci:${layout}:latest`),
  }
  const missing: string[] = []
  const lacking = ['skopeo', 'docker-registry'].filter((program) => !isInstalled(program))
  if (lacking.length > 0) missing.push(`oci registry: ${lacking.join(' and ')} not installed`)
  else {
    const registry: Registry = await startRegistry(join(folder, 'registry'))
    stack.defer(() => registry.stop())
    copyImage(`oci:${layout}:latest`, `docker://${registry.address}/bench/root:1`, ['--dest-tls-verify=false'])
    sources['oci registry'] = oci(`${registry.address}/bench/root:1`)
  }
  try {
    stack.use(await startBenchEngine(join(folder, 'engine')))
    stack.use(await importRoot(tarPath))
    const build = join(folder, 'build')
    mkdirSync(build)
    writeFileSync(join(build, 'Dockerfile'), `FROM ${IMPORTED}\nLABEL made-by=bench\n`)
    sources['dockerfile'] = dockerfile(build)
  } catch (error) {
    missing.push(`dockerfile: ${(error as Error).message}`)
  }
  const all = stack.move()
  return { sources, missing, [Symbol.asyncDispose]: () => all.disposeAsync() }
}

/** The base of the Dockerfile, from an archive: nothing is pulled. It is removed at the end. */
async function importRoot(tarPath: string): Promise<AsyncDisposable> {
  const engine = await connectEngine()
  const [repo = '', tag = ''] = IMPORTED.split(':')
  const input = Readable.from(createReadStream(tarPath))
  const query = { fromSrc: '-', repo, tag }
  let answer = ''
  for await (const chunk of await engine.stream({ method: 'POST', path: '/images/create', query, input })) {
    answer += Buffer.from(chunk).toString()
  }
  if (!answer.includes('sha256:')) throw new Error(`the engine did not import the root: ${answer.trim()}`)
  return {
    async [Symbol.asyncDispose]() {
      await engine.ask({ method: 'DELETE', path: `/images/${IMPORTED}` })
    },
  }
}

function isInstalled(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((place) => existsSync(join(place, program)))
}

/** What a file takes on the disk, holes not counted, in bytes. */
export function diskBytes(path: string): number {
  return Number(execFileSync('stat', ['-c', '%b', path], { encoding: 'utf8' })) * 512
}
