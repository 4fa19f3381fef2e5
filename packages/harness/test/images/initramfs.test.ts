import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, test } from 'vitest'
import { bareInitramfs, type BareInitramfsOptions, bytesDigest } from '../../src/images/index.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { tinyDynamicProgram, tinyModule, tinyStaticProgram } from './tiny-binaries.ts'

const run = promisify(execFile)
const hasCpio = await run('cpio', ['--version']).then(
  () => true,
  () => false,
)
const RELEASE = '9.9.1-cloud-amd64'

let folder: string
let options: BareInitramfsOptions & { readonly cacheRoot: string }

async function put(name: string, content: Buffer | string, mode = 0o644): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, content, { mode })
  return path
}

beforeEach(async () => {
  folder = await temporaryFolder()
  const modulesDir = join(folder, 'modules')
  await mkdir(modulesDir)
  await put('modules/modules.builtin', 'kernel/virtio_console.ko\nkernel/virtio_blk.ko\n')
  const module = (name: string, depends: string): Promise<string> =>
    put(`modules/${name}.ko`, tinyModule([`depends=${depends}`, `name=${name}`, `vermagic=${RELEASE} SMP`]))
  await Promise.all([module('virtio', ''), module('virtio_pci', 'virtio'), module('virtio-rng', 'virtio')])
  options = {
    agentPath: await put('agent', tinyStaticProgram('agent')),
    kernel: { sha256: 'ab'.repeat(32), version: RELEASE, modulesDir },
    modules: [
      'virtio_pci',
      'virtio_console',
      'virtio_rng',
      ...['virtio_blk', 'virtio_net', 'pvpanic_pci', 'pvpanic', 'virtio_mmio'].map((name) => ({
        name,
        optional: true,
      })),
    ],
    busyboxPath: null,
    cacheRoot: join(folder, 'cache'),
  }
})

/** Path to one line of `cpio --list --verbose`, the size and time left out. */
async function listing(path: string): Promise<Record<string, string>> {
  const env = { PATH: process.env['PATH'], TZ: 'UTC', LC_ALL: 'C' }
  const { stdout } = await run('cpio', ['-t', '-v', '-n', '-F', path], { env })
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => line.split(/ Jan +1 +1970 /) as [string, string])
  return Object.fromEntries(lines.map(([facts, name]) => [name, facts.replace(/ +/g, ' ')]))
}

async function contentOf(path: string, name: string): Promise<string> {
  const { stdout } = await run('cpio', ['--extract', '--to-stdout', '--quiet', '-F', path, name])
  return stdout
}

describe('the initramfs of a bare box', () => {
  test('has the agent, mount points, device nodes, and modules in load order', async ({ skip }) => {
    skip(!hasCpio, 'the tool cpio is not installed (package cpio)')
    const initramfs = await bareInitramfs(options)
    const agentBytes = tinyStaticProgram('agent').length
    const files = await listing(initramfs.path)
    expect(files).toMatchObject({
      '.': 'drwxr-xr-x 2 0 0 0',
      init: `-rwxr-xr-x 1 0 0 ${agentBytes}`,
      'dev/console': 'crw------- 1 0 0 5, 1',
      'dev/null': 'crw-rw-rw- 1 0 0 1, 3',
      tmp: 'drwxrwxrwt 2 0 0 0',
      root: 'drwx------ 2 0 0 0',
    })
    for (const name of ['proc', 'sys', 'run', 'etc', 'dev']) expect(files[name]).toMatch(/^drwxr-xr-x/)
    expect(Object.keys(files).filter((name) => name.startsWith('lib/modules/'))).toEqual([
      'lib/modules/boxlab',
      'lib/modules/boxlab/000-virtio.ko',
      'lib/modules/boxlab/001-virtio_pci.ko',
      'lib/modules/boxlab/002-virtio_rng.ko',
      'lib/modules/boxlab/order',
    ])
    expect(await contentOf(initramfs.path, 'lib/modules/boxlab/order')).toBe(
      '000-virtio.ko\n001-virtio_pci.ko\n002-virtio_rng.ko\n',
    )
    expect(await contentOf(initramfs.path, 'etc/passwd')).toBe('root:x:0:0:root:/root:/bin/sh\n')
  })

  test('tells its parts with digests, and what it left out', async () => {
    const initramfs = await bareInitramfs(options)
    const bytes = await readFile(initramfs.path)
    expect(initramfs).toMatchObject({ sha256: bytesDigest(bytes), bytes: bytes.length, made: true })
    expect(initramfs.modules).toEqual(['virtio', 'virtio_pci', 'virtio_rng'])
    expect(initramfs.parts.map(({ name }) => name)).toEqual([
      'agent',
      'module:virtio',
      'module:virtio_pci',
      'module:virtio_rng',
    ])
    expect(initramfs.parts[0]!.sha256).toBe(bytesDigest(tinyStaticProgram('agent')))
    expect(initramfs.notes).toEqual([
      'no busybox: none was asked for',
      ...['virtio_net', 'pvpanic_pci', 'pvpanic', 'virtio_mmio'].map(
        (name) => `no module ${name}: the kernel does not have it`,
      ),
    ])
  })

  test('of the same inputs is found in one cache, and is the same bytes in another', async () => {
    const first = await bareInitramfs(options)
    const again = await bareInitramfs(options)
    const elsewhere = await bareInitramfs({ ...options, cacheRoot: join(folder, 'other') })
    expect(again).toEqual({ ...first, made: false })
    expect(elsewhere).toEqual({ ...first, path: elsewhere.path })
    expect(await readFile(elsewhere.path)).toEqual(await readFile(first.path))
  })

  test('is made anew when the agent, a module, a file or the list of modules changes', async () => {
    const digests = new Set([(await bareInitramfs(options)).sha256])
    await put('agent', tinyStaticProgram('newer'))
    digests.add((await bareInitramfs(options)).sha256)
    await put('modules/virtio.ko', tinyModule(['depends=', 'version=2', `vermagic=${RELEASE} SMP`]))
    digests.add((await bareInitramfs(options)).sha256)
    digests.add((await bareInitramfs({ ...options, modules: ['virtio_pci'] })).sha256)
    digests.add((await bareInitramfs({ ...options, files: [{ path: '/etc/hosts', data: '::1 box\n' }] })).sha256)
    digests.add(
      (await bareInitramfs({ ...options, files: [{ path: '/etc/hosts', data: '::1 box\n', mode: 0o600 }] })).sha256,
    )
    expect(digests.size).toBe(6)
  })

  test('from a module tree in the cache is found without a look at the tree', async () => {
    const kernel = { ...options.kernel, modulesDigest: 'cd'.repeat(32) }
    const first = await bareInitramfs({ ...options, kernel })
    const moved = { ...kernel, modulesDir: '/nonexistent' }
    expect(await bareInitramfs({ ...options, kernel: moved })).toEqual({ ...first, made: false })
  })

  test('has the files of the user, in place of ours where they are named alike', async ({ skip }) => {
    skip(!hasCpio, 'the tool cpio is not installed (package cpio)')
    const source = await put('source', 'from the host\n')
    const initramfs = await bareInitramfs({
      ...options,
      files: [
        { path: '/opt/test/run', data: '#!/bin/sh\n', mode: 0o755 },
        { path: '/etc/passwd', source },
      ],
    })
    const files = await listing(initramfs.path)
    expect(files['opt/test']).toMatch(/^drwxr-xr-x/)
    expect(files['opt/test/run']).toMatch(/^-rwxr-xr-x/)
    expect(await contentOf(initramfs.path, 'etc/passwd')).toBe('from the host\n')
  })

  test.for([
    ['/init', 'that place belongs to the agent'],
    ['/lib/modules/boxlab/order', 'that place belongs to the agent'],
    ['/etc', 'there is a directory of that name'],
    ['/etc/passwd/x', '/etc/passwd is not a directory'],
    ['relative', 'its path in the guest must be absolute'],
    ['/a/../init', 'its path in the guest must be absolute, without . and ..'],
  ] as const)('refuses a file at %s', async ([path, reason]) => {
    const message = expect.stringContaining(`The file ${path} cannot be put into the box: ${reason}`)
    const refused = { code: 'ERR_IMAGE_FILE', message }
    await expect(bareInitramfs({ ...options, files: [{ path, data: '' }] })).rejects.toMatchObject(refused)
  })

  test('refuses an agent that is missing or needs a dynamic loader', async () => {
    const missing = { code: 'ERR_IMAGE_AGENT', message: expect.stringContaining('cannot be read: build it first') }
    await expect(bareInitramfs({ ...options, agentPath: join(folder, 'none') })).rejects.toMatchObject(missing)
    const agentPath = await put('dynamic', tinyDynamicProgram())
    const dynamic = { code: 'ERR_IMAGE_AGENT', message: expect.stringContaining('is not a static x86-64 program') }
    await expect(bareInitramfs({ ...options, agentPath })).rejects.toMatchObject(dynamic)
  })
})

describe('a kernel without a module folder', () => {
  const kernel = { sha256: 'ab'.repeat(32) }

  test('has all it needs built in, as far as we know', async () => {
    const modules = [{ name: 'virtio_pci', optional: true }]
    expect((await bareInitramfs({ ...options, kernel, modules })).modules).toEqual([])
  })

  test('cannot give a module that the user asked for', async () => {
    const asked = bareInitramfs({ ...options, kernel, modules: [{ name: 'virtio_net', optional: true }, 'overlay'] })
    await expect(asked).rejects.toMatchObject({
      code: 'ERR_IMAGE_MODULE',
      message: 'The kernel module overlay cannot be found: give the kernel its `modulesDir`, or leave `modules` out',
    })
  })
})

describe('busybox in an initramfs', () => {
  test('brings its applets as links, and a shell', async ({ skip }) => {
    skip(!hasCpio, 'the tool cpio is not installed (package cpio)')
    const { busyboxPath: _none, ...withDefault } = options
    const initramfs = await bareInitramfs(withDefault)
    skip(
      initramfs.notes.some((note) => note.startsWith('no busybox')),
      'the host has no static busybox (package busybox-static)',
    )
    const files = await listing(initramfs.path)
    expect(files['bin/busybox']).toMatch(/^-rwxr-xr-x/)
    expect(Object.keys(files)).toEqual(
      expect.arrayContaining(['bin/sh -> /bin/busybox', 'usr/bin/env -> /bin/busybox', 'sbin/insmod -> /bin/busybox']),
    )
    expect(initramfs.parts.map(({ name }) => name)).toContain('busybox')
  })

  test('that was named must be there and static', async () => {
    const named = async (busyboxPath: string): Promise<unknown> => bareInitramfs({ ...options, busyboxPath })
    const dynamic = await put('busybox', tinyDynamicProgram())
    await expect(named(dynamic)).rejects.toMatchObject({
      code: 'ERR_IMAGE_BUSYBOX',
      message: `\`busyboxPath\` ${dynamic} is not a static x86-64 program: install the package busybox-static, or leave it out`,
    })
    await expect(named(join(folder, 'none'))).rejects.toMatchObject({ code: 'ERR_IMAGE_BUSYBOX' })
  })
})
