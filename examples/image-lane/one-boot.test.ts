import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { useBox, Wait } from '@boxlab/harness/vitest'
import { images } from './images.ts'

describe('one boot of an image, with units of its own and without some of the image', () => {
  const box = useBox({
    image: images['trixie']!,
    cpus: 2,
    memoryMib: 768,
    units: {
      'hello.service': '[Service]\nType=oneshot\nExecStart=/bin/echo hello\n[Install]\nWantedBy=multi-user.target\n',
      'broken.service': '[Service]\nExecStart=/bin/false\n[Install]\nWantedBy=multi-user.target\n',
      'lab.service.d/environment.conf': '[Service]\nEnvironment=LAB=1\n',
    },
    // That each is masked is looked at in the guest; a mask that did nothing would fail the boot.
    mask: ['systemd-journal-flush.service'],
    cmdline: 'systemd.log_color=0',
    record: { journal: true, keep: 'always' },
    timeouts: { bootMs: 240_000 },
  })

  test('what was added runs, and is waited for by systemd’s own signals', async () => {
    const { mark } = await box.waitFor(Wait.forUnit('hello.service'))
    expect(mark).toBe('user:unit:hello.service')
    const { stdout } = await box.exec(['systemctl', 'show', '-P', 'Environment', 'lab.service'])
    expect(stdout.toString()).toBe('LAB=1\n')
  })

  test('has the modules of its kernel, without a mount that would tell', async () => {
    expect((await box.shell('ls /lib/modules/$(uname -r)/kernel')).stdout.toString()).toContain('drivers\n')
    expect((await box.files.read('/proc/mounts')).toString()).not.toMatch(/^\S+ \S*modules/m)
    const { stdout } = await box.exec(['systemctl', 'list-units', '--all', '--type=mount', '--plain', '--no-legend'])
    expect(stdout.toString()).not.toContain('modules')
  })

  test('what was masked did not run', async () => {
    const { stdout } = await box.exec(['systemctl', 'show', '-P', 'LoadState', 'systemd-journal-flush.service'])
    expect(stdout.toString()).toBe('masked\n')
    await expect(box.waitFor(Wait.forUnit('systemd-journal-flush.service'))).rejects.toThrow('is masked')
  })

  test('a unit that failed is named, with its last words', async () => {
    await expect(box).toHaveNoFailedUnits({ allow: ['broken.service'] })
    await expect(expect(box).toHaveNoFailedUnits()).rejects.toThrow(
      /^a unit has failed: broken\.service\n\n× broken\.service[^]*code=exited, status=1\/FAILURE/,
    )
    await expect(box.waitFor(Wait.forSystemd('running'))).rejects.toThrow('systemd is degraded: broken.service failed')
  })

  test('every stage of the boot was reached, and the journal is in the record', async () => {
    for (const stage of ['firmware', 'kernel', 'stage0', 'pid1', 'generators', 'units-load', 'basic', 'multi-user']) {
      expect(box).toReach(stage, { within: '240s' })
    }
    const journal = (): string => readFileSync(join(box.record, 'guest/journal.export'), 'latin1')
    await expect.poll(journal).toContain('MESSAGE=Reached target multi-user.target')
  })
})
