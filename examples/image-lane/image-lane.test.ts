import { describe, expect, test } from 'vitest'
import { useBox } from '@boxlab/harness/vitest'
import { images } from './images.ts'

describe.each(Object.entries(images))('%s', (suite, image) => {
  // Ready when systemd has finished the boot.
  const box = useBox({ image, cpus: 2, memoryMib: 768, name: suite, timeouts: { bootMs: 240_000 } })

  test('is what was built: a file, its mode, a unit, a package that is not there', async () => {
    expect((await box.files.read('/etc/motd')).toString()).toBe('lab image\n')
    expect((await box.exec(['stat', '-c', '%a %U', '/etc/motd'])).stdout.toString()).toBe('640 root\n')
    expect((await box.exec(['systemctl', 'is-enabled', 'lab.service'])).stdout.toString()).toBe('enabled\n')
    expect((await box.exec(['dpkg-query', '-W', 'gcc'])).exitCode).toBe(1)
    expect((await box.files.read('/etc/os-release')).toString()).toContain(`VERSION_CODENAME=${suite}`)
  })

  test('boots to multi-user without a failed unit', async () => {
    await expect(box).toHaveNoFailedUnits()
    expect(await box.systemd()).toMatchObject({ state: 'running', failed: [] })
    expect(box).toReach('multi-user-target', { within: '240s' })
    expect(box).toReach('pid1')
  })

  test('systemctl is sane: the unit of the image ran, and one that is stopped is stopped', async () => {
    expect((await box.exec(['systemctl', 'is-active', 'lab.service'])).stdout.toString()).toBe('active\n')
    await box.exec(['systemctl', 'stop', 'lab.service'])
    expect((await box.exec(['systemctl', 'is-active', 'lab.service'])).stdout.toString()).toBe('inactive\n')
    expect((await box.shell('systemd-analyze time')).stdout.toString()).toMatch(/^Startup finished in /)
  })
})
