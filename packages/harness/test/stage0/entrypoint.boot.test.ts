import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { bootBox, BoxError, directory, type ImageSource, oci, useBox, Wait } from '../../src/vitest/index.ts'
import { tarOf, writeLayout } from '../images/roots/archives.ts'
import { tinyRoot } from './tiny-root.ts'

const scratch = mkdtempSync(join(tmpdir(), 'boxlab-entrypoint-'))
afterAll(() => rmSync(scratch, { recursive: true }))
const root = tinyRoot(join(scratch, 'root'), { init: null })
const layer = tarOf(root)

/** A container image whose process is this line. */
function image(line: string, name: string): ImageSource {
  const folder = join(scratch, name)
  const config = {
    Env: ['GREETING=hello=you', 'PATH=/bin'],
    User: 'user',
    WorkingDir: '/etc',
    Entrypoint: ['/bin/sh', '-c'],
    Cmd: [line],
  }
  writeLayout(folder, [layer], { config })
  return oci(`oci:${folder}:latest`)
}

async function failure(boot: Promise<unknown>): Promise<BoxError> {
  const error = await boot.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(BoxError)
  return error as BoxError
}

describe('the process of a container image', () => {
  const line = 'echo "$GREETING $(id -u) $PWD"; echo trouble >&2; : > /tmp/up; exec sleep 1000'
  const box = useBox({
    image: image(line, 'good'),
    run: 'entrypoint',
    waitFor: Wait.forFile('/tmp/up'),
    record: { keep: 'always', dir: join(scratch, 'record') },
  })

  test('runs with the environment, the user and the folder of the image, and its words are in the record', async () => {
    await expect
      .poll(() => readFileSync(join(box.record, 'guest/entrypoint.log'), 'utf8'))
      .toMatch(/^hello=you 1000 \/etc$/m)
    expect(readFileSync(join(box.record, 'guest/entrypoint.log'), 'utf8')).toContain('trouble')
  })

  test('is what commands begin with too', async () => {
    const { stdout } = await box.shell('echo "$GREETING $(id -u) $PWD"')
    expect(stdout.toString()).toBe('hello=you 1000 /etc\n')
  })

  test('fills the metric of its preparation, and all others', () => {
    const metrics = box.metrics()
    const names = [
      'totalCreateDurationMs',
      'stageFilesystemSetupMs',
      'stageImagePrepareMs',
      'stageGuestRootfsMs',
      'stageBoxConfigMs',
      'stageBoxSpawnMs',
      'guestBootDurationMs',
      'stageContainerInitMs',
      'cpuPercent',
      'memoryBytes',
    ] as const
    expect(names.filter((name) => !(Number(metrics[name]) > 0))).toEqual([])
    expect(box).toReach('container-init')
  })

  test('has a network whose bytes are counted by the guest', async () => {
    const before = await box.networkBytes()
    const server = createServer((_, response) => response.end('x'.repeat(5000)))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const { exitCode } = await box.shell(`wget -q -O - http://${box.host}:${port}/`, { user: 'root' })
    server.close()
    expect(exitCode).toBe(0)
    const { sent, received } = await box.networkBytes()
    expect(sent).toBeGreaterThan(before.sent)
    expect(received).toBeGreaterThan(before.received + 5000)
  })
})

test('a process that fails is an error with its words, and a mark', async () => {
  const boot = bootBox({
    image: image('echo starting; echo no database >&2; exit 3', 'bad'),
    run: 'entrypoint',
    waitFor: Wait.forFile('/tmp/up'),
    record: { keep: 'always', dir: join(scratch, 'failed') },
  })
  const error = await failure(boot)
  expect(error.code).toBe('ERR_BOX_ENTRYPOINT')
  expect(error.summary).toMatch(/^the image's process `\/bin\/sh -c .*` ended with exit code 3; it said: .*no database/)
  expect(readFileSync(join(scratch, 'failed/marks.jsonl'), 'utf8')).toMatch(/"process-ready"[^]*"process-exit"/)
})

test('a process that fails later makes the box of no use', async () => {
  const options = { image: image('sleep 1; exit 4', 'late'), run: 'entrypoint', record: { keep: 'never' } } as const
  await using box = await bootBox(options)
  await box.waitFor(Wait.forMark('process-exit'), { timeoutMs: 20_000 })
  await expect
    .poll(async () => (await failure(box.exec(['true']))).message)
    .toMatch(/of no use any more: .*exit code 4/)
})

test('what has no process, or an init of its own, says so', async () => {
  const none = await failure(bootBox({ image: directory(root), run: 'entrypoint', record: { keep: 'never' } }))
  expect(none.summary).toBe("`run: 'entrypoint'`: the image has neither an entrypoint nor a command")
  const bare = await failure(bootBox({ run: 'entrypoint' }))
  expect(bare.summary).toMatch(/^`run` needs an `image`/)
})
