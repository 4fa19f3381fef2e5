import { chmod, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { container, dockerfile } from '../../../src/images/docker/index.ts'
import { ImageError } from '../../../src/images/errors.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { baseArchive } from './base-image.ts'
import { buildFolder } from './build-folder.ts'
import { useEngine } from './engine.ts'
import { ext4Listing, ext4Text } from './ext4-listing.ts'
import { engineUser } from './run-user.ts'

const engine = useEngine()
const base = 'boxlab-test-base:1'

beforeAll(() => engine.importImage(base, baseArchive()))

async function failure(work: Promise<unknown>): Promise<ImageError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof ImageError) return error
  throw new Error(`it was to fail with an ImageError, and gave ${String(error)}`)
}

const ofBase = {
  '/data': '041777 7 8',
  '/data/set-id': '106755 1000 1001 1',
  '/data/again': '106755 1000 1001 1',
  '/data/raw':
    '100755 0 0 4 user.color=blue security.capability=01 00 00 02 00 20 00 00 00 00 00 00 00 00 00 00 00 00 00 00',
  '/data/moved': '100755 0 0 4 security.capability=01 00 00 02 00 20 00 00 00 00 00 00 00 00 00 00 00 00 00 00',
  '/data/device': '020666 0 0 01:03',
  '/data/pipe': '010600 0 0',
  '/data/many': '040755 0 0',
}

function pick(listing: ReadonlyMap<string, string>, paths: readonly string[]): Record<string, string | undefined> {
  return Object.fromEntries(paths.map((path) => [path, listing.get(path)]))
}

describe('an image of the engine', () => {
  test('becomes a root with its owners, modes, xattrs, links and devices, and nothing of the engine', async () => {
    const before = await engine.everything()
    const cacheRoot = await temporaryFolder()
    const image = await container(base).resolve({ cacheRoot })
    const listing = ext4Listing(image.path)
    expect(pick(listing, Object.keys(ofBase))).toEqual(ofBase)
    expect([...listing.keys()].filter((path) => !/^\/(bin|data)(\/|$)/.test(path))).toEqual([])
    expect(image).toMatchObject({ architecture: 'x86_64', cached: false, config: { env: {} } })
    expect(await engine.everything()).toEqual(before)
  })

  test('is asked for its id only when it is cached', async () => {
    const cacheRoot = await temporaryFolder()
    const first = await container(base).resolve({ cacheRoot })
    const steps: string[] = []
    const again = await container(base).resolve({ cacheRoot, progress: ({ step }) => steps.push(step) })
    expect(again).toEqual({ ...first, cached: true })
    expect(steps).toEqual([])
  })
})

describe('a Dockerfile', () => {
  test('becomes a root with what its steps did, its configuration, and nothing left in the engine', async () => {
    const folder = await buildFolder(
      [
        'ARG BASE=nothing:1',
        'FROM ${BASE} AS first',
        'RUN echo made > /made && chown 5:6 /made && chmod 4750 /made && ln /made /linked && ln -s made /pointer',
        'RUN mknod /device b 7 0 && mkfifo /pipe && mv /data/moved /moved && rm -r /data/gone /data/many && mkdir /data/many',
        'FROM first AS wanted',
        'COPY --chown=0:0 . /app/',
        'ENV PLAIN=1 "QUOTED"="two words"',
        'VOLUME /volume',
        'RUN touch /volume/lost /after',
        'USER 5:6',
        'WORKDIR /srv/dir',
        'ENTRYPOINT ["/bin/sh", "-c"]',
        'CMD ["echo \\"$PLAIN\\""]',
        'FROM nothing:2 AS unwanted',
        'RUN false',
      ].join('\n'),
      { 'sub/file': 'content', 'secret/key': 'left out', '.dockerignore': 'secret\n.dockerignore\nDockerfile\n' },
    )
    await chmod(join(folder, 'sub/file'), 0o640)
    await symlink('sub/file', join(folder, 'link'))
    const before = await engine.everything()
    const cacheRoot = await temporaryFolder()
    const source = dockerfile(folder, { target: 'wanted', buildArgs: { BASE: base } })
    const image = await source.resolve({ cacheRoot })
    const listing = ext4Listing(image.path)
    const capability = 'security.capability=01 00 00 02 00 20 00 00 00 00 00 00 00 00 00 00 00 00 00 00'
    const made = {
      '/made': '104750 5 6 5',
      '/linked': '104750 5 6 5',
      '/pointer': '120777 0 0 4',
      '/device': '060644 0 0 07:00',
      '/pipe': '010644 0 0',
      '/moved': `100755 0 0 4 ${capability}`,
      '/data/moved': undefined,
      '/data/gone': undefined,
      '/data/many/one': undefined,
      '/app/sub/file': '100640 0 0 7',
      '/app/link': '120777 0 0 8',
      '/after': '100644 0 0 0',
      '/volume/lost': undefined,
      '/srv/dir': '040755 0 0',
    }
    expect(pick(listing, Object.keys(made))).toEqual(made)
    expect(pick(listing, ['/data', '/data/raw', '/data/device'])).toEqual({
      '/data': ofBase['/data'],
      '/data/raw': ofBase['/data/raw'],
      '/data/device': ofBase['/data/device'],
    })
    expect([...listing.keys()].filter((path) => path.startsWith('/app'))).toEqual([
      '/app',
      '/app/link',
      '/app/sub',
      '/app/sub/file',
    ])
    expect([...listing.keys()].filter((path) => /dockerenv|hostname|hosts|console/.test(path))).toEqual([])
    expect(ext4Text(image.path, '/made')).toBe('made\n')
    expect(image).toMatchObject({
      architecture: 'x86_64',
      cached: false,
      config: {
        env: { PLAIN: '1', QUOTED: 'two words' },
        user: '5:6',
        workdir: '/srv/dir',
        entrypoint: ['/bin/sh', '-c'],
        cmd: ['echo "$PLAIN"'],
      },
    })
    expect(await engine.everything()).toEqual(before)

    const steps: string[] = []
    const again = await source.resolve({ cacheRoot, progress: ({ step }) => steps.push(step) })
    expect(again).toEqual({ ...image, cached: true })
    expect(steps).toEqual([])
  })

  test('is built again when its folder changes, and not when only times do', async () => {
    const folder = await buildFolder(`FROM ${base}\nCOPY . /all/\n`, { file: 'one', '.dockerignore': '*.log\n' })
    const cacheRoot = await temporaryFolder()
    const first = await dockerfile(folder).resolve({ cacheRoot })
    await writeFile(join(folder, 'file'), 'one')
    expect((await dockerfile(folder).resolve({ cacheRoot })).digest).toBe(first.digest)
    await writeFile(join(folder, 'file'), 'two')
    const changed = await dockerfile(folder).resolve({ cacheRoot })
    expect(changed.cached).toBe(false)
    expect(ext4Text(changed.path, '/all/file')).toBe('two')
    const copied = [...ext4Listing(changed.path).keys()].filter((path) => path.startsWith('/all/'))
    expect(copied).toEqual(['/all/.dockerignore', '/all/Dockerfile', '/all/file'])
    expect(ext4Text(changed.path, '/all/Dockerfile')).toBe(`FROM ${base}\nCOPY . /all/\n`)
  })

  test('that is aborted in a step leaves nothing', async () => {
    const folder = await buildFolder(`FROM ${base}\nRUN echo first > /first\nRUN sleep 60\n`)
    const controller = new AbortController()
    const progress = ({ detail = '' }): void => {
      if (detail.includes('RUN sleep')) setTimeout(() => controller.abort(), 300)
    }
    const cacheRoot = await temporaryFolder()
    const error = await failure(dockerfile(folder).resolve({ cacheRoot, signal: controller.signal, progress }))
    expect(error.code).toBe('ERR_IMAGE_ABORTED')
    expect(await engine.labelled()).toEqual([])
  })
})

describe('what cannot be had is one sentence', () => {
  const cases: readonly [string, string, ImageError['code'], RegExp][] = [
    [
      'a step that fails, with its own last lines',
      `FROM ${base}\nRUN echo early >&2; echo the reason >&2; false\n`,
      'ERR_IMAGE_COMMAND',
      /^dockerfile \S+ cannot be built, in Step 3\/3: RUN echo early.*: correct the Dockerfile \(.*returned a non-zero code: 1, after: early \/ the reason\)$/,
    ],
    ['an unknown instruction', `FROM ${base}\nRAN true\n`, 'ERR_IMAGE_COMMAND', /unknown instruction: RAN/i],
    [
      "BuildKit's own instructions",
      `FROM ${base}\nRUN --mount=type=tmpfs,target=/x true\n`,
      'ERR_IMAGE_COMMAND',
      /docker buildx build --load/,
    ],
    [
      'an image that nobody has',
      'FROM localhost:1/nothing:1\n',
      'ERR_IMAGE_REGISTRY',
      /cannot get the image localhost:1\/nothing:1/,
    ],
  ]
  test.for(cases)('%s', async ([, text, code, message]) => {
    const before = await engine.everything()
    const error = await failure(dockerfile(await buildFolder(text)).resolve({ cacheRoot: await temporaryFolder() }))
    expect(error.code).toBe(code)
    expect(error.message).toMatch(message)
    expect(error.message).not.toContain('\n')
    expect(await engine.everything()).toEqual(before)
  })

  test('an image that is not to be pulled', async () => {
    const error = await failure(
      container('nothing:1', { pull: 'never' }).resolve({ cacheRoot: await temporaryFolder() }),
    )
    expect([error.code, error.message]).toEqual([
      'ERR_IMAGE_SOURCE',
      'The container engine has no image nothing:1, and it is not to be pulled: build or import it first',
    ])
  })

  test('a folder without a Dockerfile', async () => {
    const error = await failure(dockerfile(await temporaryFolder()).resolve({ cacheRoot: await temporaryFolder() }))
    expect(error).toMatchObject({
      code: 'ERR_IMAGE_SOURCE',
      message: expect.stringMatching(/check the folder and `file`/) as string,
    })
  })

  test('no engine at the place that DOCKER_HOST names, whatever answers elsewhere', async () => {
    const env = { DOCKER_HOST: 'unix:///nowhere/docker.sock' }
    const { output } = await engineUser({ cacheRoot: await temporaryFolder(), container: base }, { env }).ended()
    expect(JSON.parse(output)).toEqual({
      code: 'ERR_IMAGE_TOOL_MISSING',
      message:
        'No container engine answers at unix:///nowhere/docker.sock (DOCKER_HOST): start it, or correct or unset DOCKER_HOST',
    })
  })

  test('no testcontainers', async () => {
    const args = ['--import', join(import.meta.dirname, 'without-testcontainers.ts')]
    const { output } = await engineUser({ cacheRoot: await temporaryFolder(), container: base }, { args }).ended()
    expect(JSON.parse(output)).toMatchObject({
      code: 'ERR_IMAGE_TOOL_MISSING',
      message: expect.stringMatching(/npm install --save-dev testcontainers/) as string,
    })
  })
})
