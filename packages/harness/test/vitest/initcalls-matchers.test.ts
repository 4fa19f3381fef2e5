import { initcalls } from '@boxlab/probes'
import { expect, test } from 'vitest'
import { initcallsMatchers } from '../../src/vitest/index.ts'

expect.extend(initcallsMatchers)

const LOG = `[    0.000000] Linux version 6.1.0 x
[    0.100000] calling  early_init+0x0/0x4 @ 1
[    0.103000] initcall early_init+0x0/0x4 returned 0 after 4000 usecs
[    0.200000] calling  clocksource_done_booting+0x0/0x4 @ 1
[    0.201000] clocksource: Switched to clocksource tsc
[    0.201200] initcall clocksource_done_booting+0x0/0x4 returned 0 after 900 usecs
[    0.300000] calling  late_init+0x0/0x4 @ 1
[    0.305000] initcall late_init+0x0/0x4 returned -19 after 4990 usecs
[    0.400000] calling  late_init+0x0/0x8 @ 1
[    0.408000] initcall late_init+0x0/0x8 returned -19 after 7990 usecs
[    0.500000] calling  odd_init+0x0/0x8 @ 1
[    0.509000] initcall odd_init+0x0/0x8 returned 0 after 2000 usecs
`
const good = initcalls(LOG)
const open = initcalls(`${LOG}[    0.600000] calling  stuck_init+0x0/0x8 [stuck] @ 90\n`)

test('toHaveInitcall passes for a call that was made, with its value and in time', async () => {
  await expect(good).toHaveInitcall('early_init')
  await expect(good).toHaveInitcall('early_init', { within: '3ms', returned: 0 })
  await expect(good).toHaveInitcall(/^late_/, { within: '8ms', returned: -19 })
  await expect(good).not.toHaveInitcall('absent_init')
})

test('toHaveInitcall fails with each call’s figure, its sample and the bound', async () => {
  await expect(expect(good).toHaveInitcall('absent_init')).rejects.toThrow(
    'Linux 6.1.0 made no call absent_init among 5',
  )
  await expect(expect(good).toHaveInitcall('late_init', { within: '5ms' })).rejects.toThrow(
    'late_init (line 7) took 4.990 ms (n=1), and the bound is 5 ms\nlate_init (line 9) took 7.990 ms (n=1), and the bound is 5 ms',
  )
  await expect(expect(good).toHaveInitcall('late_init', { returned: 0 })).rejects.toThrow(
    'returned -19, and 0 is asked for',
  )
})

test('a time that is not known is an error, also behind `not`', async () => {
  for (const asked of [
    expect(open).toHaveInitcall('stuck_init', { within: '1s' }),
    expect(open).not.toHaveInitcall('stuck_init', { within: '1s' }),
  ]) {
    await expect(asked).rejects.toThrow('how long stuck_init (line 13) took is not known: it has not returned')
  }
  await expect(expect(open).toHaveInitcall('stuck_init', { returned: 0 })).rejects.toThrow('is not known: unfinished')
})

test('a time that is a whole number of ticks is an error', async () => {
  const untimed = initcalls(LOG.replaceAll(/^\[[^\]]*\] /gm, ''))
  await expect(expect(untimed).toHaveInitcall('early_init', { within: '1s' })).rejects.toThrow(
    'the kernel counts whole ticks',
  )
  await expect(expect(untimed).not.toHaveInitcall('early_init', { within: 1 })).rejects.toThrow(
    'the kernel counts whole ticks',
  )
  await expect(untimed).toHaveInitcall('early_init', { returned: 0 })
})

test('a bound within a time’s error, or between two clocks, is an error', async () => {
  await expect(expect(good).toHaveInitcall('clocksource_done_booting', { within: '2ms' })).rejects.toThrow(
    'took 0.900 ms, give or take 4.000 ms, and the bound of 2 ms lies within that',
  )
  await expect(good).toHaveInitcall('clocksource_done_booting', { within: '5ms' })
  await expect(expect(good).toHaveInitcall('odd_init', { within: '5ms' })).rejects.toThrow(
    'took 2.000 ms by the kernel’s figure and 9.000 ms by its stamps, and the bound of 5 ms lies between them',
  )
  await expect(good).toHaveInitcall('odd_init', { within: '10ms' })
})

test('a call that is not there is an error where the log begins late', async () => {
  const late = initcalls(LOG.split('\n').slice(5).join('\n'))
  await expect(expect(late).not.toHaveInitcall('early_init')).rejects.toThrow('earlier calls may be missing')
})

test('toHaveNoUnfinishedInitcalls names what hangs', async () => {
  await expect(good).toHaveNoUnfinishedInitcalls()
  await expect(open).not.toHaveNoUnfinishedInitcalls()
  await expect(expect(open).toHaveNoUnfinishedInitcalls()).rejects.toThrow(
    /^1 of 6 initcalls have not returned: stuck_init \(line 13\) had not returned when the log ended[^]*\n {2}stuck_init \[stuck\] \(line 13\)$/,
  )
})

test('what is no answer is refused', async () => {
  await expect(expect({}).toHaveNoUnfinishedInitcalls()).rejects.toThrow('takes a box or a result of initcalls()')
  await expect(expect(initcalls('hello')).not.toHaveInitcall('x')).rejects.toThrow('the log has no initcall')
  await expect(expect(good).toHaveInitcall('early_init', { within: 'soon' })).rejects.toThrow('`within` must be')
})
