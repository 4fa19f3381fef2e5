import { describe, expect, test } from 'vitest'
import { useBox, type WaitsReport } from '@boxlab/harness/vitest'
import { images } from './images.ts'

/** Units that make a boot slow, each in a way of its own. */
const oneshot = (unit: string, line: string): string =>
  `[Unit]\n${unit}\n[Service]\nType=oneshot\nExecStart=${line}\n[Install]\nWantedBy=multi-user.target\n`
const units = {
  // What the target waits for. systemd-analyze critical-chain does not see it: it is never "active".
  'lab-slow.service': oneshot('Description=slow', '/bin/sleep 8'),
  // A disk that is not there, waited for from the beginning.
  'dev-lab.device.d/limit.conf': '[Unit]\nJobRunningTimeoutSec=2s\n',
  'lab-disk.service': oneshot('DefaultDependencies=no\nWants=dev-lab.device\nAfter=dev-lab.device', '/bin/true'),
  // Each after the other: systemd takes one job away, and whoever it was for never runs.
  'lab-egg.service': oneshot('After=lab-hen.service', '/bin/true'),
  'lab-hen.service': oneshot('After=lab-egg.service', '/bin/true'),
  // Not in the way of the target, but of the login prompt, which waits for the queue to be empty.
  'lab-behind.service': oneshot('After=multi-user.target', '/bin/sleep 2'),
}

describe.each(Object.entries(images))('a slow boot of %s', (suite, image) => {
  const box = useBox({
    image,
    units,
    cpus: 2,
    memoryMib: 768,
    name: `slow ${suite}`,
    timeouts: { bootMs: 300_000 },
    record: { jobs: true },
  })

  test('the parts of the way to the target, the prompt and sshd account for every microsecond', async () => {
    for (const target of ['multi-user.target', 'login', 'ssh']) {
      const waits = await box.waits({ target })
      if (!waits.found) throw new Error(waits.message)
      expect(waits.resolution).toBe('microsecond')
      const sum = waits.parts.reduce((us, { startUs, endUs }) => us + endUs - startUs, 0)
      expect(sum).toBe(waits.totalUs)
      expect(waits.targetUs - waits.originUs).toBe(waits.totalUs)
    }
  })

  // #region matchers
  test('the slow unit is what the target waited for, and sshd did not wait for it', async () => {
    await expect(box).toHaveCriticalPath({ containing: ['lab-slow.service'], notContaining: ['lab-behind.service'] })
    await expect(box).toHaveCriticalPath({ notContaining: ['lab-slow.service'] }, { target: 'ssh' })
    await expect(box).toHaveSlack('ssh.service', { atLeast: '100ms' })
  })
  // #endregion

  test('the disk that never came is a wait until its limit', async () => {
    const waits = await box.waits({ target: 'lab-disk.service' })
    const part = waits.found && waits.parts.find(({ kind }) => kind === 'wait')
    expect(part).toMatchObject({ unit: 'dev-lab.device', endedBy: 'timeout' })
    expect(part && part.endUs - part.startUs).toBe(2_000_000)
  })

  test('one of the cycle never ran, and the console names the cycle', async () => {
    const reached = await Promise.all(
      ['lab-egg.service', 'lab-hen.service'].map(async (target) => (await box.waits({ target })).found),
    )
    expect(reached.filter(Boolean)).toHaveLength(1)
    expect(() => expect(box).toHaveCleanConsole()).toThrow(/ordering-cycle at line \d+: .*lab-(egg|hen)\.service/)
  })

  test('PID 1’s queue was recorded from the first job on, and every job that failed is named', async () => {
    const jobs = await box.jobs()
    if (!jobs.found) throw new Error(jobs.message)
    const initial = jobs.jobs.filter(({ since }) => since === 'before-connect')
    expect(initial.length).toBeGreaterThan(60)
    // None had run yet when the recorder asked: it was there before PID 1.
    expect(jobs.depth?.atConnect).toBe(initial.length)
    expect(jobs.connectedUs).toBeLessThan(Math.min(...initial.map(({ releasedUs }) => releasedUs ?? Infinity)))
    expect(jobs).toMatchObject({ queued: [], holes: [] })
    // #region jobs
    await expect(box).toHaveNoFailedJobs({ allow: ['dev-lab.device'] })
    await expect(expect(box).toHaveNoFailedJobs()).rejects.toThrow('dev-lab.device (job')
    await expect(box).toQueueAtMost(200)
    // #endregion
  })

  test('the live queue agrees with what the times say the target waited for', async () => {
    const [waits, jobs] = [await box.waits(), await box.jobs()]
    if (!waits.found || !jobs.found) throw new Error('nothing was recorded')
    const target = jobs.jobs.find(({ unit }) => unit === 'multi-user.target')
    const ended = new Map(jobs.jobs.map(({ id, unit, removedUs = 0 }) => [id, { unit, removedUs }]))
    const last = target?.waitedOn.map((id) => ended.get(id)!).toSorted((a, b) => b.removedUs - a.removedUs)[0]
    expect(waits.path.at(-2)?.unit).toBe(last?.unit)
  })

  test('what starts behind the target is named', async () => {
    await expect(box).toStartBehind('multi-user.target', ['lab-behind.service'])
    await expect(box).toReachUnit('login')
    const { prompt } = (await box.waits({ target: 'login' })) as WaitsReport
    // systemd 256 and later stamp the exec of getty; before that it is known to be no earlier than what it waited for.
    expect(prompt?.from).toBe(suite === 'trixie' ? 'handoff' : 'not-before')
    expect(prompt?.promptUs).toBeGreaterThan(prompt!.activeUs)
    // The console had it after getty was executed, or, where that has no stamp, after what it waited for.
    const { atUs, errorUs } = prompt!.console!
    expect(atUs + errorUs).toBeGreaterThan(prompt!.promptUs)
    await expect(box).toHaveNoGapLongerThan('60s')
  })

  test('the first login starts the user’s manager, the second one its session alone', async () => {
    const { logins, transport } = await box.sshFirst({ timeoutMs: 120_000 })
    expect([transport, logins.length]).toEqual(['agent', 2])
    const session = /^session-c?\d+\.scope$/
    expect(logins[0]).toSetOffJobs(['user-0.slice', 'user-runtime-dir@0.service', 'user@0.service', session])
    expect(logins[1]).toSetOffJobs([session])
  })

  // The last one: a hole is no place to say that nothing failed.
  test('systemd that executes itself again leaves a hole in the recording, which goes on behind it', async () => {
    await box.exec(['systemctl', 'daemon-reexec'])
    await box.exec(['systemctl', 'start', 'systemd-tmpfiles-clean.service'])
    const jobs = await box.jobs()
    if (!jobs.found) throw new Error(jobs.message)
    expect(jobs.holes).toHaveLength(1)
    const after = jobs.jobs.find(({ unit }) => unit === 'systemd-tmpfiles-clean.service')
    expect(after?.result).toBe('done')
    expect(after?.installedUs).toBeGreaterThan(jobs.holes[0]?.endUs ?? Infinity)
    await expect(expect(box).toHaveNoFailedJobs()).rejects.toThrow('the recording has a hole')
  })
})
