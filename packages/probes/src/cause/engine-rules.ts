import type { ReadEvidence } from './read-evidence.ts'
import { anyOf, type CauseRule, engineSays, fact, type Found, hostSays, messageSays } from './rule.ts'

// Only what stands behind the program's name: `qemu-system-x86_64: -device x: …`; warnings stop nothing.
const QEMU = String.raw`^[\w.-]{1,64}: (?!.*\b(?:warning|info): )`
const GUEST_CODES = ['ERR_BOX_REFUSED', 'ERR_BOX_AGENT', 'ERR_BOX_EXEC_TIMEOUT', 'ERR_BOX_EXEC_ABORTED']
// Errors whose message may quote the host's system.
const HOST_CODES = ['ERR_BOX_RECORD', 'ERR_BOX_HOST_FILE', 'ERR_BOX_SPAWN', 'ERR_BOX_ENGINE_EXITED', 'ERR_BOX_QMP']
const SIGKILL = 9

/** Causes on the host, strongest first. Wordings of QEMU 7.2.22; the tests tell which were measured. */
export const ENGINE_RULES: readonly CauseRule[] = [
  {
    id: 'no-kvm',
    source: 'QEMU accel/kvm/kvm-all.c and accel/accel-system.c, 7.2; older ones write "failed to initialize KVM"',
    confidence: 'said',
    // Could not access KVM kernel module: Permission denied
    // qemu-system-x86_64: -accel kvm: failed to initialize kvm: Permission denied
    // kvm version too old
    // qemu-system-x86_64: -accel kvm: invalid accelerator kvm
    // ioctl(KVM_CREATE_VM) failed: 16 Device or resource busy
    find: anyOf(
      engineSays(/^Could not access KVM kernel module: (.+)/, { given: noneRuns }),
      engineSays(/^ioctl\(KVM_CREATE_VM\) failed: (.+)/, { given: noneRuns }),
      engineSays(/^(kvm version too old)/, { given: noneRuns }),
      engineSays(/\bfailed to initialize kvm: (.+)/i, { given: noneRuns }),
      engineSays(/^[\w.-]{1,64}: (?:-\S+ kvm\S*: )?(invalid accelerator kvm)$/, { given: noneRuns }),
    ),
    sentence: ([, reason]) => `The engine could not use KVM: ${reason}.`,
    remedy: ([, reason = '']) => kvmRemedy(reason),
  },
  {
    id: 'no-kvm',
    source: 'QMP query-kvm and the preflight',
    confidence: 'inferred',
    find: fact(({ facts: { code, accelerator, kvmVerdict } }) => {
      if (accelerator?.asked !== 'kvm' || accelerator.proved === 'kvm') return undefined
      if (code === 'ERR_BOX_ACCELERATOR') {
        if (accelerator.proved !== undefined) return `kvm was asked for and ${accelerator.proved} runs`
        // Refused before the start; a KVM that is there and emulates is another cause.
        return kvmVerdict === 'emulated' ? undefined : 'kvm was asked for and the preflight found no usable KVM'
      }
      const died = code === 'ERR_BOX_ENGINE_EXITED' || code === 'ERR_BOX_SPAWN'
      return kvmVerdict === 'unusable' && died ? 'kvm was asked for and the preflight found no usable KVM' : undefined
    }),
    sentence: () => 'KVM was asked for and this host does not give it.',
    remedy: "Run `boxlab doctor` to see what KVM lacks here, or let `accel: 'auto'` choose.",
  },
  {
    id: 'port-or-file-busy',
    source: 'QEMU block/file-posix.c, util/oslib-posix.c, util/qemu-sockets.c, net/tap-linux.c',
    confidence: 'said',
    // Failed to get "write" lock
    // Is another process using the image [d.img]?
    // qemu-system-x86_64: -qmp tcp:127.0.0.1:1: Failed to find an available port: Address already in use
    // qemu-system-x86_64: cannot create PID file: Cannot lock pid file: Resource temporarily unavailable
    find: anyOf(
      engineSays(/\b(Failed to get (?:shared )?"[^"]{1,40}" lock)/),
      engineSays(/: (Address already in use)\.?$/),
      engineSays(/(Cannot lock pid file: .+)/),
      engineSays(/\/dev\/net\/tun.{0,80}: (Device or resource busy)$/),
    ),
    sentence: ([, what]) => `A file or address that the engine needs is in use by another process: ${what}.`,
    remedy: 'End the process that holds it (`boxlab ps` lists boxes), or give this box a file or address of its own.',
  },
  {
    id: 'port-or-file-busy',
    source: 'QEMU net/slirp.c, which gives no reason',
    confidence: 'inferred',
    // qemu-system-x86_64: -netdev user,…: Could not set up host forwarding rule 'tcp:127.0.0.1:22223-:22'
    find: engineSays(/: Could not set up host forwarding rule '(.{1,200})'$/),
    sentence: ([, rule]) =>
      `The host's port of the forwarding rule ${rule} could not be taken, most likely as it is in use.`,
    remedy: 'Reach the guest with `box.dial(port)`, which takes no port of the host, or forward another port.',
  },
  {
    id: 'disk-full',
    source: 'strerror(ENOSPC) and strerror(EDQUOT) behind words of QEMU or of the runtime',
    confidence: 'said',
    find: anyOf(
      engineSays(/(No space left on device|Disk quota exceeded)$/),
      messageSays(/(No space left on device|Disk quota exceeded)/, { given: isOnHost }),
    ),
    sentence: ([, words]) => `A disk of the host is full: ${words}.`,
    remedy:
      'Make room where the records, images and overlays are (`boxlab sweep` removes what dead boxes left), or set BOXLAB_HOME.',
  },
  {
    id: 'no-host-memory',
    source: 'QEMU softmmu/physmem.c, util/oslib-posix.c',
    confidence: 'said',
    // qemu-system-x86_64: cannot set up guest memory 'pc.ram': Cannot allocate memory
    // qemu-system-x86_64: unable to map backing store for guest RAM: Cannot allocate memory
    // qemu-system-x86_64: qemu_prealloc_mem: preallocating memory failed: Bad address
    find: engineSays(
      /((?:cannot set up guest memory|unable to map backing store for guest RAM|preallocating memory failed).{1,200})/,
    ),
    sentence: ([, words]) => `The host did not give the engine the guest's memory: ${words}.`,
    remedy:
      'Lower `memoryMib`, run fewer boxes at once, or raise the limit (ulimit -v, cgroup, size of /dev/shm) that refused it.',
  },
  {
    id: 'engine-oom-killed',
    source: 'Linux mm/oom_kill.c, as in recordings of 6.1 and 6.12, in the log of the host',
    confidence: 'said',
    // Out of memory: Killed process 4242 (qemu-system-x86) total-vm:…
    // A host that counted its kills and counted none has an older one in its log.
    find: (read) => (wasKilledByOthers(read) && read.facts.host?.oomKills !== 0 ? killOfEngine(read) : undefined),
    sentence: ([, pid, name]) => `The host's kernel killed the engine (${name}, process ${pid}) for lack of memory.`,
    remedy:
      'Lower `memoryMib`, run fewer boxes at once (`limitHost`, BOXLAB_MAX_MEMORY_MIB), or raise the memory limit of the job.',
  },
  {
    id: 'engine-oom-killed',
    source: 'oom_kill of /proc/vmstat or memory.events; MemAvailable of /proc/meminfo',
    confidence: 'inferred',
    find: fact((read) => {
      if (!wasKilledByOthers(read)) return undefined
      const { host: { oomKills, availableMib } = {}, memoryMib } = read.facts
      if (oomKills !== undefined && oomKills > 0) {
        return `the engine ended by SIGKILL while the host killed ${oomKills} process${oomKills === 1 ? '' : 'es'} for lack of memory`
      }
      // A host that counted its kills and counted none did not do it.
      if (oomKills !== undefined || availableMib === undefined || memoryMib === undefined) return undefined
      if (availableMib >= memoryMib) return undefined
      return `the engine ended by SIGKILL; the guest has ${memoryMib} MiB and the host had ${availableMib} MiB to give`
    }),
    sentence: () => "The host's kernel most likely killed the engine for lack of memory.",
    remedy:
      'Lower `memoryMib`, run fewer boxes at once (`limitHost`, BOXLAB_MAX_MEMORY_MIB), or raise the memory limit of the job.',
  },
  {
    id: 'wrong-architecture',
    source: 'what the plan says of kernel and engine',
    confidence: 'said',
    find: fact(({ facts: { kernelArch, engineArch } }) => {
      if (kernelArch === undefined || engineArch === undefined) return undefined
      const [kernel, engine] = [architecture(kernelArch), architecture(engineArch)]
      // A processor for x86_64 starts kernels for i386 too.
      if (kernel === engine || (kernel === 'i386' && engine === 'x86_64')) return undefined
      return `the kernel is for ${kernelArch} and the engine emulates ${engineArch}`
    }),
    sentence: ([words]) => `The engine cannot start this kernel: ${words}.`,
    remedy: "Give a kernel of the engine's architecture, or the engine of the kernel's in `engine`.",
  },
  {
    id: 'not-a-kernel',
    source: 'QEMU hw/i386/x86.c, hw/i386/multiboot.c',
    confidence: 'said',
    // qemu: invalid kernel header
    // qemu-system-x86_64: Error while loading elf kernel
    find: engineSays(
      /^[\w.-]{1,64}: (invalid kernel header|Error while loading elf kernel|Error loading uncompressed kernel .{1,200})$/,
    ),
    sentence: ([, words]) => `The file given as kernel is none that this engine can start: ${words}.`,
    remedy: "Give a bzImage of the engine's architecture in `kernel`, such as /boot/vmlinuz-….",
  },
  {
    id: 'not-a-kernel',
    source: "the harness's look at the file before the start",
    confidence: 'said',
    find: messageSays(
      /^The `kernel` option (.{1,400}) cannot be used: (it is (?:not an x86 Linux kernel|ELF without a PVH entry|not a file).*)/,
      {
        given: ({ facts: { code } }) => code === 'ERR_IMAGE_KERNEL',
      },
    ),
    sentence: ([, path]) => `The file given as kernel, ${path}, is none that this engine can start.`,
    remedy: "Give a bzImage of the engine's architecture in `kernel`, such as /boot/vmlinuz-….",
  },
  {
    id: 'missing-file',
    source: 'the harness, before the start',
    confidence: 'said',
    find: messageSays(
      /^The `kernel` option (.{1,400}) cannot be used: (?:there is no such file|it cannot be (?:read|opened))/,
      {
        given: ({ facts: { code } }) => code === 'ERR_IMAGE_KERNEL',
      },
    ),
    sentence: ([, path]) => `The kernel ${path} could not be opened.`,
    remedy: 'Check that the file exists and that the user who runs the box may read it.',
  },
  {
    id: 'missing-file',
    source: 'QEMU block/file-posix.c, hw/i386/x86.c, util/qemu-sockets.c',
    confidence: 'said',
    // qemu-system-x86_64: -drive file=/nope,if=none: Could not open '/nope': No such file or directory
    // qemu: could not open kernel file '/nope': No such file or directory
    // qemu: could not load PC BIOS '/nope'
    find: anyOf(
      engineSays(
        /[Cc]ould not open (?:kernel file )?'(.{1,400})': ((?:No such file|Permission denied|Is a directory).*)$/,
      ),
      engineSays(/^[\w.-]{1,64}: (?:could not load PC BIOS|could not load initrd) '(.{1,400})'()/),
    ),
    sentence: ([, file, reason]) => `The engine could not open ${file}${reason ? `: ${reason}` : ''}.`,
    remedy: 'Check that the file exists and that the user who runs the box may read it.',
  },
  {
    id: 'bad-engine-option',
    source: 'QEMU softmmu/vl.c, qdev-monitor.c, qom/object.c, util/qemu-option.c, hw/core/machine*.c',
    confidence: 'said',
    // qemu-system-x86_64: -foo: invalid option
    // qemu-system-x86_64: -device nosuch: 'nosuch' is not a valid device model name
    // qemu-system-x86_64: Invalid SMP CPUs 300. The max CPUs supported by machine 'pc-i440fx-7.2' is 255
    find: engineSays(
      new RegExp(
        `${QEMU}(.*(?:invalid option$|requires an argument|unsupported machine type|unable to find CPU model|` +
          `is not a valid |Property '[^']*' not found|can't find value|invalid accelerator|Invalid SMP CPUs|Invalid parameter|` +
          `does not accept value|is out of range for parameter|Parameter '[^']*' (?:is missing|expects)|` +
          `(?:Bus|bus) '[^']*' not found|No '[^']*' bus found|Image is not in \\w+ format|There is no option group).*)`,
      ),
      // The same words over QMP are no reason for an engine to end.
      { given: ({ facts: { code, exit } }) => exit?.signal === undefined && !isGuestCode(code) },
    ),
    sentence: ([, words]) => `The engine refused an option: ${words}.`,
    remedy:
      'Correct the option that the line names (`devices.extra`, `machine`, `cpuModel`), or use a QEMU that knows it.',
  },
]

function kvmRemedy(reason: string): string {
  if (reason.startsWith('Permission denied')) {
    return 'Let this user open /dev/kvm (group kvm, or a udev rule; a new group counts only after a new login).'
  }
  if (reason.includes('busy')) return 'Stop the other hypervisor that holds the processor, such as VirtualBox.'
  if (reason.includes('invalid accelerator')) return "Install a QEMU that was built with KVM, or use `accel: 'tcg'`."
  return "Run where /dev/kvm exists (virtualization on in the firmware, nested virtualization in a VM), or use `accel: 'tcg'`."
}

/** SIGKILL from outside: a box that its owner killed, or that was stopped at a deadline, was not killed for memory. */
function wasKilledByOthers({ facts: { code, exit } }: ReadEvidence): boolean {
  return exit?.signal === SIGKILL && code === 'ERR_BOX_ENGINE_EXITED'
}

/** The line in the host's log that names the engine; with its process id known, another box's engine is not it. */
function killOfEngine(read: ReadEvidence): Found | undefined {
  const { enginePid } = read.facts
  const pid = enginePid === undefined ? String.raw`\d+` : String(enginePid)
  const name = enginePid === undefined ? '(?:qemu|kvm)[^)]*' : '[^)]*'
  const words = `^(?:Memory cgroup out|Out) of memory.{0,80}: Kill(?:ed)? process (${pid}) \\((${name})\\)`
  return hostSays(new RegExp(words))(read)
}

function isGuestCode(code: string | undefined): boolean {
  return code !== undefined && GUEST_CODES.includes(code)
}

function isOnHost({ facts: { code } }: ReadEvidence): boolean {
  return code !== undefined && HOST_CODES.includes(code)
}

/** A box that fell back to another accelerator ran, so that it failed of something else. */
function noneRuns({ facts: { accelerator } }: ReadEvidence): boolean {
  return accelerator?.proved === undefined || accelerator.asked === 'kvm'
}

const ALIASES = new Map([
  ['amd64', 'x86_64'],
  ['x86-64', 'x86_64'],
  ['x64', 'x86_64'],
  ['arm64', 'aarch64'],
  ['i686', 'i386'],
  ['x86', 'i386'],
])

function architecture(name: string): string {
  const lower = name.toLowerCase()
  return ALIASES.get(lower) ?? lower
}
