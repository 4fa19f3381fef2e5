import { describe, expect, test } from 'vitest'
import { bootBox } from '../src/index.ts'
import { useBox } from '../src/vitest/index.ts'

describe('each machine type boots a bare box and is powered off by its agent', () => {
  test.for(['pc', 'microvm', 'microvm,pcie=on'])('%s', async (machine) => {
    const box = await bootBox({ machine, cpus: 2, devices: { net: 'user', balloon: true } })
    const facts = await box.shell('nproc; ls /sys/class/net | grep -c eth; cat /sys/class/virtio-ports/*/name')
    expect(facts.stdout.toString()).toBe('2\n1\nboxlab.agent.0\n')
    expect(await box.stop()).toEqual({ by: 'agent', exit: { code: 0 } })
  })
})

test('useBox inside a test says where it belongs', () => {
  expect(() => useBox()).toThrow(
    '`useBox` was called inside a test, where its hooks never run: call it in the describe block or at the top of the file',
  )
})
