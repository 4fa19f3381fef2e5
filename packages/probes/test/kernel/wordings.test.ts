import { describe, expect, it } from 'vitest'
import { type ConsoleProblemKind, findConsoleProblems } from '../../src/index.ts'

function kindsOf(text: string): ConsoleProblemKind[] {
  return findConsoleProblems(text).findings.map(({ kind }) => kind)
}

const STAMPS = [
  '[    7.654321] ',
  '[    7.654321][   T42] ',
  '[    7.654321][    C0] ',
  '<4>[    7.654321] ',
  'vm login: [    7.654321] ',
]

// One line for every wording, from kernel and systemd sources and from public logs.
const KERNEL: readonly (readonly [ConsoleProblemKind, string])[] = [
  ['panic', 'Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)'],
  ['panic', 'Kernel panic - not syncing'],
  ['panic', '---[ end Kernel panic - not syncing: Fatal exception ]---'],
  ['oops', 'BUG: kernel NULL pointer dereference, address: 0000000000000010'],
  ['oops', 'BUG: unable to handle page fault for address: ffffc90000000000'],
  ['oops', 'BUG: unable to handle kernel NULL pointer dereference at 0000000000000000'],
  ['oops', 'Unable to handle kernel NULL pointer dereference at virtual address 0000000000000000'],
  ['oops', 'Unable to handle kernel paging request at virtual address dead000000000108'],
  ['oops', 'Internal error: Oops: 0000000096000004 [#1] PREEMPT SMP'],
  ['oops', 'Oops: 0002 [#1] PREEMPT SMP NOPTI'],
  ['oops', 'Oops: Oops: 0000 [#3] SMP'],
  ['oops', 'Oops [#1]'],
  ['oops', 'general protection fault, probably for non-canonical address 0xdead: 0000 [#1] PREEMPT SMP'],
  ['oops', 'Oops: general protection fault, probably for non-canonical address 0xdead: 0000 [#1] SMP'],
  ['oops', 'stack segment: 0000 [#1] PREEMPT SMP'],
  ['bug', 'kernel BUG at mm/slub.c:4421!'],
  ['bug', 'BUG: scheduling while atomic: swapper/0/1/0x00000002'],
  ['bug', 'BUG: sleeping function called from invalid context at kernel/locking/mutex.c:283'],
  ['bug', 'BUG: KASAN: slab-out-of-bounds in kmalloc_oob_right+0x159/0x260 [test_kasan]'],
  ['bug', 'BUG: KFENCE: use-after-free read in test_use_after_free_read+0xb3/0x143'],
  ['bug', 'BUG: Bad page state in process init  pfn:00000'],
  ['bug', 'BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 31s!'],
  ['bug', 'BUG: anything else that the kernel calls a bug'],
  ['bug', '[ BUG: Invalid wait context ]'],
  ['bug', 'UBSAN: array-index-out-of-bounds in drivers/net/foo.c:123:4'],
  ['warning', 'WARNING: CPU: 1 PID: 1 at kernel/sched/core.c:8511 sched_init+0x20/0x410'],
  ['warning', 'WARNING: kernel/sched/core.c:8511 at sched_init+0x20/0x410, CPU#0: swapper/0/0'],
  ['warning', 'WARNING: [ptr == 0 && 1] kernel/sched/core.c:8511 at sched_init+0x20/0x410, CPU#0: swapper/0/0'],
  ['warning', 'WARNING: at faulty_init+0x17e/0xff0 [faulty], CPU#3: kworker/u8:2/127'],
  ['warning', 'WARNING: possible circular locking dependency detected'],
  ['warning', 'WARNING: suspicious RCU usage'],
  ['warning', 'WARNING: HARDIRQ-safe -> HARDIRQ-unsafe lock order detected'],
  ['soft-lockup', 'watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [insmod:78]'],
  ['soft-lockup', 'BUG: soft lockup - CPU#3 stuck for 11s! [kworker/0:1:643]'],
  ['hard-lockup', 'watchdog: Watchdog detected hard LOCKUP on cpu 2'],
  ['hard-lockup', 'NMI watchdog: Watchdog detected hard LOCKUP on cpu 0'],
  ['hard-lockup', 'watchdog: CPU3: Watchdog detected hard LOCKUP on cpu 3'],
  ['rcu-stall', 'rcu: INFO: rcu_preempt self-detected stall on CPU'],
  ['rcu-stall', 'rcu: INFO: rcu_sched detected stalls on CPUs/tasks:'],
  ['rcu-stall', 'rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 3-...D } 444555 jiffies s: 81'],
  ['rcu-stall', 'INFO: rcu_tasks detected stalls on tasks:'],
  ['hung-task', 'INFO: task kworker/u4:2:80 blocked for more than 120 seconds.'],
  ['hung-task', 'INFO: task my task:80 blocked for more than 241 seconds.'],
  ['oom', 'stress invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE|__GFP_COMP|__GFP_ZERO), order=0'],
  ['oom', 'Out of memory: Killed process 78 (stress) total-vm:196432kB, anon-rss:194588kB'],
  ['oom', 'Memory cgroup out of memory: Killed process 78 (stress) total-vm:196432kB, anon-rss:194588kB'],
  ['oom', 'Out of memory (oom_kill_allocating_task): Killed process 78 (stress) total-vm:196432kB'],
  ['oom', 'Out of memory: Kill process 78 (stress) score 900 or sacrifice child'],
  ['segfault', 'cat[78]: segfault at 8 ip 0000000000401969 sp 00007fff102ccf90 error 6 in cat[401000+96000]'],
  ['segfault', 'my prog[78]: segfault (11) at 0 nip 10000560 lr 10000000 code 1 in prog'],
  ['segfault', 'traps: cat[79] general protection fault ip:401996 sp:7fff102ccf90 error:0 in cat[401000+96000]'],
  ['segfault', 'traps: cat[80] trap divide error ip:401988 sp:7fff102ccf90 error:0 in cat[401000+96000]'],
  ['segfault', 'cat[78]: unhandled exception: DABT (lower EL), ESR 0x0000000092000006, level 2 translation fault'],
  ['ordering-cycle', 'systemd[1]: a.service: Found ordering cycle on b.service/start'],
  [
    'ordering-cycle',
    'systemd[1]: a.service: Found ordering cycle: b.service/start after a.service/start - after b.service',
  ],
  ['ordering-cycle', 'systemd[1]: Breaking ordering cycle by deleting job dbus.socket/start'],
  [
    'ordering-cycle',
    'systemd[1]: a.service: Job b.service/start deleted to break ordering cycle starting with a.service/start',
  ],
  ['ordering-cycle', 'systemd[1]: a.service: Unable to break cycle starting with a.service/start'],
  ['emergency-shell', 'systemd[1]: Reached target emergency.target - Emergency Mode.'],
]

const USER_SPACE: readonly (readonly [ConsoleProblemKind, string])[] = [
  ['emergency-shell', 'You are in emergency mode. After logging in, type "journalctl -xb" to view'],
  ['emergency-shell', 'You are in rescue mode. After logging in, type "journalctl -xb" to view'],
  [
    'emergency-shell',
    '[\u001b[0;32m  OK  \u001b[0m] Started \u001b[0;1;39memergency.service\u001b[0m - Emergency Shell.',
  ],
  ['emergency-shell', '[  OK  ] Reached target Emergency Mode.'],
  ['emergency-shell', 'ALERT!  UUID=6b0cc5d4-1c5b-4d0c does not exist.  Dropping to a shell!'],
  ['emergency-shell', 'Entering emergency mode. Exit the shell to continue.'],
  ['emergency-shell', 'Give root password for maintenance'],
  ['emergency-shell', 'Press Enter for maintenance'],
  ['emergency-shell', 'Cannot open access to console, the root account is locked.'],
  ['emergency-shell', '(initramfs) '],
  ['ordering-cycle', '[ SKIP ] Ordering cycle found, skipping n-cyc-b.service'],
]

describe.each(STAMPS)('behind %j', (stamp) => {
  it.each(KERNEL)('%s: %s', (kind, line) => {
    expect(kindsOf(`${stamp}${line}\r\n`)).toEqual([kind])
  })
})

describe('from user space', () => {
  it.each(USER_SPACE)('%s: %s', (kind, line) => {
    expect(kindsOf(`${line}\r\n`)).toEqual([kind])
  })
})

describe('without stamps', () => {
  it.each(KERNEL)('after the first line of an untimed kernel, %s: %s', (kind, line) => {
    expect(kindsOf(`Linux version 6.1.0 (gcc)\n${line}\n`)).toEqual([kind])
  })

  it.each(['BUG: of the application', 'WARNING: possible data loss', 'issue: 1234 [#5] was closed', '[ BUG: 17 ]'])(
    '%j is the word of a program when the kernel stamps its lines',
    (line) => {
      expect(
        kindsOf(`[    0.000000] Linux version 6.1.0 (gcc)\n${line}\nLinux version of a program\n${line}\n`),
      ).toEqual([])
    },
  )
})

describe('in logs that people paste', () => {
  const bug = 'BUG: anything else that the kernel calls a bug'
  const cycle = 'systemd[1]: a.service: Found ordering cycle on b.service/start'
  it.each([
    [`Nov 30 21:22:20 vm-b12 kernel: ${bug}`, 'bug'],
    [`Nov  3 21:22:20 vm-b12 kernel: [    7.654321] ${bug}`, 'bug'],
    [`[Mon Nov 30 21:22:20 2026] ${bug}`, 'bug'],
    [`[    3.749994] vm-b12 kernel: ${bug}`, 'bug'],
    [`[    3.749994] vm-b12 ${cycle}`, 'ordering-cycle'],
    [`Nov 30 21:22:20 vm-b12 ${cycle}`, 'ordering-cycle'],
  ])('%s', (line, kind) => {
    expect(kindsOf(line)).toEqual([kind])
  })

  it.each([
    [`1.234567] ${bug}`, 'bug'],
    [`4567] ${bug}`, 'bug'],
    [`] ${bug}`, 'bug'],
    [`7][   T1] ${bug}`, 'bug'],
  ])('%j, whose beginning was cut off', (line, kind) => {
    expect(kindsOf(line)).toEqual([kind])
    expect(kindsOf(`first\n${line}`)).toEqual([])
  })
})

describe('near misses', () => {
  it.each([
    'debug: BUG: unable to handle nothing',
    'there was no Kernel panic - not syncing: at all',
    'Kernel panic - not syncing yet',
    'kernel_panic_sysctls_init+0x0/0x26 @ 1',
    'initcall ledtrig_panic_init+0x0/0x4c returned 0 after 30 usecs',
    'calling  fixup_ht_bug+0x0/0xf6 @ 1',
    'PCI: Using host bridge windows from ACPI; if necessary, use "pci=nocrs" and report a bug',
    'BUGS: none',
    'WARNING: this is an application',
    'WARNING: CPU is hot at 90 degrees',
    'Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on, data leaks possible',
    'systemd[1]: Starting BUG_ON.service - BUG: kernel NULL pointer dereference...',
    '[  OK  ] Started WARNING: CPU: 0 PID: 1 at.service.',
    'systemd[1]: Found device dev-ordering-cycle.device',
    'myapp[12]: Found ordering cycle on the graph',
    'soft lockup - CPU#0 stuck for 26s!',
    'watchdog: Enabled. Permanently consumes one hw-PMU counter.',
    'rcu: INFO: rcu_preempt is fine',
    'rcu: RCU CPU stall warnings timeout set to 21 seconds',
    'INFO: task:80 blocked for more than enough seconds',
    'Out of memory: no process was killed',
    'systemd-oomd[80]: Killed /user.slice due to memory pressure',
    'oom_reaper: reaped process 78 (stress), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB',
    'app: segfault at work',
    'handler[3]: no segfault at 8 ip 0 here',
    'traps: installed',
    'You are in emergency modem 3',
    '[  OK  ] Started emergency-mode-docs.service - Emergency Mode Documentation.',
    '[  OK  ] Stopped target Emergency Mode.',
    'Oops, something went wrong [#help]',
    'Internal error of the application',
    'initramfs',
    'Kernel command line: panic=-1 oops=panic',
  ])('%s', (line) => {
    expect(kindsOf(`[    7.654321] ${line}\r\n`)).toEqual([])
    expect(kindsOf(`${line}\r\n`)).toEqual([])
  })
})
