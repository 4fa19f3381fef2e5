import { homedir } from 'node:os'
import type { BoxError } from '@boxlab/harness'

/** One failure of the page. */
export interface Section {
  /** The cause's name. */
  readonly cause: string
  /** What was asked for, as code, and what else made it fail. */
  readonly call: string
  readonly where?: string
  /** One or two sentences: what to do. */
  readonly advice: string
  /** True for what fails in a box that booted. */
  readonly command?: true
}

/** In the order of the page: the host, the options, the guest, time. */
export const sections: readonly Section[] = [
  {
    cause: 'no-kvm',
    call: "bootBox({ accel: 'kvm' })",
    where: 'with BOXLAB_KVM=/dev/no-kvm',
    advice:
      "A suite that measures should ask for `accel: 'kvm'` and fail like this; one that only tests can take `'auto'`.",
  },
  {
    cause: 'emulated-kvm',
    call: "bootBox({ accel: 'kvm' })",
    where: 'in a VM whose provider emulates guest kernels',
    advice:
      "KVM answers here, but is slower than TCG. `'auto'` takes TCG, and says so in `box.info()` and in the record.",
  },
  {
    cause: 'engine-oom-killed',
    call: 'bootBox({ engine })',
    where: 'an engine in a memory cgroup of 64 MiB',
    advice:
      'The line behind `seen` is of the host\'s kernel log. Where that may not be read, the counters of /proc/vmstat and of the cgroup decide, and the cause says "most likely".',
  },
  {
    cause: 'no-host-memory',
    call: 'bootBox({ engine, memoryMib: 4096 })',
    where: 'an engine under `ulimit -v 3000000`',
    advice:
      'What one box may have is also bounded by `limitHost` and BOXLAB_MAX_MEMORY_MIB: those refuse it before the start.',
  },
  {
    cause: 'disk-full',
    call: 'bootBox({ record: { dir } })',
    where: 'a folder on a full file system',
    advice:
      'A record with a hole proves nothing, so the boot fails. Records of failed boots stay until somebody removes them: `records/` below the state root is the first place to look.',
  },
  {
    cause: 'port-or-file-busy',
    call: "bootBox({ devices: { extra: ['-drive', 'file=data.img,…'] } })",
    where: 'twice',
    advice: '`disks` never writes to its files and so never locks them: give images there, not in `devices.extra`.',
  },
  {
    cause: 'bad-engine-option',
    call: "bootBox({ devices: { extra: ['-device', 'virtio-nothing'] } })",
    advice: "The engine's own words are in the sentence; all of them are in `engine.log` of the record.",
  },
  {
    cause: 'missing-file',
    call: "bootBox({ devices: { extra: ['-drive', 'file=/srv/data.img,…'] } })",
    advice: "Paths in `devices.extra` are the engine's: make them absolute.",
  },
  {
    cause: 'not-a-kernel',
    call: "bootBox({ kernel: 'vmlinux' })",
    where: 'a program for x86-64',
    advice: 'A `vmlinux` boots when it was built with CONFIG_PVH=y; a bzImage always does.',
  },
  {
    cause: 'wrong-architecture',
    call: "bootBox({ kernel: 'vmlinux' })",
    where: 'a kernel for 64-bit ARM',
    advice: '`file vmlinux` shows what it is for.',
  },
  {
    cause: 'wrong-architecture',
    call: "box.exec(['/tmp/tool'])",
    where: 'a program for 64-bit ARM',
    command: true,
    advice: 'The same in a guest: what was copied in is for another machine.',
  },
  {
    cause: 'missing-driver',
    call: "bootBox({ cmdline: 'module_blacklist=virtio_console' })",
    advice:
      'The agent needs virtio_console and the transport of the machine. Where nothing says why, it names the port that it misses after 30 s: give such a boot a longer `bootMs`.',
  },
  {
    cause: 'no-init',
    call: "bootBox({ cmdline: 'rdinit=/dev init=/sbin/nothing' })",
    advice:
      'The lines before the panic name each program that was tried, with its error: -2 is missing, -8 is not for this machine, -13 is not executable.',
  },
  {
    cause: 'no-root',
    call: "bootBox({ cmdline: 'rdinit=/nothing root=/dev/vda1' })",
    advice:
      '`unknown-block(0,0)` says that there is no such disk; other numbers say that the disk is there and no file system fits.',
  },
  {
    cause: 'guest-panic',
    call: "box.shell('echo c > /proc/sysrq-trigger')",
    command: true,
    advice: 'The console shows the lines around the cause; the whole trace is in `console.bin` of the record.',
  },
  {
    cause: 'guest-oom',
    call: "box.shell('tail /dev/zero; sleep 60', { timeoutMs: 8000 })",
    where: '192 MiB',
    command: true,
    advice:
      "Of a command only what the guest's kernel said while it ran is shown. The boot of its box is not the point.",
  },
  {
    cause: 'disk-full',
    call: "box.files.write('/small/data', …)",
    where: 'a file system of 64 KiB',
    command: true,
    advice: 'Files of a bare box live in its memory: it takes a larger `memoryMib`, or a disk.',
  },
  {
    cause: 'guest-oops',
    call: 'bootBox()',
    where: 'whose kernel crashes in one task and goes on',
    advice:
      'From a recorded console: a kernel that crashes on request is not at hand. `oops=panic` in `cmdline` ends such a boot at once.',
  },
  {
    cause: 'emergency-shell',
    call: 'bootBox()',
    where: 'whose systemd cannot mount a file system',
    advice:
      'From the words of systemd and not from a boot: it takes the image of a distribution. The first line with FAILED tells why.',
  },
  {
    cause: 'silent-console',
    call: "bootBox({ boot: 'firmware', waitFor: Wait.forConsole('ready'), timeouts: { bootMs: 2500 } })",
    advice:
      'A firmware prints to the serial port only what it is told to. Check that `disks` and `firmware` hold what should boot.',
  },
  {
    cause: 'tcg-slow',
    call: "bootBox({ accel: 'tcg', cmdline: 'initcall_debug boot_delay=1 lpj=2000000', timeouts: { bootMs: 5000 } })",
    advice:
      'An emulated boot takes several times as long as one with KVM: a deadline for both must have room for that.',
  },
]

const introduction = `# What a failed boot says

Every failed boot, wait or command is a \`BoxError\`. Its message alone, as vitest's default reporter prints it, has what
is needed to go on; the same is in its fields, for programs. This page shows one error of each likely cause. They are
of real boots, written by \`npm run failures\`, and a boot test holds that they still have the cause
that is shown here. Only the console and the reproducing command are cut (…).

| line | field | says |
|---|---|---|
| the first | \`code\`, \`summary\` | what went wrong, in a sentence |
| likely cause | \`likelyCause\`, \`causeId\` | what most likely happened, and what to do; absent when nothing says so |
| seen | \`evidence\` | the line or fact that it rests on, where that is not shown anyhow |
| waited | \`waited\` | what each part of a wait saw |
| reached | \`stage\`, \`stageMs\`, \`lastMark\`, \`sinceMs\` | the [stage](record.md) that had begun and not ended |
| marks | \`lastMarks\`, \`failedMs\` | the last six, in milliseconds after \`start\` |
| engine | \`exit\` | how its process ended, where the sentence does not tell |
| record | \`record\` | the folder that \`boxlab show\` reads |
| reproduce | \`reproduce\` | a shell line that boots the same machine by hand |
| console | \`consoleTail\` | its last lines, or those around the likely cause |

A command that was refused or cut short has its sentence alone, unless the guest's kernel complained while it ran.
`

/** The whole page, from the errors by the names of {@link keyOf}. */
export function renderPage(errors: ReadonlyMap<string, BoxError>, scratch: string): string {
  const parts = sections.map((section) => {
    const error = errors.get(keyOf(section))
    if (error === undefined) throw new Error(`there is no error for ${keyOf(section)}`)
    const { cause, call, where, advice } = section
    const head = `## ${cause}${section.command ? ', in a box' : ''}\n\n\`${call}\`${where ? `, ${where},` : ''} fails with \`${error.code}\`:`
    return `${head}\n\n\`\`\`text\n${shown(error, scratch)}\n\`\`\`\n\n${advice}\n`
  })
  return [introduction, ...parts].join('\n')
}

/** One name for a boot and for a command with the same cause. */
export function keyOf({ cause, command }: Pick<Section, 'cause' | 'command'>): string {
  return command ? `command ${cause}` : cause
}

/** What must stay as it is on the page, whatever the times, paths and process ids: the code and the likely cause. */
export function essence(code: string, message: string): string {
  const cause = /^ {2}likely cause: (.*)$/m.exec(message)?.[1] ?? 'none'
  // Paths are of the scratch folder, numbers of processes.
  return `${code}: ${cause.replace(/\/[\w./-]+\//g, '…/').replace(/\d+/g, 'N')}`
}

/** The same of each section of a page, by {@link keyOf}. */
export function essencesOf(page: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const part of page.split(/^## /m).slice(1)) {
    const [, cause = '', inBox] = /^([\w-]+)(, in a box)?\n/.exec(part) ?? []
    const code = /fails with `(\w+)`:/.exec(part)?.[1] ?? ''
    const block = /```text\n([\s\S]*?)\n```/.exec(part)?.[1] ?? ''
    found.set(inBox ? `command ${cause}` : cause, essence(code, block))
  }
  return found
}

const consoleLines = 3
// Not the end of /dev/root.
const home = new RegExp(`(?<![\\w/])${homedir()}/`, 'g')
const lineChars = 150

/** The message without paths of this host, with a part of the console. */
function shown({ message, evidence }: BoxError, scratch: string): string {
  const [above = '', console] = message.replaceAll(scratch, '/tmp/suite').replaceAll(home, '~/').split('\n  console:\n')
  const head = above.replace(/^( {2}reproduce: .{90}).*$/m, '$1…')
  if (console === undefined) return head
  const lines = console.split('\n')
  const at = evidence === undefined ? -1 : lines.findIndex((line) => line.includes(evidence))
  const middle = at < 0 ? lines.length - consoleLines : at
  const from = Math.max(0, middle - consoleLines)
  const part = lines.slice(from, middle + consoleLines + 1).map((line) => cut(line))
  const before = from > 0 ? ['    …'] : []
  const after = middle + consoleLines + 1 < lines.length ? ['    …'] : []
  return [head, '  console:', ...before, ...part, ...after].join('\n')
}

function cut(line: string): string {
  return line.length > lineChars ? `${line.slice(0, lineChars)}…` : line
}
