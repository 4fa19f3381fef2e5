import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { checkKernelImage, hostKernel, kernelFile } from '../../src/images/index.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { tinyBzImage, tinyElf, tinyStaticProgram, tinyVmlinux } from './tiny-binaries.ts'

const run = promisify(execFile)
const LINE = '9.9.1-cloud-amd64 (builder@host) #1 SMP Debian 9.9.1-1'

async function put(name: string, content: Buffer | string): Promise<string> {
  const path = join(await temporaryFolder(), name)
  await writeFile(path, content)
  return path
}

describe('a kernel file', () => {
  test('that is a bzImage tells its release and version line', async () => {
    const path = await put('vmlinuz', tinyBzImage(LINE))
    expect(await checkKernelImage(path)).toEqual({ format: 'bzImage', release: '9.9.1-cloud-amd64', versionLine: LINE })
  })

  test('that is a bzImage without a version line is a kernel all the same', async () => {
    const image = tinyBzImage(LINE)
    image.writeUInt16LE(0, 0x20e)
    expect(await checkKernelImage(await put('vmlinuz', image))).toEqual({ format: 'bzImage' })
  })

  test('that is a vmlinux with a PVH entry tells the release of its banner', async () => {
    const path = await put('vmlinux', tinyVmlinux('Linux version 6.6.6-rc1+ (builder@host)'))
    expect(await checkKernelImage(path)).toEqual({ format: 'elf', release: '6.6.6-rc1+' })
  })

  test('that is a vmlinux without a banner has no release', async () => {
    expect(await checkKernelImage(await put('unikernel', tinyVmlinux('no Linux')))).toEqual({ format: 'elf' })
  })

  test.for([
    ['a text', 'not a kernel', 'it is not an x86 Linux kernel'],
    ['an empty file', '', 'it is not an x86 Linux kernel'],
    ['a boot sector without the header magic', bootSector(), 'it is not an x86 Linux kernel'],
    ['a program', tinyStaticProgram(), 'it is ELF without a PVH entry'],
    ['a vmlinux with another note', tinyVmlinux('Linux version 6.6.6 ', 1), 'it is ELF without a PVH entry'],
    ['a kernel of another machine', tinyElf({ type: 2, machine: 183 }), 'it is ELF for machine 183, not for x86-64'],
    ['a cut ELF header', tinyStaticProgram().subarray(0, 70), 'it is not an x86 Linux kernel'],
  ] as const)('that is %s is refused', async ([, content, reason]) => {
    const path = await put('vmlinuz', content)
    const message = expect.stringContaining(`The \`kernel\` option ${path} cannot be used: ${reason}`)
    await expect(checkKernelImage(path)).rejects.toMatchObject({ code: 'ERR_IMAGE_KERNEL', message })
  })

  test('that is missing, a folder or a pipe is refused without a wait', async () => {
    const folder = await temporaryFolder()
    await run('mkfifo', [join(folder, 'pipe')])
    await expect(checkKernelImage(join(folder, 'none'))).rejects.toThrow('there is no such file')
    await expect(checkKernelImage(folder)).rejects.toThrow('it is not a file: name the kernel file itself')
    await expect(checkKernelImage(join(folder, 'pipe'))).rejects.toThrow('it is not a file')
  })
})

describe('kernelFile', () => {
  test('gives path, release, digest and the modules that were named', async () => {
    const image = tinyBzImage(LINE)
    const path = await put('vmlinuz', image)
    const modulesDir = await temporaryFolder()
    await writeFile(join(modulesDir, 'modules.builtin'), '')
    const kernel = await kernelFile(path, { modulesDir }).resolve({ cacheRoot: '/nonexistent' })
    const sha256 = createHash('sha256').update(image).digest('hex')
    expect(kernel).toEqual({ path, version: '9.9.1-cloud-amd64', modulesDir, sha256, origin: `file ${path}` })
  })

  test('sees that a file was replaced by one of the same size', async () => {
    const path = await put('vmlinuz', tinyBzImage(LINE))
    const first = await kernelFile(path).resolve({ cacheRoot: '/nonexistent' })
    await writeFile(path, tinyBzImage(LINE.replace('9.9.1', '9.9.2')))
    const second = await kernelFile(path).resolve({ cacheRoot: '/nonexistent' })
    expect(second.version).toBe('9.9.2-cloud-amd64')
    expect(second.sha256).not.toBe(first.sha256)
  })

  test('refuses a folder of modules that is none', async () => {
    const path = await put('vmlinuz', tinyBzImage(LINE))
    const modulesDir = await temporaryFolder()
    const resolve = (dir: string): Promise<unknown> => kernelFile(path, { modulesDir: dir }).resolve({ cacheRoot: '/' })
    await expect(resolve(modulesDir)).rejects.toMatchObject({
      code: 'ERR_IMAGE_MODULE',
      message: expect.stringContaining(
        'it holds neither modules.builtin nor modules.dep; name the folder of one release',
      ),
    })
    await expect(resolve(join(modulesDir, 'none'))).rejects.toThrow('there is no such folder')
  })

  test('rejects, not throws, when it was aborted before', async () => {
    const source = kernelFile('/nonexistent')
    await expect(source.resolve({ cacheRoot: '/', signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'ERR_IMAGE_ABORTED',
    })
  })
})

describe('hostKernel', () => {
  test('takes the running release from /boot and its modules from /lib/modules', async () => {
    const root = await temporaryFolder()
    const modulesDir = join(root, 'lib/modules/9.9.1-cloud-amd64')
    await Promise.all([mkdir(join(root, 'boot')), mkdir(modulesDir, { recursive: true })])
    await writeFile(join(root, 'boot/vmlinuz-9.9.1-cloud-amd64'), tinyBzImage(LINE))
    await writeFile(join(modulesDir, 'modules.dep'), '')
    const kernel = await hostKernel({ root, release: '9.9.1-cloud-amd64' }).resolve({ cacheRoot: '/nonexistent' })
    expect(kernel).toMatchObject({ version: '9.9.1-cloud-amd64', modulesDir, origin: 'host 9.9.1-cloud-amd64' })
  })

  test('says in one sentence that there is none', async () => {
    const root = await temporaryFolder()
    await expect(hostKernel({ root, release: '9.9.1' }).resolve({ cacheRoot: '/nonexistent' })).rejects.toMatchObject({
      code: 'ERR_IMAGE_KERNEL',
      message: `The \`kernel\` option hostKernel() finds no readable ${root}/boot/vmlinuz-9.9.1: give a path, or leave the option out for a packaged kernel`,
    })
  })
})

function bootSector(): Buffer {
  const sector = Buffer.alloc(0x1000)
  sector.writeUInt16LE(0xaa55, 0x1fe)
  return sector
}
