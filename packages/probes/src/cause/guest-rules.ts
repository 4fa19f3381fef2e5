import { type ConsoleProblemKind, wordingOf } from '../kernel/problem-wordings.ts'
import type { ReadEvidence, SaidLine } from './read-evidence.ts'
import { anyOf, type CauseRule, consoleSays, fact, type Found, kernelSays, messageSays } from './rule.ts'

/** How a guest ends or stops of itself, strongest first; they stand behind the reasons that a boot may have for it. */
export const GUEST_RULES: readonly CauseRule[] = [
  {
    id: 'guest-panic',
    source: 'Linux arch/x86/kernel/dumpstack.c and others: a crash with oops=panic, or in an interrupt or in init',
    confidence: 'said',
    find: (read) => crashBefore(/^Kernel panic - not syncing: Fatal exception/, read),
    sentence: ([words]) => `The guest's kernel crashed and panicked: ${words}.`,
    remedy: 'Read the trace behind that line on the console, and compare with a kernel that works.',
  },
  {
    id: 'guest-panic',
    source: 'Linux kernel/exit.c, as in recordings of 6.1 and 6.12',
    confidence: 'said',
    // Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000300
    find: kernelSays(/^Kernel panic - not syncing: Attempted to kill init! exitcode=0x([0-9a-f]{8})/),
    sentence: ([, status = '']) => `The guest's first process ended (${exitWords(status)}), so its kernel panicked.`,
    remedy: 'Read what the init printed last; a guest that is done should power off instead of ending its init.',
  },
  {
    id: 'guest-panic',
    source: 'Linux kernel/panic.c',
    confidence: 'said',
    find: kernelSays(/^(?:---\[ end )?Kernel panic - not syncing(?:: (.*?))?(?: \]---)?$/),
    sentence: ([, words]) => `The guest's kernel panicked${words ? `: ${words}` : ''}.`,
    remedy: 'Read the lines before and behind the panic on the console.',
  },
  {
    id: 'guest-panic',
    source: 'the runtime, which heard it from the console or the pvpanic device',
    confidence: 'said',
    find: fact(({ facts: { code, lastMark } }) => {
      if (code === 'ERR_BOX_PANIC') return `the error's code is ${code}`
      return lastMark === 'guest-panic' ? 'the last mark is guest-panic' : undefined
    }),
    sentence: () => "The guest's kernel panicked, and the console at hand does not say of what.",
    remedy: "Read the record's console.bin, and add `console=ttyS0` to `cmdline` if it is empty.",
  },
  {
    id: 'guest-oom',
    source: 'Linux mm/oom_kill.c, as in recordings of 6.1 and 6.12; 4.x says Kill',
    confidence: 'said',
    // Out of memory: Killed process 78 (stress) total-vm:196432kB, …
    find: kernelSays(/^Out of memory.{0,80}: Kill(?:ed)? process (\d+) \(([^)]*)\)/),
    sentence: ([, pid, name]) => `The guest ran out of memory and its kernel killed ${name} (process ${pid}).`,
    remedy: 'Raise `memoryMib`.',
  },
  {
    id: 'guest-oom',
    source: 'Linux mm/oom_kill.c: a limit inside the guest',
    confidence: 'said',
    find: kernelSays(/^Memory cgroup out of memory.{0,80}: Kill(?:ed)? process (\d+) \(([^)]*)\)/),
    sentence: ([, pid, name]) =>
      `A memory limit inside the guest was reached and its kernel killed ${name} (process ${pid}).`,
    remedy: 'Raise the limit of that unit or container in the guest; more memory for the guest does not change it.',
  },
  {
    id: 'disk-full',
    source: 'Linux block/blk-core.c, fs/ext4/inode.c; strerror(ENOSPC) behind words of systemd; errno 28',
    confidence: 'said',
    // critical space allocation error, dev vda, sector 1454720 op 0x1:(WRITE) flags 0x0 phys_seg 7 prio class 2
    // EXT4-fs (vda1): Delayed block allocation failed for inode 12 at logical offset 0 with max blocks 2048 with error 28
    // systemd-journald[98]: Failed to open system journal: No space left on device
    find: anyOf(
      kernelSays(/^(?:blk_update_request: )?critical space allocation error, dev \S+/),
      kernelSays(/^EXT4-fs \(\S+\): Delayed block allocation failed for inode .* with error 28$/),
      consoleSays(/^(?:\S{1,64} )?systemd(?:-[a-z]+)?\[\d+\]: .*: No space left on device$/),
      fact(({ facts: { code, errno } }) =>
        code === 'ERR_BOX_REFUSED' && errno === 28 ? 'the agent could not write: errno 28 (ENOSPC)' : undefined,
      ),
      // cannot write /small/data: No space left on device (os error 28)
      messageSays(/^cannot write .*: No space left on device \(os error 28\)$/, {
        given: ({ facts: { code } }) => code === 'ERR_BOX_REFUSED',
      }),
    ),
    sentence: () => 'A file system of the guest is full.',
    remedy: 'Give a larger disk in `disks`, or more `memoryMib` where the full one lives in memory (tmpfs, overlay).',
  },
  {
    id: 'guest-oops',
    source:
      'Linux arch/x86/kernel/dumpstack.c, arch/x86/mm/fault.c, kernel/watchdog.c, as in recordings of 6.1 and 6.12',
    confidence: 'inferred',
    // A crash without panic kills one task; what is waited for then may never come.
    // BUG: kernel NULL pointer dereference, address: 0000000000000000
    find: (read) =>
      waitedInVain(read) ? firstOf(['oops', 'bug', 'soft-lockup', 'hard-lockup'], read.kernel) : undefined,
    sentence: ([words]) => `The guest's kernel crashed or hung in one task and went on: ${words}.`,
    remedy: 'Read the trace behind that line on the console, and compare with a kernel that works.',
  },
  {
    id: 'emergency-shell',
    source: 'the wordings of emergency shells: systemd, sulogin, initramfs-tools, dracut',
    confidence: 'said',
    find: ({ console }) => firstOf(['emergency-shell'], console),
    sentence: () => 'The guest gave up booting and went to an emergency shell.',
    remedy: 'Read the lines before it on the console for the unit or mount that failed.',
  },
]

const VAIN_CODES = [
  'ERR_BOX_TIMEOUT',
  'ERR_BOX_AGENT',
  'ERR_BOX_EXEC_TIMEOUT',
  'ERR_BOX_EXEC_ABORTED',
  'ERR_BOX_ABORTED',
]

/** Nothing ended; what was waited for just did not come. */
function waitedInVain({ facts: { code } }: ReadEvidence): boolean {
  return code !== undefined && VAIN_CODES.includes(code)
}

/** The first crash report where the kernel panicked because of one, else the panic itself. */
function crashBefore(panic: RegExp, read: ReadEvidence): Found | undefined {
  const panicked = kernelSays(panic)(read)
  const at = panicked?.evidence.line
  if (at === undefined) return undefined
  return (
    firstOf(
      ['oops', 'bug'],
      read.kernel.filter(({ line }) => line < at),
    ) ?? panicked
  )
}

function firstOf(kinds: readonly ConsoleProblemKind[], lines: readonly SaidLine[]): Found | undefined {
  for (const { text, line } of lines) {
    const wording = wordingOf(text, true)
    if (wording !== undefined && kinds.includes(wording.kind)) {
      return { evidence: { source: 'console', text, line }, parts: [text] }
    }
  }
  return undefined
}

/** The status of wait(2): the signal in the low seven bits, else the exit code in the second byte. */
function exitWords(hex: string): string {
  const status = Number.parseInt(hex, 16)
  const signal = status & 0x7f
  return signal === 0 ? `exit code ${(status >> 8) & 0xff}` : `signal ${signal}`
}
