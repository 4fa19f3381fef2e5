import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type BootEvidence, type CauseId, likelyCause, likelyCauses } from '../../src/index.ts'

const FOLDER = new URL('../fixtures/console/', import.meta.url)

function recorded(name: string): Uint8Array {
  return readFileSync(new URL(`${name}.console`, FOLDER))
}

function ids(evidence: BootEvidence): CauseId[] {
  return likelyCauses(evidence).map(({ id }) => id)
}

/** Kernel lines, stamped as on a console. */
function stamped(...lines: string[]): string {
  return ['Linux version 6.1.0', ...lines].map((line, at) => `[    ${at}.000000] ${line}\r\n`).join('')
}

const NO_ROOT = 'Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)'
const NO_INIT =
  'Kernel panic - not syncing: No working init found.  Try passing init= option to kernel. See Linux Documentation/admin-guide/init.rst for guidance.'

describe('recordings', () => {
  it.each<[string, CauseId[], string]>([
    [
      'linux-6.12-noroot',
      ['no-root', 'guest-panic'],
      'Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)',
    ],
    ['linux-6.1-exit', ['guest-panic'], 'Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000300'],
    [
      'linux-6.1-exit-panic0',
      ['guest-panic'],
      'Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000300',
    ],
    ['linux-6.1-null-panic1', ['guest-panic'], 'BUG: kernel NULL pointer dereference, address: 0000000000000000'],
    ['linux-6.1-sysrq', ['guest-panic'], 'Kernel panic - not syncing: sysrq triggered crash'],
  ])('%s: %j', (name, expected, text) => {
    expect(ids({ code: 'ERR_BOX_PANIC', console: recorded(name) })).toEqual(expected)
    const evidence = likelyCause({ console: recorded(name) })?.evidence
    expect(evidence).toMatchObject({ source: 'console', text })
    const line = new TextDecoder().decode(recorded(name)).split('\n')[(evidence?.line ?? 0) - 1]
    expect(line).toContain(text)
  })

  it.each(['linux-6.1-oom', 'linux-6.12-oom'])('%s: a process was killed for memory', (name) => {
    const [cause] = likelyCauses({ code: 'ERR_BOX_TIMEOUT', console: recorded(name) })
    expect(cause).toMatchObject({ id: 'guest-oom', confidence: 'said' })
    expect(cause?.evidence.text).toMatch(/^Out of memory: Killed process \d+ \(/)
  })

  it.each([
    'linux-6.1-whole-boot',
    'linux-6.12-whole-boot',
    'linux-6.1-warn',
    'linux-6.1-segv',
    'linux-6.1-null',
    'linux-6.1-hung',
    'systemd-252-nasty',
    'systemd-257-quiet',
  ])('%s: explains no failure', (name) => {
    expect(ids({ code: 'ERR_BOX_ENGINE_EXITED', exit: { code: 1 }, console: recorded(name) })).toEqual([])
  })

  it('names the exit code with which the init ended', () => {
    expect(likelyCause({ console: recorded('linux-6.1-exit') })?.sentence).toContain('(exit code 3)')
  })
})

// Wordings of the sources that each rule names and of logs in public trackers; those above are recordings.
const KERNEL: readonly (readonly [CauseId, readonly string[]])[] = [
  ['guest-oom', ['Initramfs unpacking failed: write error', NO_ROOT]],
  [
    'guest-oom',
    ['Out of memory and no killable processes...', 'Kernel panic - not syncing: System is deadlocked on memory'],
  ],
  ['guest-oom', ['Kernel panic - not syncing: Out of memory and no killable processes...']],
  ['guest-oom', ['Kernel panic - not syncing: Out of memory: compulsory panic_on_oom is enabled']],
  [
    'guest-oom',
    [
      'Out of memory: Killed process 1 (init) total-vm:196432kB, anon-rss:194588kB',
      'Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000009',
    ],
  ],
  ['guest-oom', ['Out of memory: Kill process 78 (stress) score 900 or sacrifice child']],
  ['guest-oom', ['Memory cgroup out of memory: Killed process 78 (stress) total-vm:196432kB']],
  ['wrong-architecture', ['Failed to execute /init (error -8)', NO_ROOT]],
  ['wrong-architecture', ["Starting init: /sbin/init exists but couldn't execute it (error -8)", NO_INIT]],
  ['wrong-architecture', ['Kernel panic - not syncing: Requested init /bin/x failed (error -8).']],
  [
    'missing-driver',
    [
      'No filesystem could mount root, tried:  ext3 ext2 ext4',
      'Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(254,1)',
    ],
  ],
  ['no-init', ['Run /sbin/init as init process', NO_INIT]],
  ['no-init', ['Kernel panic - not syncing: No init found.  Try passing init= option to kernel.']],
  ['no-init', ['Kernel panic - not syncing: Requested init /nope failed (error -2).']],
  ['no-root', ['VFS: Cannot open root device "vda1" or unknown-block(0,0): error -6', NO_ROOT]],
  ['no-root', ['Kernel panic - not syncing: VFS: Unable to mount root fs on "/dev/vda1" or unknown-block(0,0)']],
  ['guest-panic', ['Kernel panic - not syncing: stack-protector: Kernel stack is corrupted in: foo+0x1/0x2']],
  ['guest-panic', ['Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b']],
  ['guest-panic', ['Kernel panic - not syncing: Fatal exception in interrupt']],
  [
    'disk-full',
    ['critical space allocation error, dev vda, sector 1454720 op 0x1:(WRITE) flags 0x0 phys_seg 7 prio class 2'],
  ],
  [
    'disk-full',
    [
      'EXT4-fs (vda1): Delayed block allocation failed for inode 12 at logical offset 0 with max blocks 2048 with error 28',
    ],
  ],
]

describe('the words of the kernel', () => {
  it.each(KERNEL)('%s: %j', (id, lines) => {
    expect(likelyCause({ console: stamped(...lines) })?.id).toBe(id)
  })

  it.each(KERNEL)('without stamps, %s: %j', (id, lines) => {
    expect(likelyCause({ console: lines.join('\n') })?.id).toBe(id)
  })

  it.each(KERNEL)('count for nothing when a program says them between stamped lines, %s: %j', (_, lines) => {
    const said = ['[    0.000000] Linux version 6.1.0', ...lines].join('\n')
    expect(ids({ console: said })).toEqual([])
  })

  it.each(KERNEL)('count for nothing in quotes or behind a name, %s: %j', (_, lines) => {
    expect(ids({ console: stamped(...lines.map((line) => `"${line}"`)) })).toEqual([])
    expect(ids({ console: stamped(...lines.map((line) => `myapp[12]: ${line}`)) })).toEqual([])
  })

  it('of a root that comes late count only while the kernel waits for it', () => {
    const waiting = ['Waiting for root device /dev/vda1...']
    expect(likelyCause({ code: 'ERR_BOX_TIMEOUT', console: stamped(...waiting) })?.id).toBe('no-root')
    expect(ids({ code: 'ERR_BOX_KILLED', console: stamped(...waiting) })).toEqual([])
    const came = [...waiting, 'VFS: Mounted root (ext4 filesystem) readonly on device 254:1.']
    expect(ids({ code: 'ERR_BOX_TIMEOUT', console: stamped(...came) })).toEqual([])
  })
})

describe('a module that the agent needs', () => {
  // A recording of 6.1 with module_blacklist=virtio_console.
  const console = stamped('Run /init as init process', 'Module virtio_console is blacklisted')
  const late: BootEvidence = { code: 'ERR_BOX_TIMEOUT', lastMark: 'agent-up', console }

  it('was kept from being loaded', () => {
    expect(likelyCause(late)).toMatchObject({ id: 'missing-driver', confidence: 'said' })
    expect(likelyCause(late)?.sentence).toContain('virtio_console')
  })

  it.each<[string, BootEvidence]>([
    ['the agent was there', { ...late, lastMark: 'agent-ready' }],
    ['it was no deadline', { ...late, code: 'ERR_BOX_KILLED' }],
    ['it is another module', { ...late, console: stamped('Module nouveau is blacklisted') }],
  ])('is not the cause if %s', (_, evidence) => {
    expect(ids(evidence)).toEqual([])
  })
})

describe('a crash in one task', () => {
  const console = recorded('linux-6.1-null')

  it.each(['ERR_BOX_TIMEOUT', 'ERR_BOX_AGENT', 'ERR_BOX_EXEC_TIMEOUT', 'ERR_BOX_EXEC_ABORTED'])(
    'may be what %s waited for in vain',
    (code) => {
      expect(likelyCause({ code, console })).toMatchObject({
        id: 'guest-oops',
        confidence: 'inferred',
        evidence: { text: 'BUG: kernel NULL pointer dereference, address: 0000000000000000' },
      })
    },
  )

  it.each(['linux-6.1-bug', 'linux-6.1-gpf', 'linux-6.1-soft', 'linux-6.12-null', 'linux-6.12-soft'])('%s', (name) => {
    expect(ids({ code: 'ERR_BOX_TIMEOUT', console: recorded(name) })).toEqual(['guest-oops'])
  })

  it.each(['linux-6.1-warn', 'linux-6.1-warnon', 'linux-6.1-segv', 'linux-6.1-whole-boot'])('%s is none', (name) => {
    expect(ids({ code: 'ERR_BOX_TIMEOUT', console: recorded(name) })).toEqual([])
  })

  it('explains no end, and not what a program prints', () => {
    expect(ids({ code: 'ERR_BOX_POWERED_OFF', console })).toEqual([])
    const said = '[    0.000000] Linux version 6.1.0\nBUG: kernel NULL pointer dereference, address: 0\n'
    expect(ids({ code: 'ERR_BOX_TIMEOUT', console: said })).toEqual([])
  })

  it('stands behind a kill for memory', () => {
    const both = stamped(
      'BUG: unable to handle page fault for address: 0',
      'Out of memory: Killed process 7 (a) total-vm:1kB',
    )
    expect(ids({ code: 'ERR_BOX_TIMEOUT', console: both })).toEqual(['guest-oom', 'guest-oops'])
  })
})

const USER_SPACE: readonly (readonly [CauseId, string])[] = [
  ['no-root', 'ALERT!  UUID=6b0cc5d4-1c5b-4d0c does not exist.  Dropping to a shell!\n\n(initramfs) '],
  ['no-root', 'ALERT! /dev/hda1 does not exist.  Dropping to a shell!\n'],
  [
    'no-root',
    '[  222.2] x\n[  222.236717] dracut-initqueue[337]: Warning: /dev/mapper/dom0-root does not exist\n' +
      '\nGenerating "/run/initramfs/rdsosreport.txt"\n\nEntering emergency mode. Exit the shell to continue.\n',
  ],
  ['no-root', 'Warning: /dev/disk/by-uuid/1234 does not exist\n\nGenerating "/run/initramfs/rdsosreport.txt"\n'],
  ['no-root', '[DEPEND] Dependency failed for sysroot.mount - /sysroot.\n'],
  ['no-root', '[\u001b[0;1;38;5;185mDEPEND\u001b[0m] Dependency failed for \u001b[0;1;39m/sysroot\u001b[0m.\r\n'],
  ['no-root', '[DEPEND] Dependency failed for Initrd Root Device.\n'],
  ['no-root', '[  345.255798] systemd[1]: Dependency failed for initrd-root-device.target - Initrd Root Device.\n'],
  [
    'missing-driver',
    'mount: mounting /dev/vda1 on /root failed: No such device\n' +
      "Target filesystem doesn't have requested /sbin/init.\nNo init found. Try passing init= bootarg.\n",
  ],
  ['missing-driver', "[   10.600000] mount[597]: mount: /sysroot: unknown filesystem type 'xfs'.\n"],
  ['missing-driver', 'boxlab: no virtio port named boxlab.agent: is virtio_console in the kernel or the initramfs?\n'],
  ['no-init', '(initramfs) No init found. Try passing init= bootarg.\n'],
  [
    'no-init',
    "[    3.1] x\nFailed to switch root: Specified switch root path '/sysroot' does not seem to be an OS tree. os-release file is missing.\n",
  ],
  ['wrong-architecture', 'This kernel requires an x86-64 CPU, but only detected an i686 CPU.\n'],
  ['disk-full', '[    5.700000] systemd-journald[98]: Failed to open system journal: No space left on device\n'],
  ['emergency-shell', 'You are in emergency mode. After logging in, type "journalctl -xb" to view\n'],
  [
    'emergency-shell',
    '[\u001b[0;32m  OK  \u001b[0m] Started \u001b[0;1;39memergency.service\u001b[0m - Emergency Shell.\r\n',
  ],
  ['emergency-shell', 'Give root password for maintenance\n'],
]

describe('the words of initramfs, systemd and agent', () => {
  it.each(USER_SPACE)('%s: %j', (id, console) => {
    expect(likelyCause({ console })).toMatchObject({ id, evidence: { source: 'console' } })
  })

  it('name the missing root before the shell that it ended in', () => {
    const console = 'ALERT!  /dev/vda9 does not exist.  Dropping to a shell!\n(initramfs) '
    expect(ids({ console })).toEqual(['no-root', 'emergency-shell'])
    expect(likelyCause({ console })?.sentence).toContain('/dev/vda9')
  })

  it.each([
    'modprobe: FATAL: Module zram not found in directory /lib/modules/6.1.0-57-cloud-amd64',
    'modprobe: WARNING: Module lp not found in directory /lib/modules/6.12.0',
    "[    1.000000] systemd-modules-load[99]: Failed to find module 'lp'",
    '[    1.000000] WARNING: CPU: 0 PID: 78 at drivers/base/core.c:1284 device_del+0x1d7/0x220',
    "mount: /mnt/usb: unknown filesystem type 'exfat'.",
    'mount: mounting /dev/vdb on /mnt failed: No such device',
    'mount: mounting /dev/vda1 on /root failed: Invalid argument',
    '[DEPEND] Dependency failed for boot-efi.mount - /boot/efi.',
    '[DEPEND] Dependency failed for n-dep.service.',
    '[ TIME ] Timed out waiting for device dev-nope2.device - /dev/nope2.',
    '[  OK  ] Stopped target Emergency Mode.',
    'Warning: /dev/dri does not exist',
    'myapp: write failed: No space left on device',
    '[    1.000000] Failed to execute /init (error -2)',
    '[    1.000000] Failed to execute /init (error -8)',
    "[    1.000000] Starting init: /sbin/init exists but couldn't execute it (error -8)",
    '[    1.000000] No filesystem could mount root, tried:  ext4',
    '[    1.000000] oom_reaper: reaped process 78 (stress), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB',
    '[    1.000000] stress invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE), order=0',
    'The docs say: "Kernel panic - not syncing: VFS: Unable to mount root fs"',
    'kernel: Unpacking initramfs...',
  ])('%s: explains nothing', (line) => {
    expect(ids({ code: 'ERR_BOX_ENGINE_EXITED', console: `[    0.000000] Linux version 6.1.0\n${line}\n` })).toEqual([])
  })

  it('are no cause for what happens after the agent was ready', () => {
    const console = 'boxlab: no virtio port named boxlab.agent: is virtio_console in the kernel or the initramfs?\n'
    expect(ids({ console, lastMark: 'agent-ready' })).toEqual([])
  })
})

describe('where only the error speaks', () => {
  it('a panic without a console is a panic', () => {
    expect(likelyCause({ code: 'ERR_BOX_PANIC' })).toMatchObject({ id: 'guest-panic', evidence: { source: 'fact' } })
    expect(likelyCause({ lastMark: 'guest-panic', console: '' })?.id).toBe('guest-panic')
  })

  it('a file that the agent could not write for a full disk tells of the guest', () => {
    const message = 'cannot write /small/data: No space left on device (os error 28)'
    expect(likelyCause({ code: 'ERR_BOX_REFUSED', message })?.sentence).toContain('guest')
    expect(
      ids({ code: 'ERR_BOX_REFUSED', message: 'cannot write /small/data: Permission denied (os error 13)' }),
    ).toEqual([])
  })

  it('a program that could not be run for its format is of another architecture', () => {
    expect(likelyCause({ code: 'ERR_BOX_REFUSED', errno: 8 })).toMatchObject({
      id: 'wrong-architecture',
      confidence: 'inferred',
    })
    expect(ids({ code: 'ERR_BOX_REFUSED', errno: 2 })).toEqual([])
  })
})
