import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { renderWaits, waits } from '../../src/index.ts'
import { aBoot, MANAGER_TIMES, showUnits, type UnitSpec } from './a-systemd.ts'
import { fixture, recording } from './recordings.ts'

const S = 1_000_000
const BOOT: readonly UnitSpec[] = [
  { id: 'dev-vdb.device', at: [1.6 * S], more: { ConditionResult: 'yes', JobRunningTimeoutUSec: '2s' } },
  { id: 'mnt.service', after: ['dev-vdb.device'], at: [3.7 * S, 3.72 * S, 0, 0, 4.000_001 * S] },
  { id: 'net.service', at: [3.8 * S, 3.8 * S, 4.000_001 * S] },
  { id: 'loop.service', at: [5 * S, 5 * S, 5 * S], more: { NRestarts: 3 } },
  { id: 'check.service', after: ['mnt.service', 'net.service'], at: [4.1 * S], more: { ConditionResult: 'no' } },
  { id: 'multi-user.target', after: ['check.service', 'loop.service'], at: [4.2 * S, 4.2 * S, 4.2 * S] },
  { id: 'serial-getty@ttyS0.service', at: [4.1 * S, 4.15 * S, 4.15 * S], more: { Type: 'idle' } },
  { id: 'late.service', after: ['multi-user.target'], at: [4.3 * S, 4.3 * S, 6 * S] },
]

it('draws the path, then what it does not show', () => {
  expect(renderWaits(waits(aBoot(BOOT, { ...MANAGER_TIMES, Finish: 6.1 * S })))).toBe(`\
multi-user.target after 3200.000 ms · from PID 1’s start · systemctl show, microseconds · 8 units ·
  n=1

   from ms        ms  kind        what
     0.000    10.000  phase       PID 1: start
    10.000    10.000  phase       PID 1: security
    20.000    80.000  phase       PID 1: setup
   100.000   200.000  phase       PID 1: generators
   300.000     1.000  phase       PID 1: setup
   301.000   199.000  phase       PID 1: loading units
   500.000   100.000  phase       PID 1: first transaction and dispatch, until dev-vdb.device was run
   600.000  2000.000  wait        dev-vdb.device (never came: timeout)
  2600.000   100.000  path gap    dev-vdb.device done, until mnt.service was run
  2700.000    20.000  starting    mnt.service
  2720.000   280.001  activating  mnt.service
  3000.001    99.999  path gap    mnt.service done, until check.service was run
  3100.000   100.000  path gap    check.service done, until multi-user.target was run
            3200.000              sum of the parts

idle gaps (no unit was activating): 3, 199.999 ms in all
      3000.001        99.999  after mnt.service, until check.service
      3100.000        50.000  after check.service, until serial-getty@ttyS0.service
      3150.000        50.000  after serial-getty@ttyS0.service, until multi-user.target

behind multi-user.target:
      3300.000      1700.000  late.service (holds the login prompt and the end of the boot)
      4000.000         0.000  loop.service (holds the login prompt and the end of the boot)

tie at 3000.001 ms: check.service was released by mnt.service or by net.service

multi-user.target is ordered after loop.service, which was started more than once: only its last
  start is known
`)
})

it('draws a recorded boot as the documentation shows it', () => {
  const golden = readFileSync(new URL('./fixtures/b12x-nasty.waits.txt', import.meta.url), 'utf8')
  expect(renderWaits(waits(recording('b12x-nasty')))).toBe(golden)
})

it('draws the wait for the prompt', () => {
  const text = renderWaits(waits(aBoot(BOOT, { ...MANAGER_TIMES, Finish: 6.1 * S }), { target: 'login' }), {
    width: 200,
  })
  expect(text).toContain('login (serial-getty@ttyS0.service) after 5100.000 ms · from PID 1’s start')
  expect(text).toMatch(
    /^ +3150\.000 +1950\.000 +idle +serial-getty@ttyS0\.service waits for the job queue \(queue drained\)$/m,
  )
  expect(text).toMatch(/^prompt-not-before: /m)
})

it('says where damage is', () => {
  const input = showUnits(BOOT).replace('NRestarts=3', 'NRestarts=3x')
  const text = renderWaits(waits([{ name: 'u\u001b[31m.txt', input }]), { width: 300 })
  expect(text).toContain('bad-field: 1 in u.txt line 38 (loop.service NRestarts).')
  expect(text).toContain(
    'multi-user.target is ordered after loop.service, which could not be read: it may have been the one',
  )
  expect(text).not.toContain('\u001b')
})

it('lists shorter idle gaps when asked', () => {
  const rows = (listGapsFromUs: number): number =>
    renderWaits(waits(recording('b12x-nasty')), { listGapsFromUs }).match(/ after .*, until /g)?.length ?? 0
  expect([rows(0), rows(5000), rows(100_000)]).toEqual([46, 21, 1])
})

it('does not say that a dump has no idle gaps, only that seconds show none', () => {
  expect(renderWaits(waits([{ name: 'dump', input: fixture('b12x-nasty.dump.txt') }]))).toContain(
    'none that whole seconds could show',
  )
})

it('without an answer is the sentence and what the readers met', () => {
  expect(renderWaits(waits([{ name: 'p.txt', input: 'root:x:0\n' }]))).toBe(`\
no waits of multi-user.target: there is no whole unit of systemd in the input; give the output of
  \`systemctl show --all '*'\` or of \`systemd-analyze dump\`
unparsed: 1 in p.txt line 1. Lines that are not of \`systemctl show\` or \`systemd-analyze dump\`; they
  are ignored.
`)
})
