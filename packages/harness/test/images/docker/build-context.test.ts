import { execFileSync } from 'node:child_process'
import { chmod, mkdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { OWN_DOCKERFILE, ownIgnoreText, packContext, readContext } from '../../../src/images/docker/build-context.ts'
import { temporaryFolder } from '../temporary-folder.ts'

async function folderOf(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporaryFolder()
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), content)
  }
  return folder
}

test('a context has what .dockerignore leaves, with the folders above it', async () => {
  const ignore = '# comment\n*.log\nbuild\n!build/keep/this\nsecret/\n'
  const folder = await folderOf({
    '.dockerignore': ignore,
    'a.log': '',
    'src/a.log': '',
    'src/main': '',
    'build/out': '',
    'build/keep/this': '',
    'build/keep/other': '',
    'secret/key': '',
  })
  await mkdir(join(folder, 'empty'))
  const context = await readContext(folder)
  expect(context.names).toEqual([
    '.dockerignore',
    'build',
    'build/keep',
    'build/keep/this',
    'empty',
    'src',
    'src/a.log',
    'src/main',
  ])
  expect(context.ignoreText).toBe(ignore)
})

test('its digest follows names, modes, contents and link targets, and no times', async () => {
  const folder = await folderOf({ file: 'one' })
  await symlink('file', join(folder, 'link'))
  const { digest } = await readContext(folder)
  await utimes(join(folder, 'file'), 1, 1)
  expect((await readContext(folder)).digest).toBe(digest)
  await chmod(join(folder, 'file'), 0o755)
  const changed = (await readContext(folder)).digest
  await writeFile(join(folder, 'file'), 'two')
  const again = (await readContext(folder)).digest
  await symlink('link', join(folder, 'other'))
  expect(new Set([digest, changed, again, (await readContext(folder)).digest]).size).toBe(4)
})

test('what is sent is the context and our own Dockerfile, which the builder is told to hide', async () => {
  const folder = await folderOf({ 'sub/file': 'content', '-odd name\n': 'odd', Dockerfile: 'FROM a' })
  const extra = await folderOf({ [OWN_DOCKERFILE]: 'FROM a\nLABEL b=c', '.dockerignore': 'own' })
  const context = await readContext(folder)
  const chunks: Buffer[] = []
  for await (const chunk of packContext(folder, context.names, extra)) chunks.push(chunk)
  const members = execFileSync('tar', ['--list', '--quoting-style=escape'], { input: Buffer.concat(chunks) }).toString()
  expect(members.trim().split('\n')).toEqual([
    '-odd name\\n',
    'Dockerfile',
    'sub/',
    'sub/file',
    OWN_DOCKERFILE,
    '.dockerignore',
  ])
  expect(ownIgnoreText(context)).toBe(`${OWN_DOCKERFILE}\n.dockerignore\n`)
  expect(ownIgnoreText({ ...context, names: ['.dockerignore'], ignoreText: '*.log' })).toBe(
    `*.log\n${OWN_DOCKERFILE}\n`,
  )
})

test('a folder that is not there is named', async () => {
  await expect(readContext('/nowhere/at all')).rejects.toThrow(/^The build folder \/nowhere\/at all cannot be read/)
})
