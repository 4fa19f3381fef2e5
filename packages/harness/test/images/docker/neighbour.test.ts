import { expect, test } from 'vitest'
import { hostAddress } from '../../../src/images/docker/index.ts'

test.for([
  ['localhost', '10.0.2.2'],
  ['127.0.0.1', '10.0.2.2'],
  ['127.1.2.3', '10.0.2.2'],
  ['::1', '10.0.2.2'],
  ['[::1]', '10.0.2.2'],
  ['docker.example', 'docker.example'],
  ['192.168.1.7', '192.168.1.7'],
] as const)('what is published at %s is at %s for a guest', ([getHost, host]) => {
  const container = { getHost: () => getHost, getMappedPort: (port: number) => port + 30_000 }
  expect(hostAddress(container, 80)).toEqual({ host, port: 30_080 })
})

test('a port that is not published is an error of the container', () => {
  const container = {
    getHost: () => 'localhost',
    getMappedPort: (port: number): number => {
      throw new Error(`No port binding found for ${port}`)
    },
  }
  expect(() => hostAddress(container, 81)).toThrow('No port binding found for 81')
})
