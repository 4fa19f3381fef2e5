import type { SystemdManager, SystemdUnit } from '@boxlab/native'
import { describe, expect, test } from 'vitest'
import { managerVerdict, unitVerdict } from '../../src/wait/unit-verdict.ts'

const idle: SystemdUnit = {
  id: 'x.service',
  loadState: 'loaded',
  activeState: 'inactive',
  subState: 'dead',
  type: 'simple',
  result: 'success',
  hasJob: false,
  conditionMet: true,
  conditionUs: 0,
  inactiveExitUs: 0,
  activeEnterUs: 0,
  inactiveEnterUs: 0,
  booted: false,
}
const oneshot = { ...idle, type: 'oneshot', conditionUs: 5, inactiveExitUs: 6, inactiveEnterUs: 9 } as const

describe('a unit', () => {
  test.for<[string, Partial<SystemdUnit>, RegExp]>([
    ['that is active is up', { activeState: 'active' }, /^came$/],
    ['that is active and has a job is not up yet', { activeState: 'active', hasJob: true }, /^not yet: active/],
    ['that reloads is not up yet', { activeState: 'reloading', subState: 'reload' }, /^not yet: reloading \(reload\)$/],
    ['that waits for its job is not up yet', { hasJob: true }, /^not yet: inactive \(dead\), a job for it is queued$/],
    ['that has not begun is not done', {}, /^not yet: inactive \(dead\)$/],
    ['that is a oneshot and ran is done', oneshot, /^came$/],
    [
      'that is a oneshot and ran is done, though its stamps are forgotten',
      { type: 'oneshot', lastJob: 'done' },
      /^came$/,
    ],
    ['that is a oneshot and has not begun is not done', { type: 'oneshot' }, /^not yet/],
    ['that runs again is not done', { ...oneshot, activeState: 'activating', inactiveExitUs: 12 }, /^not yet/],
    ['that is a oneshot of an older run is not done', { ...oneshot, inactiveExitUs: 12 }, /^not yet/],
    ['that is a oneshot and ended badly is not done', { ...oneshot, result: 'exit-code' }, /^not yet/],
    ['that is no oneshot and ended is not up', { ...oneshot, type: 'simple' }, /^not yet/],
    [
      'that failed never comes',
      { activeState: 'failed', result: 'exit-code' },
      /^never: x\.service failed \(Result=exit-code\)$/,
    ],
    ['that failed and has a job may come', { activeState: 'failed', hasJob: true }, /^not yet/],
    ['that starts again after a failure may come', { activeState: 'activating', subState: 'auto-restart' }, /^not yet/],
    ['that is masked never comes', { loadState: 'masked' }, /^never: x\.service is masked$/],
    ['that was skipped never comes', { conditionUs: 3, conditionMet: false }, /^never: x\.service was skipped/],
    ['whose condition was not looked at may come', { conditionMet: false }, /^not yet/],
    ['whose need failed never comes', { lastJob: 'dependency' }, /^never: .*something that it needs failed$/],
    ['that is not there may come during the boot', { loadState: 'not-found' }, /^not yet: .*not found$/],
    [
      'that is not there after the boot never comes',
      { loadState: 'not-found', booted: true },
      /^never: the guest has no unit x/,
    ],
  ])('%s', ([, changes, expected]) => {
    expect(told(unitVerdict({ ...idle, ...changes }))).toMatch(expected)
  })
})

describe('the manager', () => {
  const state = (changes: Partial<SystemdManager>): SystemdManager => ({
    state: 'starting',
    failed: [],
    jobs: 3,
    times: {},
    ...changes,
  })
  test.for<[Partial<SystemdManager>, 'running' | 'degraded', string]>([
    [{ state: 'running' }, 'running', 'came'],
    [{ state: 'running' }, 'degraded', 'came'],
    [{ state: 'degraded', failed: ['a.service', 'b.mount'] }, 'degraded', 'came'],
    [
      { state: 'degraded', failed: ['a.service', 'b.mount'] },
      'running',
      'never: systemd is degraded: a.service, b.mount failed',
    ],
    [{}, 'degraded', 'not yet: systemd is starting, 3 jobs queued'],
    [{ state: 'initializing', jobs: 0 }, 'running', 'not yet: systemd is initializing, 0 jobs queued'],
    [{ state: 'maintenance' }, 'degraded', 'never: systemd is in maintenance: the emergency or rescue target runs'],
    [{ state: 'stopping' }, 'running', 'never: systemd is stopping'],
  ])('%o, wanted %s: %s', ([changes, wanted, expected]) => {
    expect(told(managerVerdict(state(changes), wanted))).toBe(expected)
  })
})

function told(verdict: ReturnType<typeof unitVerdict>): string {
  if (verdict.came) return 'came'
  return 'never' in verdict ? `never: ${verdict.never}` : `not yet: ${verdict.notYet}`
}
