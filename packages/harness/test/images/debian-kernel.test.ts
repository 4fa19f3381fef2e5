import { execFile } from 'node:child_process'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { debianKernel, type Kernel, kindFolder } from '../../src/images/index.ts'
import { AptRepository, type TinyPackage } from './apt-repository.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { tinyBzImage, tinyModule } from './tiny-binaries.ts'

const hasApt = await promisify(execFile)('apt-get', ['--version']).then(
  () => true,
  () => false,
)

/** A kernel as Debian packages it: modules below /lib or /usr/lib, nothing made by depmod. */
function kernelPackage(release: string, version: string, lib = 'lib'): TinyPackage {
  return {
    name: `linux-image-${release}`,
    version,
    depends: 'kmod, linux-base (>= 4.3~), initramfs-tools | linux-initramfs-tool',
    files: {
      [`boot/vmlinuz-${release}`]: tinyBzImage(`${release} (builder@host) #1 SMP`),
      [`${lib}/modules/${release}/modules.builtin`]: 'kernel/drivers/char/rng-core.ko\n',
      [`${lib}/modules/${release}/kernel/virtio.ko`]: tinyModule(['depends=', `vermagic=${release} SMP`]),
      'usr/share/doc/linux/changelog': 'nothing that a boot needs',
    },
  }
}

function metaPackage(release: string, version: string): TinyPackage {
  return { name: 'linux-image-cloud-amd64', version, depends: `linux-image-${release} (= ${version})` }
}

const current = [metaPackage('9.9.1-cloud-amd64', '9.9.1-3'), kernelPackage('9.9.1-cloud-amd64', '9.9.1-3')]
const newer = [metaPackage('9.9.2-cloud-amd64', '9.9.2-1'), kernelPackage('9.9.2-cloud-amd64', '9.9.2-1')]

describe('debianKernel', { timeout: 30_000 }, () => {
  let repository: AptRepository
  let cacheRoot: string

  beforeEach(async ({ skip }) => {
    skip(!hasApt, 'apt-get is not installed: this host is no Debian')
    repository = new AptRepository(await temporaryFolder())
    cacheRoot = await temporaryFolder()
    await repository.create()
    vi.stubEnv('APT_CONFIG', repository.config)
    onTestFinished(() => void vi.unstubAllEnvs())
  })

  const resolve = (options?: Parameters<typeof debianKernel>[0]): Promise<Kernel> =>
    debianKernel(options).resolve({ cacheRoot })

  test('follows the cloud package to the current kernel, and keeps it unpacked in the cache', async () => {
    await repository.publish(current)
    const kernel = await resolve()
    expect(kernel).toMatchObject({ version: '9.9.1-cloud-amd64', origin: 'linux-image-9.9.1-cloud-amd64 9.9.1-3' })
    expect(await readFile(kernel.path)).toEqual(tinyBzImage('9.9.1-cloud-amd64 (builder@host) #1 SMP'))
    expect((await readdir(kernel.modulesDir!)).toSorted()).toEqual(['kernel', 'modules.builtin'])
    const entries = await readdir(kindFolder(cacheRoot, 'kernel'))
    expect(entries).toEqual([kernel.modulesDigest])
    expect((await readdir(join(kindFolder(cacheRoot, 'kernel'), entries[0]!))).toSorted()).toEqual([
      'entry.json',
      'kernel.json',
      'tree',
    ])
  })

  test('remembers the answer: again, it starts no tool at all', async () => {
    await repository.publish(current)
    const first = await resolve()
    vi.stubEnv('PATH', '/nonexistent')
    expect(await resolve()).toEqual(first)
  })

  test('stays with the remembered kernel until it is asked to look again', async () => {
    await repository.publish(current)
    const first = await resolve()
    await repository.publish(newer)
    expect(await resolve()).toEqual(first)
    const fresh = await debianKernel().resolve({ cacheRoot, refresh: true })
    expect(fresh.version).toBe('9.9.2-cloud-amd64')
    expect(await resolve()).toEqual(fresh)
  })

  test('asks apt again when the remembered kernel was deleted', async () => {
    await repository.publish(current)
    const first = await resolve()
    await rm(kindFolder(cacheRoot, 'kernel'), { recursive: true })
    expect(await resolve()).toEqual(first)
  })

  test('takes a kernel by name, and one whose modules are below /usr/lib', async () => {
    await repository.publish([...current, kernelPackage('9.9.3+deb13-amd64', '9.9.3-1', 'usr/lib')])
    const kernel = await resolve({ package: 'linux-image-9.9.3+deb13-amd64' })
    expect(kernel.version).toBe('9.9.3+deb13-amd64')
    expect(kernel.modulesDir).toMatch(/\/tree\/usr\/lib\/modules\/9\.9\.3\+deb13-amd64$/)
  })

  test('adds the modules where they are a package of their own', async () => {
    const whole = kernelPackage('8.8.0-1-generic', '8.8')
    const [image, ...modules] = Object.entries(whole.files!)
    await repository.publish([
      { name: 'linux-image-virtual', version: '8.8', depends: 'linux-image-8.8.0-1-generic, wireless-regdb' },
      { ...whole, depends: 'kmod, linux-modules-8.8.0-1-generic', files: Object.fromEntries([image!]) },
      { name: 'linux-modules-8.8.0-1-generic', version: '8.8', files: Object.fromEntries(modules) },
    ])
    const kernel = await resolve({ package: 'linux-image-virtual' })
    expect(kernel.origin).toBe('linux-image-8.8.0-1-generic 8.8, linux-modules-8.8.0-1-generic 8.8')
    expect(await readdir(kernel.modulesDir!)).toContain('modules.builtin')
  })

  test('says to run apt-get update when there are no lists', async () => {
    await expect(resolve()).rejects.toMatchObject({
      code: 'ERR_IMAGE_PACKAGE',
      message: 'apt has no package lists, so linux-image-cloud-amd64 cannot be found: run `apt-get update` as root',
    })
  })

  test('names a package that the lists do not have', async () => {
    await repository.publish(current)
    await expect(resolve({ package: 'linux-image-typo' })).rejects.toMatchObject({
      code: 'ERR_IMAGE_PACKAGE',
      message: expect.stringContaining('apt knows no package linux-image-typo that it could download'),
    })
  })

  test('refuses a name that apt would take for an option', async () => {
    await expect(resolve({ package: '--config-file=x' })).rejects.toThrow(
      '"--config-file=x" is not the name of a package',
    )
  })

  test('refuses a download that is not what the lists promise, and keeps nothing of it', async () => {
    await repository.publish(current)
    const file = repository.file('linux-image-9.9.1-cloud-amd64')
    const bytes = await readFile(file)
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1)
    await writeFile(file, bytes)
    await expect(resolve()).rejects.toMatchObject({
      code: 'ERR_IMAGE_PACKAGE',
      message: expect.stringContaining(
        'linux-image-9.9.1-cloud-amd64=9.9.1-3 cannot be downloaded: run `apt-get update`',
      ),
    })
    expect(await readdir(kindFolder(cacheRoot, 'kernel'))).toEqual([])
  })

  test('says which tool is missing on a host without apt', async () => {
    vi.stubEnv('PATH', '/nonexistent')
    await expect(resolve()).rejects.toMatchObject({
      code: 'ERR_IMAGE_TOOL_MISSING',
      message: expect.stringContaining('apt-cache is not installed'),
    })
  })

  test('refuses a package that holds no kernel', async () => {
    await repository.publish([{ name: 'linux-image-empty', version: '1', files: { 'usr/share/doc/empty': '' } }])
    await expect(resolve({ package: 'linux-image-empty' })).rejects.toThrow(
      'linux-image-empty 1 holds no kernel: name a linux-image package',
    )
  })

  test('ends at once when the caller aborts', async () => {
    await repository.publish(current)
    const reason = new Error('the suite is over')
    const signal = AbortSignal.any([AbortSignal.abort(reason)])
    await expect(debianKernel().resolve({ cacheRoot, signal })).rejects.toMatchObject({
      code: 'ERR_IMAGE_ABORTED',
      cause: reason,
    })
  })
})
