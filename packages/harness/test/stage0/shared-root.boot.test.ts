import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bootBox, Box, BoxError, directory, type ImageSource, useBox, Wait } from '../../src/vitest/index.ts'
import { ownHome } from '../fixtures/own-home.ts'
import { alive, childrenOf, processLine } from '../fixtures/processes.ts'
import { sampleRoot } from '../images/roots/sample-root.ts'
import { folderListing, guestListing } from './guest-listing.ts'
import { tinyRoot } from './tiny-root.ts'

const home = ownHome()
const folderOf = (name: string): string => join(home, 'folders', name)
const shared = (folder: string): ImageSource => directory(folder, { format: 'virtiofs' })

/** The processes that serve a folder. */
function daemonsOf(folder: string): number[] {
  const pids = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
  return pids.filter((pid) => processLine(pid)?.name === 'virtiofsd' && commandLine(pid).includes(folder))
}

/** What is left of those that this process has started, zombies among them: their command lines are gone. */
function leftOf(folder: string): number[] {
  const zombies = childrenOf(process.pid).filter(({ name, state }) => name === 'virtiofsd' && state === 'Z')
  return [...daemonsOf(folder), ...zombies.map(({ pid }) => pid)]
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}

describe('a folder of the host as the root, without a copy', () => {
  const folder = tinyRoot(folderOf('root, of a guest'))
  const box = useBox({ image: shared(folder), waitFor: Wait.forFile('/tmp/done') })

  test('is below a layer for writes, with the image’s init and its kernel’s modules', async () => {
    const { stdout } = await box.shell('cat /proc/1/comm; cat /proc/mounts; ls /lib/modules/*/modules.dep')
    expect(stdout.toString()).toMatch(/^sleep\n[^]*^overlay \/ overlay rw/m)
    expect(stdout.toString()).toMatch(/modules\.dep$/m)
    await box.files.write('/etc/issue', 'of the guest\n')
    expect((await box.files.read('/etc/issue')).toString()).toBe('of the guest\n')
    expect(readFileSync(join(folder, 'etc/issue'), 'utf8')).toBe('of the image\n')
  })

  test('cannot be changed by a guest that mounts it for writing', async () => {
    const before = folderListing(folder)
    const { stdout } = await box.shell(
      'mkdir -p /root/host && mount -t virtiofs boxlab-root /root/host; cat /proc/mounts',
    )
    expect(stdout.toString()).toMatch(/^boxlab-root \/root\/host virtiofs /m)
    await box.shell('mount -o remount,rw /root/host')
    expect((await box.files.read('/proc/mounts')).toString()).toMatch(/^boxlab-root \/root\/host virtiofs rw/m)
    const changes = [
      'echo changed > etc/issue',
      'echo new > etc/new',
      '/bin/busybox rm etc/passwd',
      '/bin/busybox mv etc/passwd etc/moved',
      '/bin/busybox chmod 777 etc/passwd',
      '/bin/busybox touch etc/passwd',
      '/bin/busybox mknod etc/null c 1 3',
    ]
    for (const change of changes) {
      const { exitCode, stderr } = await box.shell(`cd /root/host && ${change}`)
      expect([change, exitCode, stderr.toString()]).toEqual([
        change,
        1,
        expect.stringContaining('Read-only file system'),
      ])
    }
    expect(folderListing(folder)).toBe(before)
  })

  test('is a part of the record: its daemon, its words, its place in the machine', () => {
    const boot = JSON.parse(readFileSync(join(box.record, 'boot.json'), 'utf8')) as {
      readonly plan: unknown
      readonly fingerprints: unknown
      readonly engine: { readonly reproduce: string }
    }
    expect(boot.plan).toMatchObject({
      shares: [{ id: 'boxlab-root', path: folder }],
      digests: { image: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string },
    })
    expect(boot.fingerprints).toMatchObject({ machine: { parts: { shares: ['boxlab-root'] } } })
    expect(boot.engine.reproduce).toMatch(/virtiofsd .*--socket-path=(\S+) & .* -chardev socket,id=\S+,path=\1 /)
    expect(readdirSync(box.record)).toContain('virtiofsd.log')
  })
})

test('a guest sees of a shared folder what it holds, byte for byte, and on the next boot what was changed', async () => {
  const folder = folderOf('sample')
  sampleRoot(folder, { xattrs: false })
  rmSync(join(folder, 'sbin/init'))
  for (const changed of [false, true]) {
    if (changed) writeFileSync(join(folder, 'etc/hostname'), 'changed\n')
    await using box = await bootBox({ image: shared(folder), devices: { net: 'none' } })
    expect(await guestListing(box)).toBe(folderListing(folder))
    await box.stop()
    expect(leftOf(folder)).toEqual([])
  }
})

test('a microvm has its root from a shared folder as well', async () => {
  await using box = await bootBox({ image: shared(tinyRoot(folderOf('microvm'), { init: null })), machine: 'microvm' })
  expect((await box.files.read('/etc/issue')).toString()).toBe('of the image\n')
})

test('a guest whose kernel does not know shared folders names the driver', async () => {
  const image = shared(tinyRoot(folderOf('unknown'), { init: null }))
  const boot = bootBox({ image, cmdline: 'module_blacklist=virtiofs', record: { keep: 'never' } })
  await expect(boot).rejects.toMatchObject({
    code: 'ERR_BOX_STAGE0',
    summary: expect.stringMatching(
      /cannot mount the root \(virtiofs\).*this kernel does not know the file system/,
    ) as string,
  })
})

describe('what serves a folder', () => {
  const folder = tinyRoot(folderOf('served'), { init: null })
  const options = { image: shared(folder), devices: { net: 'none' }, record: { keep: 'never' } } as const

  test('is gone when a kill returns', async () => {
    const box = await bootBox(options)
    expect(daemonsOf(folder)).toHaveLength(1)
    box.kill()
    expect(leftOf(folder)).toEqual([])
    await box.stop()
  })

  test('is gone when a boot was stopped on its way', async () => {
    const box = new Box(options)
    const boot = box.boot().catch((error: unknown) => error)
    await expect.poll(() => daemonsOf(folder).length, { timeout: 20_000, interval: 5 }).toBe(1)
    await box.stop()
    expect(leftOf(folder)).toEqual([])
    expect(await boot).toMatchObject({ code: 'ERR_BOX_KILLED' })
  })

  test('goes with an engine that was killed', async () => {
    const box = await bootBox(options)
    const command = box.exec(['sleep', '100']).catch((error: unknown) => error)
    process.kill(box.info().pid ?? 0, 'SIGKILL')
    expect(await command).toMatchObject({ code: 'ERR_BOX_ENGINE_EXITED' })
    expect(leftOf(folder)).toEqual([])
    await box.stop()
  })

  test('takes the engine along when it ends, and the box says so', async () => {
    const box = await bootBox(options)
    const { pid } = box.info()
    const command = box.exec(['sleep', '100']).catch((error: unknown) => error)
    for (const daemon of daemonsOf(folder)) process.kill(daemon, 'SIGKILL')
    const error = await command
    expect(error).toMatchObject({ code: 'ERR_BOX_SHARE' })
    expect((error as BoxError).message).toMatch(
      /virtiofsd, which serves the folder \S+ to the guest, ended \(signal 9\)/,
    )
    expect(alive(pid)).toBe(false)
    await box.stop()
    expect(box.state).toBe('failed')
  })

  test('dies with an owner that was killed', async () => {
    const owner = fileURLToPath(new URL('../fixtures/shared-root-owner.ts', import.meta.url))
    const child = spawn(process.execPath, ['-C', '@boxlab/source', owner, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const engine = Number(line.toString())
    expect([alive(engine), daemonsOf(folder).length]).toEqual([true, 1])
    child.kill('SIGKILL')
    await expect.poll(() => [alive(engine), daemonsOf(folder)], { timeout: 1500, interval: 10 }).toEqual([false, []])
  })
})

test('what a shared folder cannot be is one sentence', async () => {
  const image = shared(tinyRoot(folderOf('refused'), { init: null }))
  const sentence = async (options: Parameters<typeof bootBox>[0]): Promise<string> => {
    const error = await bootBox({ image, record: { keep: 'never' }, ...options }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(BoxError)
    return (error as BoxError).summary
  }
  expect(await sentence({ writes: 'disk' })).toMatch(
    /^`writes: 'disk'`: the image directory \S+ is a folder of this host, which no box writes to: leave `writes` out/,
  )
  expect(await sentence({ boot: 'image' })).toMatch(/is a file system without a boot loader/)
})
