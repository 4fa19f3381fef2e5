/** What a console can show that a clean boot does not. */
export type ConsoleProblemKind =
  | 'panic'
  | 'oops'
  | 'bug'
  | 'warning'
  | 'soft-lockup'
  | 'hard-lockup'
  | 'rcu-stall'
  | 'hung-task'
  | 'oom'
  | 'segfault'
  | 'emergency-shell'
  | 'ordering-cycle'

/**
 * One wording that shows a problem. Some problems take several lines; those share a `group`, and a line of a higher
 * `rank` belongs to the open finding of its group instead of making one of its own.
 */
export interface Wording {
  readonly kind: ConsoleProblemKind
  readonly group: string
  readonly rank: number
  /** Anchored at the message's start. Free of nested repetition: a line of any length takes linear time. */
  readonly pattern: RegExp
  /** True for words that a program may say too: they count only in the kernel's log. */
  readonly onlyLogged: boolean
}

/**
 * In order; the first that matches wins. Sources: Linux 4.19 to 7.x (kernel/panic.c, kernel/watchdog.c,
 * kernel/hung_task.c, kernel/rcu/tree_stall.h, mm/oom_kill.c, arch/x86/mm/fault.c, arch/x86/kernel/dumpstack.c,
 * kernel/locking/lockdep.c), systemd 229 to 260 (src/core/transaction.c, units/emergency.service.in), sulogin of
 * util-linux, initramfs-tools and dracut.
 */
export const WORDINGS: readonly Wording[] = [
  // Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000300
  step('panic', 'panic', 0, /^Kernel panic - not syncing(?::|$)/),
  // ---[ end Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000300 ]---
  step('panic', 'panic', 1, /^---\[ end Kernel panic - not syncing/),

  // watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [insmod:78]
  step('soft-lockup', 'soft-lockup', 0, /^(?:watchdog: )?BUG: soft lockup - CPU#\d+ stuck for /),
  // watchdog: Watchdog detected hard LOCKUP on cpu 2
  // 6.14: watchdog: CPU2: Watchdog detected hard LOCKUP on cpu 2
  step('hard-lockup', 'hard-lockup', 0, /^(?:NMI )?watchdog: (?:CPU\d+: )?Watchdog detected hard LOCKUP on cpu/),
  // rcu: INFO: rcu_preempt self-detected stall on CPU
  // rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 3-...D } 444555 jiffies s: 81 root: 0x1/.
  step(
    'rcu-stall',
    'rcu-stall',
    0,
    /^(?:rcu: )?INFO: rcu\w* (?:self-detected stall|detected (?:expedited )?stalls?) on /,
  ),
  // INFO: task kworker/0:1:80 blocked for more than 120 seconds.
  step('hung-task', 'hung-task', 0, /^INFO: task .{1,80}:\d+ blocked .{0,40}for more than \d+ seconds/),

  // BUG: kernel NULL pointer dereference, address: 0000000000000000
  // BUG: unable to handle page fault for address: ffffc90000000000
  step('oops', 'die', 0, /^BUG: (?:kernel NULL pointer dereference|unable to handle )/),
  // arm64, riscv: Unable to handle kernel NULL pointer dereference at virtual address 0000000000000000
  step('oops', 'die', 0, /^Unable to handle kernel /),
  // kernel BUG at mm/slub.c:4421!
  step('bug', 'die', 0, /^kernel BUG at \S+:\d+!/),
  // Oops: 0002 [#1] PREEMPT SMP NOPTI
  // 6.10: Oops: general protection fault, probably for non-canonical address 0xdead000000000000: 0000 [#1] SMP NOPTI
  // arm64: Internal error: Oops: 0000000096000004 [#1] SMP
  step('oops', 'die', 1, /^(?:Oops|Internal error)\b[^[]*\[#\d+\]/),
  // general protection fault, probably for non-canonical address 0xdead000000000000: 0000 [#1] PREEMPT SMP NOPTI
  step('oops', 'die', 1, /^(?:general protection fault|invalid opcode|divide error)\b[^[]*: [0-9a-f]{4,16} \[#\d+\]/),
  // stack segment: 0000 [#1] SMP                              any other text that die() of x86 gets
  logged('oops', 'die', 1, /^[a-z][^[]*: [0-9a-f]{4,16} \[#\d+\]/i),

  // BUG: scheduling while atomic: insmod/78/0x00000002
  // BUG: KASAN: slab-out-of-bounds in kmalloc_oob_right+0x159/0x260
  step('bug', 'bug', 0, /^BUG: (?:K[A-Z]{2,3}SAN: |KFENCE: |Bad (?:page|rss)|scheduling while atomic: )/),
  step('bug', 'bug', 0, /^BUG: (?:sleeping function called from invalid context|workqueue lockup - pool)/),
  logged('bug', 'bug', 0, /^BUG: /),
  // lockdep: [ BUG: Invalid wait context ]
  logged('bug', 'bug', 0, /^\[ BUG: .*\]$/),
  // UBSAN: array-index-out-of-bounds in drivers/net/foo.c:123:4
  step('bug', 'bug', 0, /^UBSAN: [a-z-]+ in \S+:\d+/),

  // WARNING: CPU: 0 PID: 78 at drivers/base/core.c:1284 device_del+0x1d7/0x220
  step('warning', 'warning', 0, /^WARNING: CPU: \d+ PID: \d+ at /),
  // 6.19: WARNING: kernel/sched/core.c:8511 at sched_init+0x20/0x410, CPU#0: swapper/0/0
  // 6.19 with details: WARNING: [ptr == 0 && 1] kernel/sched/core.c:8511 at sched_init+0x20/0x410, CPU#0: swapper/0/0
  step('warning', 'warning', 0, /^WARNING: (?=.*\bat \S)(?=.*, CPU#\d+: \S)/),
  // lockdep: WARNING: possible circular locking dependency detected
  logged(
    'warning',
    'warning',
    0,
    /^WARNING: (?:possible |inconsistent lock state|bad unlock balance|lock held |held lock )/,
  ),
  logged(
    'warning',
    'warning',
    0,
    /^WARNING: (?:suspicious RCU usage|Nested lock |[A-Z]*IRQ-safe|stack recursion|kernel stack )/,
  ),

  // stress invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE|__GFP_COMP|__GFP_ZERO), order=0, oom_score_adj=0
  step('oom', 'oom', 0, /^\S.{0,64} invoked oom-killer: gfp_mask=/),
  // Out of memory: Killed process 78 (stress) total-vm:196432kB, anon-rss:194588kB, …
  step(
    'oom',
    'oom',
    1,
    /^(?:Out of memory|Memory cgroup out of memory)(?: \([a-z_]{1,64}\))?: Kill(?:ed)? process \d+ \(/,
  ),

  // cat[78]: segfault at 8 ip 0000000000401969 sp 00007fff102ccf90 error 6 in cat[401000+96000]
  step('segfault', 'segfault', 0, /^\S.{0,64}\[\d+\]: segfault(?: \(\d+\))? at [0-9a-f]+ \w+ /),
  // traps: cat[79] general protection fault ip:401996 sp:7fff102ccf90 error:0 in cat[401000+96000]
  // traps: cat[80] trap invalid opcode ip:401988 sp:7fff102ccf90 error:0 in cat[401000+96000]
  step('segfault', 'segfault', 0, /^traps: .{1,64}\[\d+\] (?:general protection fault|trap [a-z ]{1,40}) ip:/),
  // arm64: cat[78]: unhandled exception: DABT (lower EL), ESR 0x0000000092000006, level 2 translation fault in cat[…]
  step('segfault', 'segfault', 0, /^\S.{0,64}\[\d+\]: unhandled (?:exception: |signal \d|level \d )/),

  // [  OK  ] Started emergency.service - Emergency Shell.
  // systemd[1]: Reached target Emergency Mode.
  step('emergency-shell', 'shell', 0, statusOf(/(?:Started|Reached target)/, /(?:Emergency|Rescue) (?:Shell|Mode)/)),
  // You are in emergency mode. After logging in, type "journalctl -xb" to view
  step('emergency-shell', 'shell', 0, /^You are in (?:emergency|rescue) mode\./),
  // initramfs-tools: ALERT!  UUID=6b0cc5d4 does not exist.  Dropping to a shell!
  step('emergency-shell', 'shell', 0, /^ALERT! .{0,400}Dropping to a shell!/),
  // dracut: Entering emergency mode. Exit the shell to continue.
  step('emergency-shell', 'shell', 0, /^Entering emergency mode\. Exit the shell to continue\./),
  // sulogin: Give root password for maintenance
  step('emergency-shell', 'shell', 0, /^(?:Give root password|Press Enter) for maintenance/),
  // sulogin: Cannot open access to console, the root account is locked.
  step('emergency-shell', 'shell', 0, /^Cannot open access to console, the root account is locked\./),
  // the prompt of initramfs-tools' busybox
  step('emergency-shell', 'shell', 0, /^\(initramfs\)(?: |$)/),

  // systemd[1]: a.service: Found ordering cycle on b.service/start
  // 258: systemd[1]: a.service: Found ordering cycle: b.service/start after a.service/start - after b.service
  step('ordering-cycle', 'cycle', 0, /^systemd\[\d+\]: .{0,512}Found ordering cycle(?: on |: )/),
  // before 235: systemd[1]: a.service: Breaking ordering cycle by deleting job b.service/start
  step('ordering-cycle', 'cycle', 1, /^systemd\[\d+\]: .{0,512}Breaking ordering cycle by deleting job /),
  // systemd[1]: a.service: Job b.service/start deleted to break ordering cycle starting with a.service/start
  step('ordering-cycle', 'cycle', 2, /^systemd\[\d+\]: .{0,512} deleted to break ordering cycle/),
  // systemd[1]: a.service: Unable to break cycle starting with a.service/start
  step('ordering-cycle', 'cycle', 2, /^systemd\[\d+\]: .{0,512}Unable to break cycle/),
  // [ SKIP ] Ordering cycle found, skipping b.service
  step('ordering-cycle', 'cycle', 3, /^\[ *SKIP *\] Ordering cycle found, skipping /),
]

// Words of which every wording has at least one: most lines of a console need no closer look.
const HINT =
  /panic|BUG|LOCKUP|INFO: |Unable to|\[#|UBSAN|WARNING|oom-killer|ut of memory|segfault|traps|unhandled|mergency|escue|ALERT|maintenance|root account|initramfs|ycle/

/** The first wording that a message matches. */
export function wordingOf(text: string, inKernelLog: boolean): Wording | undefined {
  if (!HINT.test(text)) return undefined
  return WORDINGS.find(({ pattern, onlyLogged }) => (inKernelLog || !onlyLogged) && pattern.test(text))
}

function step(kind: ConsoleProblemKind, group: string, rank: number, pattern: RegExp): Wording {
  return { kind, group, rank, pattern, onlyLogged: false }
}

function logged(kind: ConsoleProblemKind, group: string, rank: number, pattern: RegExp): Wording {
  return { kind, group, rank, pattern, onlyLogged: true }
}

/** systemd's word on a unit: with the unit's name from 250 on, and from the log instead of the status output. */
function statusOf(verb: RegExp, description: RegExp): RegExp {
  return new RegExp(
    `^(?:\\[ *OK *\\]|systemd\\[1\\]:) ${verb.source} (?:(?:emergency|rescue)\\.\\w+ - )?${description.source}\\.?$`,
  )
}
