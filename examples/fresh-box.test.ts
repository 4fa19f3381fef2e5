import { expect } from 'vitest'
import { test } from '@boxlab/harness/vitest'

// A box of its own for each test: what one breaks, the next does not see. The boot is part of the test's time.
test.override('boxOptions', { cmdline: 'sysctl.kernel.hostname=lab quiet' })

test('a sysctl on the command line takes effect', async ({ box }) => {
  const { stdout } = await box.exec(['cat', '/proc/cmdline'])
  expect(stdout.toString()).toContain('sysctl.kernel.hostname=lab')
})

test('a crash of the guest ends in an error that tells of it', async ({ box }) => {
  const crash = box.shell('echo 1 > /proc/sys/kernel/sysrq; echo c > /proc/sysrq-trigger')
  await expect(crash).rejects.toMatchObject({ code: 'ERR_BOX_PANIC' })
})
