import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { ExecError, runningBoxes, runtimeMetrics, useBox, Wait } from '../src/vitest/index.ts'

const scratch = mkdtempSync(join(tmpdir(), 'boxlab-box-'))
afterAll(() => rmSync(scratch, { recursive: true }))

describe('a bare box', () => {
  const box = useBox({
    name: 'bare',
    memoryMib: 1024,
    env: { GREETING: 'hello' },
    files: [{ path: '/etc/motd', data: 'from the initramfs\n' }],
  })

  test('is ready, runs what was planned, and its console is clean', () => {
    const info = box.info()
    expect(info).toMatchObject({ id: box.id, name: 'bare', state: 'running', record: box.record })
    expect(info.accelerator?.proved).toBe(info.accelerator?.planned)
    expect(existsSync(`/proc/${info.pid}`)).toBe(true)
    expect(runningBoxes()).toContain(box.id)
    expect(box).toReach('kernel')
    expect(box).toReach('stage0', { within: '30s' })
    expect(box).toReach('agent-ready', { within: '60s' })
    expect(box).not.toReach('switch-root')
    expect(box).toHaveCleanConsole()
  })

  test('a bound that was not kept fails with the measured time', () => {
    expect(() => expect(box).toReach('kernel', { within: '1ms' })).toThrow(
      /^the stage `kernel` took \d+\.\d ms \((kvm|tcg), n=1\), and the bound is 1 ms$/,
    )
    expect(() => expect(box).toReach('switch-root')).toThrow('the mark `switch-root` was not reached; the last is `')
    expect(() => expect(box).toReach('login')).toThrow(/^the stage `login` has no end: /)
    expect(() => expect(box).toReach('kernel', { within: 'soon' })).toThrow(
      '`within` must be milliseconds or a text such as',
    )
  })

  test('its metrics are those of the engine’s process and of this boot', () => {
    const metrics = box.metrics()
    expect(metrics.stageBoxSpawnMs).toBeGreaterThan(0)
    expect(metrics.stageGuestRootfsMs).toBeGreaterThan(0)
    expect(metrics.guestBootDurationMs).toBeGreaterThan(100)
    expect(metrics.totalCreateDurationMs).toBeGreaterThan(metrics.guestBootDurationMs ?? Infinity)
    expect(metrics.memoryBytes).toBeGreaterThan(50 * 1024 * 1024)
    expect(metrics.cpuPercent).toBeGreaterThan(1)
    expect(runtimeMetrics().numRunningBoxes).toBe(1)
  })

  test('a command gives exact bytes and its exact exit code', async () => {
    const result = await box.exec(['/bin/sh', '-c', String.raw`printf 'a\0b\r\n\377'; printf err >&2; exit 7`])
    expect(result.stdout).toEqual(Buffer.from([0x61, 0, 0x62, 0x0d, 0x0a, 0xff]))
    expect(result.stderr.toString()).toBe('err')
    expect(result.exitCode).toBe(7)
    expect(result.signal).toBeUndefined()
    expect(result.durationMs).toBeGreaterThan(0)
  })

  test('a signal that ends a command is told by its name', async () => {
    const result = await box.shell('kill -TERM $$')
    expect(result.signal).toBe('SIGTERM')
    expect(result).not.toHaveProperty('exitCode')
  })

  test('environment, working directory and user are the box’s and can be the call’s', async () => {
    const text = async (...args: Parameters<typeof box.exec>): Promise<string> =>
      (await box.exec(...args)).stdout.toString()
    expect(await text(['sh', '-c', 'echo $GREETING $PWD $(id -u)'])).toBe('hello / 0\n')
    const options = { env: { GREETING: 'hi', MORE: 'x y' }, cwd: '/tmp', user: '1000:1000' }
    expect(await text(['sh', '-c', 'echo $GREETING $MORE $PWD $(id -u):$(id -g)'], options)).toBe(
      'hi x y /tmp 1000:1000\n',
    )
  })

  test('standard input is exact, and absent means an end of file', async () => {
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => (index * 7) & 0xff))
    expect((await box.exec(['cat'], { stdin: bytes })).stdout.equals(bytes)).toBe(true)
    expect((await box.exec(['cat'])).stdout.length).toBe(0)
  })

  test('a terminal is one for the command', async () => {
    const result = await box.exec(['sh', '-c', 'test -t 0 && test -t 1 && stty size'], { pty: { rows: 33, cols: 101 } })
    expect(result).toMatchObject({ exitCode: 0, stderr: Buffer.alloc(0) })
    expect(result.stdout.toString()).toBe('33 101\r\n')
  })

  test('a command that is not there is an error that names it', async () => {
    await expect(box.exec(['/no/such/thing'])).rejects.toMatchObject({
      name: 'BoxError',
      code: 'ERR_BOX_REFUSED',
      errno: 2,
      message: 'the command /no/such/thing was not found',
    })
    await expect(box.exec([])).rejects.toThrow('`exec` takes an array with a command and its arguments')
  })

  test('a limit kills the command and everything it started, and keeps what it had printed', async () => {
    const error = await box
      .shell('echo partial; sleep 321 & sleep 321', { timeoutMs: 700 })
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ExecError)
    expect(error).toMatchObject({ code: 'ERR_BOX_EXEC_TIMEOUT', stdout: Buffer.from('partial\n') })
    expect((error as Error).message).toBe('`/bin/sh` was killed after its limit of 700 ms')
    await expect
      .poll(async () => (await box.shell('ps | grep -c "[s]leep 321"')).stdout.toString(), { timeout: 5000 })
      .toBe('0\n')
  })

  test('an abort kills the command and says so, without a DOMException', async () => {
    const abort = new AbortController()
    const running = box.shell('echo started; sleep 654', { signal: abort.signal }).catch((thrown: unknown) => thrown)
    setTimeout(() => abort.abort(), 500)
    const error = (await running) as ExecError
    expect(error).toMatchObject({ code: 'ERR_BOX_EXEC_ABORTED', stdout: Buffer.from('started\n') })
    expect(error.cause).toBeInstanceOf(Error)
    expect(error.cause).not.toBeInstanceOf(DOMException)
    await expect(box.exec(['true'], { signal: abort.signal })).rejects.toMatchObject({ code: 'ERR_BOX_EXEC_ABORTED' })
    await expect
      .poll(async () => (await box.shell('ps | grep -c "[s]leep 654"')).stdout.toString(), { timeout: 5000 })
      .toBe('0\n')
  })

  test('a command that prints more than is wanted is ended', async () => {
    const error = await box.exec(['yes'], { maxOutputBytes: 10_000 }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'ERR_BOX_EXEC_OUTPUT' })
    expect((error as ExecError).stdout.length).toBe(10_000)
  })

  test('output streams, and reading paces the command', async () => {
    const command = await box.spawn(['dd', 'if=/dev/zero', 'bs=64k', 'count=320'])
    let bytes = 0
    for await (const chunk of command.stdout) bytes += (chunk as Buffer).length
    expect(bytes).toBe(320 * 65_536)
    expect(await command.wait()).toMatchObject({ exitCode: 0, outputHeld: false })
  })

  test('many commands at once keep their outputs apart', async () => {
    const results = await Promise.all(Array.from({ length: 30 }, (_, index) => box.exec(['echo', `number ${index}`])))
    expect(results.map(({ stdout }) => stdout.toString())).toEqual(results.map((_, index) => `number ${index}\n`))
  })

  test('a box takes command after command: what has ended holds no stream', async () => {
    // Four streams each: were they held until a garbage collection, the 2048 of a channel would be used up.
    for (let round = 0; round < 30; round += 1) {
      const results = await Promise.all(Array.from({ length: 20 }, () => box.exec(['true'])))
      expect(results.every(({ exitCode }) => exitCode === 0)).toBe(true)
    }
  })

  test('files are read and written byte by byte, with modes', async () => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 13) & 0xff))
    await box.files.write('/srv/deep/data.bin', bytes, { mode: 0o640 })
    expect((await box.files.read('/srv/deep/data.bin')).equals(bytes)).toBe(true)
    expect((await box.shell('stat -c %a /srv/deep/data.bin; sha256sum < /srv/deep/data.bin')).stdout.toString()).toBe(
      `640\n${createHash('sha256').update(bytes).digest('hex')}  -\n`,
    )
    expect((await box.files.read('/etc/motd')).toString()).toBe('from the initramfs\n')
    expect((await box.files.read('/proc/version')).toString()).toContain('Linux version')
    await expect(box.files.read('/nowhere')).rejects.toMatchObject({ code: 'ERR_BOX_REFUSED', errno: 2 })
    await expect(box.files.read('/dev')).rejects.toThrow('/dev')
  })

  test('a transfer is ended by its limit, and the box goes on', async () => {
    await box.shell('dd if=/dev/zero of=/tmp/large bs=1M count=64')
    await expect(box.files.read('/tmp/large', { timeoutMs: 20 })).rejects.toMatchObject({
      code: 'ERR_BOX_TIMEOUT',
      message: expect.stringMatching(/^the content of \/tmp\/large did not come within 20 ms/) as string,
    })
    expect((await box.exec(['rm', '/tmp/large'])).exitCode).toBe(0)
  })

  test('folders go in and come out as they are', async () => {
    const tree = join(scratch, 'tree')
    mkdirSync(join(tree, 'sub'), { recursive: true })
    writeFileSync(join(tree, 'sub', 'run.sh'), '#!/bin/sh\necho ran\n')
    chmodSync(join(tree, 'sub', 'run.sh'), 0o755)
    symlinkSync('sub/run.sh', join(tree, 'link'))
    await box.files.copyIn(tree, '/opt/tree')
    expect((await box.exec(['/opt/tree/link'])).stdout.toString()).toBe('ran\n')
    await box.shell('echo new > /opt/tree/made')
    await box.files.copyOut('/opt/tree', join(scratch, 'back'))
    expect(readFileSync(join(scratch, 'back', 'made'), 'utf8')).toBe('new\n')
    expect(readlinkSync(join(scratch, 'back', 'link'))).toBe('sub/run.sh')
    expect(statSync(join(scratch, 'back', 'sub', 'run.sh')).mode & 0o777).toBe(0o755)
    await box.files.copyIn(join(tree, 'sub', 'run.sh'), '/opt/one.sh')
    expect((await box.exec(['/opt/one.sh'])).stdout.toString()).toBe('ran\n')
    await box.files.copyOut('/opt/one.sh', join(scratch, 'one.sh'))
    expect(readFileSync(join(scratch, 'one.sh'), 'utf8')).toBe('#!/bin/sh\necho ran\n')
    await expect(box.files.copyIn(join(scratch, 'missing'), '/x')).rejects.toMatchObject({ code: 'ERR_BOX_HOST_FILE' })
  })

  test('a port of the guest is a stream, and each side ends on its own', async () => {
    const server = await box.spawn(['nc', '-l', '-p', '4000', '-e', 'sh', '-c', 'cat; echo bye'])
    await expect
      .poll(async () => (await box.shell('netstat -ltn')).stdout.toString(), { timeout: 10_000 })
      .toContain(':4000')
    const socket = await box.dial(4000)
    socket.end('over the wire\n')
    const chunks: Buffer[] = []
    for await (const chunk of socket) chunks.push(chunk as Buffer)
    expect(Buffer.concat(chunks).toString()).toBe('over the wire\nbye\n')
    expect(await server.wait()).toMatchObject({ exitCode: 0 })
    await expect(box.dial(4001)).rejects.toMatchObject({ code: 'ERR_BOX_REFUSED' })
    await expect(box.dial(0)).rejects.toThrow('`dial` takes a port from 1 to 65535, not 0')
  })

  test('a wait for a mark that will not come ends at its bound', async () => {
    await expect(box.waitFor(Wait.forMark('login-prompt'), { timeoutMs: 200 })).rejects.toMatchObject({
      code: 'ERR_BOX_TIMEOUT',
    })
    expect(await box.waitFor(Wait.forMark('init-run'))).toMatchObject({ mark: 'init-run', clock: 'host' })
  })

  test('commands are counted, and those that could not run', async () => {
    const before = box.metrics()
    await box.exec(['false'])
    await box.exec(['/nope']).catch(() => undefined)
    const after = box.metrics()
    expect(after.commandsExecutedTotal - before.commandsExecutedTotal).toBe(2)
    expect(after.execErrorsTotal - before.execErrorsTotal).toBe(1)
  })

  test('its fingerprints name their parts', async () => {
    await expect.poll(() => box.fingerprint()).toBeDefined()
    expect(box.fingerprint()).toMatchObject({
      machine: { hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string, parts: { cpus: 1, memoryMib: 1024 } },
      engine: { parts: { accelerator: box.info().accelerator?.planned } },
    })
  })
})
