import { describe, expect, it } from 'vitest'
import { renderWaits, waits } from '../../src/index.ts'
import { aBoot, MANAGER_TIMES, type UnitSpec } from './a-systemd.ts'
import { reportOf } from './recordings.ts'

const S = 1_000_000

/** The units on the path to multi-user.target. */
function pathOf(units: readonly UnitSpec[], target = 'multi-user.target'): readonly string[] {
  return reportOf(aBoot(units), { target }).path.map(({ unit }) => unit)
}

const target = (after: readonly string[], atUs: number): UnitSpec => ({
  id: 'multi-user.target',
  after,
  at: [atUs, atUs, atUs],
})

describe('what systemd-analyze critical-chain gets wrong', () => {
  it('a oneshot without RemainAfterExit is on the path though it was never active (systemd.service(5); powerpc-utils PR 83)', () => {
    const units: readonly UnitSpec[] = [
      { id: 'ssh.service', at: [2 * S, 2.1 * S, 3 * S] },
      { id: 'reap.service', at: [2 * S, 2.1 * S, 0, 0, 7 * S] },
      target(['ssh.service', 'reap.service'], 7.1 * S),
    ]
    expect(pathOf(units)).toEqual(['reap.service', 'multi-user.target'])
    expect(reportOf(aBoot(units)).path[0]?.endedBy).toBe('finished')
  })

  it('a dependency that ended after its dependent was run is no predecessor (systemd#16672)', () => {
    const units: readonly UnitSpec[] = [
      { id: 'fuse.mount', at: [2 * S, 2.1 * S, 7 * S] },
      { id: 'journald.service', at: [2 * S, 2.1 * S, 3 * S] },
      target(['fuse.mount', 'journald.service'], 5 * S),
    ]
    expect(pathOf(units)).toEqual(['journald.service', 'multi-user.target'])
    expect(reportOf(aBoot(units)).notWaitedFor).toEqual([
      { unit: 'multi-user.target', after: 'fuse.mount', reason: 'ended-later' },
    ])
  })

  it.each([
    ['by systemd', { id: 'loop.service', at: [2 * S, 2.1 * S, 3 * S], more: { NRestarts: 2 } }],
    ['by hand', { id: 'loop.service', at: [2.5 * S, 2.6 * S, 3 * S, 2.4 * S, 2.4 * S] }],
    ['as a oneshot of a timer', { id: 'loop.service', at: [2.5 * S, 2.6 * S, 0, 0, 2.5 * S] }],
  ] as const)(
    'a unit restarted %s shows a later start, is named and is no predecessor (systemd.1, PR 26019)',
    (_how, unit) => {
      const units = [unit, target(['loop.service'], 5 * S)]
      expect(pathOf(units)).toEqual(['multi-user.target'])
      expect(reportOf(aBoot(units)).notWaitedFor).toEqual([
        { unit: 'multi-user.target', after: 'loop.service', reason: 'restarted' },
      ])
    },
  )

  it('a unit that was up before PID 1 started has no negative time (systemd#17191)', () => {
    const units: readonly UnitSpec[] = [{ id: 'initrd.target', at: [0.5 * S, 0.5 * S, 0.5 * S] }]
    const result = waits(aBoot(units), { target: 'initrd.target' })
    expect(result).toMatchObject({
      found: false,
      reason: 'not-reached',
      message: expect.stringContaining('--from-kernel') as string,
    })
    expect(reportOf(aBoot(units), { target: 'initrd.target', fromKernel: true })).toMatchObject({
      totalUs: 0.5 * S,
      parts: [{ kind: 'phase', name: 'kernel', startUs: 0, endUs: 0.5 * S }],
    })
  })

  it('an unset watchdog or a time of 2^64-1 is no duration (systemd#15093)', () => {
    const units: readonly UnitSpec[] = [
      {
        id: 'multi-user.target',
        at: [2 * S, 2 * S, 2 * S],
        more: { ExecMainStartTimestampMonotonic: '18446744073709551615' },
      },
    ]
    expect(reportOf(aBoot(units)).totalUs).toBe(S)
  })

  it('a device that never came is a wait until its timeout (systemd#8182, systemd#12272)', () => {
    const units: readonly UnitSpec[] = [
      { id: 'dev-vdb.device', at: [2 * S], more: { ConditionResult: 'yes', JobRunningTimeoutUSec: '1min 30s' } },
      { id: 'data.service', after: ['dev-vdb.device'], at: [92.2 * S, 92.3 * S, 92.4 * S] },
      target(['data.service'], 92.5 * S),
    ]
    expect(reportOf(aBoot(units)).parts.find(({ kind }) => kind === 'wait')).toEqual({
      kind: 'wait',
      unit: 'dev-vdb.device',
      endedBy: 'timeout',
      startUs: S,
      endUs: 91 * S,
    })
    const came: UnitSpec = { id: 'dev-vdb.device', at: [2 * S, 30 * S, 30 * S] }
    expect(reportOf(aBoot([came, ...units.slice(1)])).parts.find(({ kind }) => kind === 'wait')).toMatchObject({
      endedBy: 'active',
      startUs: S,
      endUs: 29 * S,
    })
  })

  it('a device whose wait is not over is no predecessor, and no timeout is made up', () => {
    const device: UnitSpec = {
      id: 'dev-vdb.device',
      at: [2 * S],
      more: { ConditionResult: 'yes', JobRunningTimeoutUSec: '3s', Job: 17 },
    }
    expect(pathOf([device, target(['dev-vdb.device'], 9 * S)])).toEqual(['multi-user.target'])
    const endless: UnitSpec = { ...device, more: { ConditionResult: 'yes', JobRunningTimeoutUSec: 'infinity' } }
    expect(pathOf([endless, target(['dev-vdb.device'], 9 * S)])).toEqual(['multi-user.target'])
  })

  it('a tentative device holds nobody back and is not activating (systemd#23629)', () => {
    const units: readonly UnitSpec[] = [
      { id: 'dev-vda.device', at: [0, 1.6 * S, 4 * S] },
      { id: 'a.service', at: [1.7 * S, 1.7 * S, 2 * S] },
      target(['dev-vda.device', 'a.service'], 5 * S),
    ]
    const report = reportOf(aBoot(units))
    expect(report.path.map(({ unit }) => unit)).toEqual(['a.service', 'multi-user.target'])
    expect(report.idleGaps).toEqual([
      { startUs: S, endUs: 4 * S, openedBy: 'a.service', closedBy: 'multi-user.target' },
    ])
  })

  it('what was up before PID 1 had loaded its units waited for nothing: the phases come first', () => {
    const early: UnitSpec = { id: '-.mount', at: [0, 1.2 * S, 1.25 * S] }
    expect(reportOf(aBoot([early]), { target: '-.mount' })).toMatchObject({
      totalUs: 250_000,
      parts: [{ name: 'start' }, { name: 'security' }, { name: 'setup' }, { name: 'generators', endUs: 250_000 }],
    })
    const across: UnitSpec = { id: 'a.mount', at: [0, 1.2 * S, 1.9 * S] }
    expect(reportOf(aBoot([across]), { target: 'a.mount' }).parts.slice(-2)).toEqual([
      { kind: 'phase', name: 'units-load', startUs: 301_000, endUs: 500_000 },
      { kind: 'activating', unit: 'a.mount', startUs: 500_000, endUs: 900_000 },
    ])
    expect(reportOf(aBoot([early, { id: 'b.mount', at: [0, 1.4 * S, 1.4 * S] }, target([], 2 * S)])).idleGaps).toEqual([
      { startUs: 500_000, endUs: S, openedBy: 'b.mount', closedBy: 'multi-user.target' },
    ])
  })

  it('a systemd initrd is a phase of its own (systemd#29010)', () => {
    const report = reportOf(aBoot([target([], 2 * S)], { ...MANAGER_TIMES, InitRD: 400_000 }), { fromKernel: true })
    expect(report.parts.slice(0, 2)).toEqual([
      { kind: 'phase', name: 'kernel', startUs: 0, endUs: 400_000 },
      { kind: 'phase', name: 'initrd', startUs: 400_000, endUs: S },
    ])
    expect(report.findings.map(({ name }) => name)).toEqual(['systemd-initrd'])
  })

  it('a container without a security phase still adds up (systemd#27187)', () => {
    const { SecurityStart: _1, SecurityFinish: _2, ...times } = MANAGER_TIMES
    const report = reportOf(aBoot([target([], 2 * S)], { ...times, SecurityStart: 0 }))
    expect(report.parts.map((part) => (part.kind === 'phase' ? part.name : part.kind))).toEqual([
      'setup',
      'generators',
      'setup',
      'units-load',
      'dispatch',
    ])
    expect(report.findings.map(({ name }) => name)).toEqual(['container'])
  })

  it('a boot whose queue never drained has an answer, labelled (systemd-cron#50)', () => {
    const report = reportOf(aBoot([target([], 2 * S)], { ...MANAGER_TIMES, Finish: 0 }))
    expect(report.totalUs).toBe(S)
    expect(report.findings.map(({ name }) => name)).toEqual(['not-finished'])
  })

  it('a soft reboot and a reload are said (systemd PR 31980)', () => {
    const [units, manager] = aBoot([target([], 2 * S)], { ...MANAGER_TIMES, UnitsLoad: 50 * S })
    const inputs = [
      { name: 'u', input: units.input },
      { name: 'm', input: `${manager.input}SoftRebootsCount=1\n` },
    ]
    expect(reportOf(inputs).findings.map(({ name }) => name)).toEqual(['reloaded', 'soft-reboot'])
  })

  it('firmware and loader, which count backwards, are no part of it (systemd#8422)', () => {
    const report = reportOf(aBoot([target([], 2 * S)], { ...MANAGER_TIMES, Firmware: 9 * S, Loader: 4 * S }), {
      fromKernel: true,
    })
    expect(report.totalUs).toBe(2 * S)
  })

  it('getty’s ActiveEnter is not the prompt: Type=idle waits for the queue, at most 5 s (systemd#28930)', () => {
    const getty: UnitSpec = {
      id: 'serial-getty@ttyS0.service',
      at: [3 * S, 3.1 * S, 3.1 * S],
      more: { Type: 'idle', ExecMainStartTimestampMonotonic: 3.05 * S },
    }
    const prompt = (finish: number): unknown =>
      reportOf(aBoot([getty], { ...MANAGER_TIMES, Finish: finish }), { target: 'login' }).parts.at(-1)
    expect(prompt(6 * S)).toMatchObject({ kind: 'idle', endedBy: 'queue drained', startUs: 2.1 * S, endUs: 5 * S })
    expect(prompt(20 * S)).toMatchObject({ kind: 'idle', endedBy: 'timeout of 5 s', startUs: 2.1 * S, endUs: 7.05 * S })
  })

  it('units that ended in one microsecond are all listed, not “...” (systemd#13834)', () => {
    const units: readonly UnitSpec[] = [
      { id: 'a.service', at: [2 * S, 2 * S, 3 * S] },
      { id: 'b.service', at: [2.5 * S, 2.5 * S, 3 * S] },
      { id: 'c.service', after: ['a.service'], at: [3 * S, 3 * S, 3 * S] },
      target(['c.service', 'b.service', 'a.service'], 4 * S),
    ]
    expect(reportOf(aBoot(units)).ties).toEqual([
      { unit: 'multi-user.target', atUs: 2 * S, chosen: 'a.service', others: ['b.service', 'c.service'] },
    ])
  })

  it('of units that took as long, the one ordered after the other is the predecessor', () => {
    const units: readonly UnitSpec[] = [
      { id: 'a.target', at: [3 * S, 3 * S, 3 * S] },
      { id: 'b.target', after: ['a.target'], at: [3 * S, 3 * S, 3 * S] },
      target(['a.target', 'b.target'], 4 * S),
    ]
    expect(pathOf(units)).toEqual(['a.target', 'b.target', 'multi-user.target'])
  })

  it('microseconds are printed whole, so that the printed parts add up (systemd#43771)', () => {
    const text = renderWaits(waits(aBoot([target([], 2_031_207)])))
    expect(text).toContain('1031.207')
    const printed = [...text.matchAll(/^ +\d+\.\d{3} +(\d+)\.(\d{3}) +(?:phase|starting|activating|path gap)/gm)]
    expect(
      printed.map(([, whole, thousandths]) => Number(`${whole}${thousandths}`)).reduce((sum, us) => sum + us, 0),
    ).toBe(1_031_207)
  })

  it('a unit that a timer or a socket triggers may have waited for that: its gap says so', () => {
    const units: readonly UnitSpec[] = [
      { id: 'basic.target', at: [2 * S, 2 * S, 2 * S] },
      { id: 'job.timer', at: [2.1 * S, 2.1 * S, 2.1 * S] },
      { id: 'job.socket', at: [0] },
      {
        id: 'job.service',
        after: ['basic.target'],
        at: [60 * S, 60 * S, 61 * S],
        more: { TriggeredBy: 'job.timer job.socket' },
      },
    ]
    expect(reportOf(aBoot(units), { target: 'job.service' }).parts.find(({ kind }) => kind === 'gap')).toMatchObject({
      unit: 'basic.target',
      endedBy: 'job.service',
      triggeredBy: ['job.timer'],
    })
  })

  it('a unit whose job was deleted to break a cycle was never started: no path passes through it', () => {
    const units: readonly UnitSpec[] = [
      { id: 'cyc-a.service', after: ['cyc-b.service'], at: [2 * S, 2 * S, 3 * S] },
      { id: 'cyc-b.service', after: ['cyc-a.service'], at: [0] },
      target(['cyc-a.service', 'cyc-b.service'], 4 * S),
    ]
    expect(pathOf(units)).toEqual(['cyc-a.service', 'multi-user.target'])
    expect(waits(aBoot(units), { target: 'cyc-b.service' })).toMatchObject({ found: false, reason: 'not-reached' })
  })

  it('a cycle of zero length ends', () => {
    const both: readonly UnitSpec[] = [
      { id: 'a.target', after: ['b.target'], at: [2 * S, 2 * S, 2 * S] },
      { id: 'b.target', after: ['a.target'], at: [2 * S, 2 * S, 2 * S] },
    ]
    expect(reportOf(aBoot(both), { target: 'a.target' })).toMatchObject({
      totalUs: S,
      path: [{ unit: 'b.target' }, { unit: 'a.target' }],
    })
  })
})

describe('units that a path passes', () => {
  it.each([
    ['ConditionResult', 'no'],
    ['AssertResult', 'no'],
  ])('%s=%s is a bridge without length: it held its successors until it was tested', (key, value) => {
    const units: readonly UnitSpec[] = [
      { id: 'a.service', at: [2 * S, 2 * S, 3 * S] },
      { id: 'fsck.service', after: ['a.service'], at: [3.5 * S], more: { [key]: value } },
      target(['fsck.service'], 4 * S),
    ]
    const report = reportOf(aBoot(units))
    expect(report.path.map(({ unit, endedBy }) => [unit, endedBy])).toEqual([
      ['a.service', 'active'],
      ['fsck.service', 'condition'],
      ['multi-user.target', 'active'],
    ])
    expect(report.parts.slice(-2)).toEqual([
      { kind: 'gap', unit: 'a.service', endedBy: 'fsck.service', startUs: 2 * S, endUs: 2.5 * S },
      { kind: 'gap', unit: 'fsck.service', endedBy: 'multi-user.target', startUs: 2.5 * S, endUs: 3 * S },
    ])
  })

  it('an After= may name an alias, and so may the target', () => {
    const units: readonly UnitSpec[] = [
      { id: 'sshd.service', names: ['ssh.service'], at: [2 * S, 2 * S, 3 * S] },
      { ...target(['ssh.service'], 4 * S), names: ['runlevel3.target'] },
    ]
    expect(pathOf(units, 'runlevel3.target')).toEqual(['sshd.service', 'multi-user.target'])
  })

  it('a name with a backslash is in quotes and escaped in lists, as systemd 252 prints it', () => {
    const units: readonly UnitSpec[] = [
      { id: 'n\\x2dweird.service', at: [2 * S, 2 * S, 3 * S] },
      target(['"n\\\\x2dweird.service"'], 4 * S),
    ]
    expect(pathOf(units)).toEqual(['n\\x2dweird.service', 'multi-user.target'])
  })

  it('what it is ordered after and is not in the input is counted', () => {
    expect(reportOf(aBoot([target(['gone.service'], 2 * S)])).findings).toEqual([
      { name: 'missing-units', message: 'After= names 1 units that are not in the input; ask systemctl with --all' },
    ])
  })

  it('became active without a job: what precedes it is order', () => {
    const units: readonly UnitSpec[] = [{ id: 'run-user-0.mount', at: [0, 3 * S, 3 * S] }]
    expect(reportOf(aBoot(units), { target: 'run-user-0.mount' }).findings.map(({ name }) => name)).toEqual(['no-job'])
  })

  it('ssh is the socket where systemd listens, else the service', () => {
    const service: UnitSpec = { id: 'ssh.service', names: ['sshd.service'], at: [2 * S, 2 * S, 3 * S] }
    const socket: UnitSpec = { id: 'ssh.socket', at: [1.6 * S, 1.6 * S, 1.6 * S] }
    expect(reportOf(aBoot([service]), { target: 'ssh' }).unit).toBe('ssh.service')
    expect(reportOf(aBoot([service, socket]), { target: 'ssh' }).unit).toBe('ssh.socket')
    expect(waits(aBoot([target([], 2 * S)]), { target: 'ssh' })).toMatchObject({ found: false, reason: 'no-target' })
  })
})

describe('what starts behind the target', () => {
  it('is listed with what was running first, and says what it holds back', () => {
    const getty: UnitSpec = {
      id: 'serial-getty@ttyS0.service',
      at: [3 * S, 3.1 * S, 3.1 * S],
      more: { Type: 'idle', ExecMainStartTimestampMonotonic: 3.05 * S },
    }
    const units: readonly UnitSpec[] = [
      target([], 3 * S),
      getty,
      { id: 'late.service', at: [4 * S, 4 * S, 5 * S] },
      { id: 'early.service', at: [2 * S, 2 * S, 9 * S] },
      { id: 'open.service', at: [95 * S, 95 * S] },
    ]
    const { behind } = reportOf(aBoot(units, { ...MANAGER_TIMES, Finish: 9 * S }))
    expect(behind).toEqual([
      {
        unit: 'early.service',
        startUs: S,
        endUs: 8 * S,
        state: 'running',
        holds: ['login-prompt', 'startup-finished'],
      },
      {
        unit: 'serial-getty@ttyS0.service',
        startUs: 2.1 * S,
        endUs: 2.1 * S,
        state: 'later',
        holds: ['startup-finished'],
      },
      {
        unit: 'late.service',
        startUs: 3 * S,
        endUs: 4 * S,
        state: 'later',
        holds: ['login-prompt', 'startup-finished'],
      },
      { unit: 'open.service', startUs: 94 * S, state: 'later', holds: [] },
    ])
  })
})
