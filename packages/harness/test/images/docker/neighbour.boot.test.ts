import { GenericContainer, Wait } from 'testcontainers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bootBox } from '../../../src/index.ts'
import { hostAddress } from '../../../src/images/docker/index.ts'
import { baseArchive } from './base-image.ts'
import { useEngine } from './engine.ts'

const engine = useEngine()
const base = 'boxlab-test-neighbour:1'

beforeAll(() => engine.importImage(base, baseArchive()))

let stop: (() => Promise<unknown>) | undefined
afterAll(() => stop?.())

test('a guest reaches a port that a running container publishes', async ({ signal }) => {
  const page = 'mkdir /www; echo hello from the neighbour > /www/index.html; echo ready; exec httpd -f -p 8080 -h /www'
  const started = await new GenericContainer(base)
    .withCommand(['sh', '-c', page])
    .withExposedPorts(8080)
    .withWaitStrategy(Wait.forLogMessage('ready'))
    .start()
  stop = () => started.stop({ removeVolumes: true })
  await using box = await bootBox({ devices: { net: 'user' }, signal })
  // Where testcontainers finds the engine depends on the machine: both forms are to lead there.
  const onLoopback = { getHost: () => 'localhost', getMappedPort: (port: number) => started.getMappedPort(port) }
  for (const container of [started, onLoopback]) {
    const { host, port } = hostAddress(container, 8080)
    const { stdout } = await box.shell(`wget -qO- http://${host}:${port}/`)
    expect(String(stdout)).toBe('hello from the neighbour\n')
  }
})
