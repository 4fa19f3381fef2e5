import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { planModules } from '../../src/images/index.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { tinyModule, tinyStaticProgram } from './tiny-binaries.ts'

const run = promisify(execFile)
const RELEASE = '9.9.1-cloud-amd64'

// Path below the folder, and what the module says; the shape of Debian's virtio and ext4 modules.
const tree: Readonly<Record<string, readonly string[]>> = {
  'kernel/drivers/virtio/virtio.ko': ['depends=virtio_ring'],
  'kernel/drivers/virtio/virtio_ring.ko': ['depends='],
  'kernel/drivers/virtio/virtio_pci.ko': ['depends=virtio_ring,virtio_pci_modern_dev,virtio'],
  'kernel/drivers/virtio/virtio_pci_modern_dev.ko': ['depends='],
  'kernel/drivers/char/virtio-rng.ko': ['depends=virtio,rng-core'],
  'kernel/fs/ext4/ext4.ko': ['depends=jbd2', 'softdep=pre: crc32c'],
  'kernel/fs/jbd2/jbd2.ko': ['depends='],
  'kernel/lib/crc32c_generic.ko': ['alias=crypto-crc32c', 'alias=crc32c', 'depends='],
  'kernel/lib/crc32c_unrelated.ko': ['alias=something', 'depends='],
  'kernel/arch/crc32c-intel.ko': ['alias=crc32c', 'depends='],
}

async function moduleFolder(more: Readonly<Record<string, readonly string[]>> = {}): Promise<string> {
  const folder = await temporaryFolder()
  for (const [path, info] of Object.entries({ ...tree, ...more })) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    const name = path.replace(/^.*\//, '')
    await writeFile(join(folder, path), tinyModule([...info, `name=${name}`, `vermagic=${RELEASE} SMP preempt`]))
  }
  await writeFile(join(folder, 'modules.builtin'), 'kernel/drivers/char/rng-core.ko\nkernel/fs/overlayfs/overlay.ko\n')
  return folder
}

async function names(folder: string, requests: Parameters<typeof planModules>[1]): Promise<string[]> {
  return (await planModules(folder, requests, { release: RELEASE })).load.map(({ name }) => name)
}

describe('a plan of kernel modules', () => {
  test('loads what a module needs before it, and each module once', async () => {
    const folder = await moduleFolder()
    const expected = ['virtio_ring', 'virtio_pci_modern_dev', 'virtio', 'virtio_pci', 'virtio_rng']
    expect(await names(folder, ['virtio_pci', 'virtio_rng', 'virtio'])).toEqual(expected)
  })

  test('takes - for _ in every name', async () => {
    const folder = await moduleFolder()
    expect(await names(folder, ['virtio-rng'])).toEqual(await names(folder, ['virtio_rng']))
  })

  test('says which requests are built in or optional and absent, and loads nothing for them', async () => {
    const folder = await moduleFolder()
    const plan = await planModules(folder, ['overlay', { name: 'pvpanic-pci', optional: true }])
    expect(plan).toEqual({ load: [], builtin: ['overlay'], absent: ['pvpanic_pci'] })
  })

  test('refuses a name that is nowhere, unless it is optional', async () => {
    const folder = await moduleFolder()
    await expect(planModules(folder, ['virtio_typo'])).rejects.toMatchObject({
      code: 'ERR_IMAGE_MODULE',
      message: `The kernel module virtio_typo is neither in ${folder} nor built into the kernel: take it out of \`modules\`, or make it optional`,
    })
  })

  test('refuses a tree in which a needed module is missing', async () => {
    const folder = await moduleFolder()
    await rm(join(folder, 'kernel/drivers/virtio/virtio_ring.ko'))
    await expect(planModules(folder, ['virtio_pci'])).rejects.toThrow(
      'The kernel module virtio_pci needs virtio_ring, which is neither in',
    )
  })

  test('loads every module that answers to a soft need, and those that only sound like it not', async () => {
    const folder = await moduleFolder()
    expect((await names(folder, ['ext4'])).toSorted()).toEqual(['crc32c_generic', 'crc32c_intel', 'ext4', 'jbd2'])
    expect((await names(folder, ['ext4'])).at(-1)).toBe('ext4')
  })

  test('leaves a soft need out that the kernel has built in under another name, or not at all', async () => {
    const folder = await moduleFolder({ 'kernel/other.ko': ['depends=', 'softdep=pre: nothing-like-it post: late'] })
    await writeFile(
      join(folder, 'modules.builtin.modinfo'),
      'crc32c_generic.alias=crc32c\0crc32c_generic.license=GPL\0',
    )
    expect(await names(folder, ['ext4', 'other'])).toEqual(['jbd2', 'ext4', 'other'])
  })

  test('takes files from modules.dep where depmod has run, which knows the one that counts', async () => {
    const folder = await moduleFolder({ 'updates/virtio.ko': ['depends=virtio_ring', 'version=newer'] })
    await writeFile(
      join(folder, 'modules.dep'),
      'updates/virtio.ko: kernel/drivers/virtio/virtio_ring.ko\nkernel/drivers/virtio/virtio_ring.ko:\n',
    )
    const plan = await planModules(folder, ['virtio'])
    expect(plan.load.map(({ path }) => path)).toEqual([
      join(folder, 'kernel/drivers/virtio/virtio_ring.ko'),
      join(folder, 'updates/virtio.ko'),
    ])
  })

  test('has modules uncompressed, whatever the package did', async () => {
    const folder = await moduleFolder()
    const pack = async (path: string, suffix: string, compress: (plain: Buffer) => Buffer): Promise<Buffer> => {
      const plain = await readFile(join(folder, path))
      await writeFile(join(folder, `${path}.${suffix}`), compress(plain))
      await rm(join(folder, path))
      return plain
    }
    const plain = [
      await pack('kernel/drivers/virtio/virtio_ring.ko', 'zst', zstdCompressSync),
      await pack('kernel/drivers/virtio/virtio.ko', 'gz', gzipSync),
      await readFile(join(folder, 'kernel/drivers/char/virtio-rng.ko')),
    ]
    await run('xz', ['--check=crc32', join(folder, 'kernel/drivers/char/virtio-rng.ko')])
    const plan = await planModules(folder, ['virtio_rng'])
    expect(plan.load.map(({ name }) => name)).toEqual(['virtio_ring', 'virtio', 'virtio_rng'])
    expect(plan.load.map((module) => module.plain)).toEqual(plain)
  })

  test('refuses a module that was built for another release', async () => {
    const folder = await moduleFolder()
    await expect(planModules(folder, ['jbd2'], { release: '9.9.2' })).rejects.toMatchObject({
      code: 'ERR_IMAGE_MODULE',
      message: expect.stringContaining(
        `is built for kernel ${RELEASE}, and this one is 9.9.2: give the \`modulesDir\` that belongs to it`,
      ),
    })
  })

  test.for([
    ['cut xz', 'jbd2.ko.xz', Buffer.from('\xfd7zXZ\0cut', 'latin1'), 'cannot be read: is the package complete?'],
    ['cut zstd', 'jbd2.ko.zst', Buffer.from('cut'), 'cannot be read: is the package complete?'],
    ['a program', 'jbd2.ko', tinyStaticProgram(), 'is not a kernel module'],
    ['a text', 'jbd2.ko', Buffer.from('text'), 'is not a kernel module'],
  ] as const)('refuses a module file that is %s', async ([, name, bytes, message]) => {
    const folder = await moduleFolder()
    await rm(join(folder, 'kernel/fs/jbd2/jbd2.ko'))
    await writeFile(join(folder, 'kernel/fs/jbd2', name), bytes)
    const refused = { code: 'ERR_IMAGE_MODULE', message: expect.stringContaining(message) }
    await expect(planModules(folder, ['jbd2'])).rejects.toMatchObject(refused)
  })

  test('does not hang on modules that name each other as soft needs', async () => {
    const folder = await moduleFolder({
      'kernel/a.ko': ['softdep=pre: b', 'depends='],
      'kernel/b.ko': ['softdep=pre: a', 'depends='],
    })
    expect(await names(folder, ['a'])).toEqual(['b', 'a'])
  })
})
