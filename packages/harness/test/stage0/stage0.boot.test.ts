import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { bootBox, type Box, BoxError, directory, disk, useBox, Wait } from '../../src/vitest/index.ts'
import { bootDisk } from '../fixtures/boot-sector.ts'
import { tinyRoot } from './tiny-root.ts'

const scratch = mkdtempSync(join(tmpdir(), 'boxlab-stage0-'))
afterAll(() => rmSync(scratch, { recursive: true }))
const folder = (name: string): string => join(scratch, name)
const withInit = directory(tinyRoot(folder('with-init')))

async function text(box: Box, path: string): Promise<string> {
  return (await box.files.read(path)).toString()
}

describe('an image with an init of its own', () => {
  const box = useBox({
    image: withInit,
    cmdline: 'single user.setting=1 NAME=value',
    files: [
      { path: '/etc/issue', data: 'of this boot\n', mode: 0o640 },
      { path: '/etc/new/link', link: '../issue' },
    ],
    waitFor: Wait.forFile('/tmp/done'),
  })

  test('starts it as the kernel would: arguments, environment, descriptors, signals, keyring', async () => {
    // init(1): words go to init as arguments, NAME=value as variables, and what has a dot is the kernel's.
    expect((await text(box, '/tmp/argv')).trim()).toBe('/sbin/init single')
    expect((await text(box, '/tmp/environ')).trim().split('\n').toSorted()).toEqual([
      'HOME=/',
      'NAME=value',
      'TERM=linux',
    ])
    const fds = (await text(box, '/tmp/fds')).split('\n').filter((line) => line.includes('->'))
    expect(fds.filter((line) => line.includes('/dev/console')).length).toBeGreaterThanOrEqual(2)
    expect(fds.filter((line) => line.includes('boxlab') || line.includes('memfd'))).toEqual([])
    const status = await text(box, '/tmp/status')
    for (const field of ['SigBlk', 'SigIgn']) expect(status).toMatch(new RegExp(`^${field}:\\s+0{16}$`, 'm'))
    expect((await text(box, '/tmp/umask')).trim()).toBe('0022')
    expect(await text(box, '/tmp/keys')).not.toMatch(/boxlab|logon/)
  })

  test('has the agent beside it, of a name that systemd leaves alone at its end', async () => {
    const { stdout } = await box.shell(
      'cat /proc/1/comm; for p in /proc/[0-9]*; do tr "\\0" " " < $p/cmdline; echo; done',
    )
    expect(stdout.toString()).toMatch(/^sleep\n/)
    expect(stdout.toString()).toMatch(/^@boxlab-agent @resident \d+ $/m)
  })

  test('has its root as it is, with the files of this boot over it', async () => {
    const { stdout } = await box.shell('stat -c "%n %a %u" / /etc /etc/issue /etc/new; readlink /etc/new/link; ls /')
    const lines = stdout.toString().split('\n')
    expect(lines.slice(0, 5)).toEqual(['/ 755 0', '/etc 711 0', '/etc/issue 640 0', '/etc/new 755 0', '../issue'])
    expect(await text(box, '/etc/issue')).toBe('of this boot\n')
    expect(lines).not.toContain('boxlab')
  })

  test('has its kernel’s modules', async () => {
    const { stdout, exitCode } = await box.shell('ls /lib/modules/*/modules.dep && cat /proc/mounts')
    expect(exitCode).toBe(0)
    expect(stdout.toString()).toMatch(/^overlay \/ overlay rw/m)
    expect(stdout.toString()).toMatch(/^\/dev\/vd\w \/lib\/modules\/\S+ ext4 ro/m)
  })

  test('has the marks of its way there, from the console and from the agent', () => {
    const sources = box
      .marks()
      .filter(({ mark }) => mark === 'switch-root')
      .map(({ source, clock }) => `${source} ${clock}`)
    expect(sources.toSorted()).toEqual(['agent guest', 'console guest', 'console host'])
    expect(box).toReach('stage0', { within: '20s' })
    expect(box.metrics()).toMatchObject({ stageImagePrepareMs: expect.any(Number) as number })
  })
})

describe('what a box writes', () => {
  test.for(['overlay', 'disk'] as const)('to its %s is thrown away', async (writes) => {
    const image = directory(tinyRoot(folder(`writes-${writes}`)), { freeMib: 8 })
    const options = { image, writes, waitFor: Wait.forFile('/tmp/done') } as const
    for (const round of [1, 2]) {
      await using box = await bootBox(options)
      expect(await text(box, '/etc/issue'), `round ${round}`).toBe('of the image\n')
      await box.files.write('/etc/issue', 'changed')
      expect(await text(box, '/etc/issue')).toBe('changed')
      const { stdout } = await box.shell('cat /proc/mounts')
      expect(stdout.toString()).toMatch(writes === 'disk' ? /^\/dev\/vd\w \/ ext4 rw/m : /^overlay \/ overlay rw/m)
    }
  })
})

describe('an image without an init', () => {
  const box = useBox({ image: directory(tinyRoot(folder('without-init'), { init: null })), devices: { net: 'user' } })

  test('has the agent as process 1, with the image as its root', async () => {
    const { stdout } = await box.shell('cat /proc/1/comm /etc/issue; id -u')
    expect(stdout.toString()).toBe('init\nof the image\n0\n')
    expect(box.marks().some(({ mark }) => mark === 'switch-root')).toBe(false)
  })

  test('reaches a server on the host', async () => {
    const server = createServer((_, response) => response.end('hello from the host'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const { stdout } = await box.shell(`wget -q -O - http://${box.host}:${port}/`)
    server.close()
    expect(stdout.toString()).toBe('hello from the host')
  })
})

describe('an image that cannot be booted', () => {
  async function failure(options: Parameters<typeof bootBox>[0]): Promise<BoxError> {
    const error = await bootBox({ record: { keep: 'never' }, ...options }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(BoxError)
    return error as BoxError
  }

  test('because its init is of another processor says so', async () => {
    const root = tinyRoot(folder('aarch64'))
    const program = Buffer.from(readFileSync('/bin/busybox').subarray(0, 4096))
    program.writeUInt16LE(183, 18)
    writeFileSync(join(root, 'sbin/init'), program)
    const { code, message } = await failure({ image: directory(root) })
    expect([code, message.split('\n')[0]]).toEqual([
      expect.stringMatching(/^ERR_BOX_(?:STAGE0|IMAGE)$/),
      expect.stringMatching(/aarch64.*x86_64/),
    ])
  })

  test('because a file cannot go where it should says which', async () => {
    const files = [{ path: '/etc', data: 'a file in the place of a folder' }]
    const { code, summary } = await failure({ image: withInit, files })
    expect(code).toBe('ERR_BOX_STAGE0')
    expect(summary).toMatch(/^the image does not boot: cannot write \/etc: /)
  })

  test('because the kernel lacks a driver names it', async () => {
    // A module folder without virtio_blk: what a kernel of one's own build may be.
    const { code, message } = await failure({
      image: withInit,
      cmdline: 'initcall_blacklist=virtio_blk_init module_blacklist=virtio_blk',
      timeouts: { bootMs: 40_000 },
    })
    expect(code).toBe('ERR_BOX_STAGE0')
    expect(message).toMatch(/virtio_blk/)
  })

  test('because an argument did not take effect is not what was asked for', async () => {
    const box = await bootBox({ image: withInit, mask: ['ssh.service'], waitFor: Wait.forFile('/tmp/done') }).catch(
      (thrown: unknown) => thrown,
    )
    // Without systemd nothing can be masked.
    expect(box).toMatchObject({
      message: expect.stringContaining('systemd is not this guest’s init'.replace('’', "'")) as string,
    })
  })
})

test('a disk boots its own boot loader, without an agent', async () => {
  const path = folder('boot.img')
  writeFileSync(path, bootDisk('firmware found me\r\nhost login: ', 0))
  chmodSync(path, 0o444)
  await using box = await bootBox({ boot: 'image', image: disk(path), accel: 'tcg' })
  expect(box.marks().some(({ mark }) => mark === 'login-prompt')).toBe(true)
  await expect(box.exec(['true'])).rejects.toMatchObject({ code: 'ERR_BOX_STATE' })
  await expect(bootBox({ boot: 'image', image: withInit })).rejects.toThrow(/without a boot loader/)
})
