import { anyOf, type CauseRule, consoleSays, engineSays, fact, kernelSays } from './rule.ts'

const PANIC = /^Kernel panic - not syncing/
// Where an initramfs mounts the root: initramfs-tools and Alpine, dracut and systemd, mkinitcpio.
const ROOT = String.raw`\/(?:root|sysroot|new_root|newroot)`
const MORE_MEMORY = 'Raise `memoryMib`.'
const NO_ROOT_REMEDY =
  'Check `root=` and `disks`, and that the initramfs has the modules of the disk (virtio_blk, virtio_pci) and of its file system.'
const NO_INIT_REMEDY =
  'Check that the image holds /sbin/init, or name another program with `init=` (`rdinit=` in an initramfs).'

/** Why a guest could not start its init, strongest first: the reason for a panic stands before the panic. */
export const REASON_RULES: readonly CauseRule[] = [
  {
    id: 'emulated-kvm',
    source: 'QEMU accel/kvm/kvm-all.c; suberror 1 is KVM_INTERNAL_ERROR_EMULATION of linux/kvm.h',
    confidence: 'said',
    // KVM internal error. Suberror: 1
    // emulation failure
    find: engineSays(/^KVM internal error\. Suberror: 1$/, { given: ({ facts }) => facts.kvmVerdict !== 'native' }),
    sentence: () => "KVM met an instruction of the guest's that it emulates and does not know, so the guest stopped.",
    remedy: "Use `accel: 'tcg'` for Linux on this host; `boxlab doctor` shows whether its KVM emulates guest kernels.",
  },
  {
    id: 'guest-oom',
    source: 'Linux init/initramfs.c',
    confidence: 'said',
    // Initramfs unpacking failed: write error
    find: kernelSays(/^Initramfs unpacking failed: (write error|.*[Oo]ut of memory.*)/),
    sentence: () => "The initramfs did not fit into the guest's memory.",
    remedy: 'Raise `memoryMib`: the unpacked initramfs may take at most half of it.',
  },
  {
    id: 'guest-oom',
    source: 'Linux mm/oom_kill.c, 4.1 and later',
    confidence: 'said',
    // Kernel panic - not syncing: System is deadlocked on memory
    // 4.x: Kernel panic - not syncing: Out of memory and no killable processes...
    // Kernel panic - not syncing: Out of memory: compulsory panic_on_oom is enabled
    find: kernelSays(/^Kernel panic - not syncing: (System is deadlocked on memory|Out of memory.*)/),
    sentence: ([, words]) => `The guest ran out of memory: ${words}.`,
    remedy: MORE_MEMORY,
  },
  {
    id: 'guest-oom',
    source: 'Linux mm/oom_kill.c and kernel/exit.c: init ended by SIGKILL after a kill for memory',
    confidence: 'said',
    // Out of memory: Killed process 1 (init) …
    // Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000009
    find: kernelSays(/^Out of memory.{0,80}: Kill(?:ed)? process (\d+) \(([^)]*)\)/, {
      also: /^Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000009/,
    }),
    sentence: ([, pid, name]) =>
      `The guest ran out of memory, its kernel killed ${name} (process ${pid}), and its init died.`,
    remedy: MORE_MEMORY,
  },
  {
    id: 'wrong-architecture',
    source: 'Linux init/main.c; -8 is ENOEXEC',
    confidence: 'said',
    // Failed to execute /init (error -8)
    // Starting init: /sbin/init exists but couldn't execute it (error -8)
    // Kernel panic - not syncing: Requested init /x failed (error -8).
    find: kernelSays(
      /^(?:Failed to execute|Starting init:|Kernel panic - not syncing: Requested init) (\S{1,400}) (?:exists but couldn't execute it |failed )?\(error -8\)/,
      { also: PANIC },
    ),
    sentence: ([, program]) =>
      `The guest's kernel cannot run ${program}: it is for another architecture, or no program at all.`,
    remedy: "Use an image and an agent of the kernel's architecture; a script needs a first line with `#!`.",
  },
  {
    id: 'wrong-architecture',
    source: 'Linux arch/x86/boot/cpu.c',
    confidence: 'said',
    // This kernel requires an x86-64 CPU, but only detected an i686 CPU.
    find: consoleSays(/^This kernel requires an (\S{1,40}) CPU, (?:but only detected an (\S{1,40}) CPU)/),
    sentence: ([, needed, found]) => `The kernel needs an ${needed} processor and the box has an ${found} one.`,
    remedy: 'Use the engine of that architecture, or a `cpuModel` that has it, such as `max`.',
  },
  {
    id: 'wrong-architecture',
    source: "the agent's errno; 8 is ENOEXEC",
    confidence: 'inferred',
    find: fact(({ facts: { code, errno } }) =>
      code === 'ERR_BOX_REFUSED' && errno === 8 ? 'the program could not be run: errno 8 (ENOEXEC)' : undefined,
    ),
    sentence: () => 'The program is for another architecture than the guest, or no program at all.',
    remedy: "Copy a program of the guest's architecture; a script needs a first line with `#!`.",
  },
  {
    id: 'missing-driver',
    source: 'Linux init/do_mounts.c',
    confidence: 'inferred',
    // No filesystem could mount root, tried:  ext3 ext2 ext4
    // Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(254,1)
    find: kernelSays(/^No filesystem could mount root, tried:(.*)/, {
      also: /^Kernel panic - not syncing: VFS: Unable to mount root fs on .*unknown-block\((?!0,0\))/,
    }),
    sentence: ([, tried = '']) =>
      `The root's disk was found and no file system of the kernel could mount it (it tried:${tried || ' none'}).`,
    remedy:
      "Give an initramfs with the module of the root's file system, or a kernel that has it built in; check `root=`.",
  },
  {
    id: 'missing-driver',
    source: 'mount of busybox (initramfs-tools) and of util-linux (dracut, systemd); "No such device" is ENODEV',
    confidence: 'said',
    // mount: mounting /dev/vda1 on /root failed: No such device
    // mount[597]: mount: /sysroot: unknown filesystem type 'xfs'.
    find: anyOf(
      consoleSays(new RegExp(`^mount: mounting \\S{1,200} on (${ROOT}) failed: No such device$`)),
      consoleSays(
        new RegExp(`^(?:\\S{1,64} )?(?:mount\\[\\d+\\]: )?mount: (${ROOT}): unknown filesystem type '([^']{1,64})'`),
      ),
    ),
    sentence: ([, where, type]) =>
      `The initramfs could not mount the root on ${where}: the kernel has no driver for ${type ?? 'its file system'}.`,
    remedy: "Add the module of the root's file system to the initramfs (`modules`), of the same version as the kernel.",
  },
  {
    id: 'missing-driver',
    source: "boxlab's agent",
    confidence: 'said',
    // boxlab: no virtio port named boxlab.agent: is virtio_console in the kernel or the initramfs?
    find: consoleSays(/^boxlab: no virtio port named (\S{1,100}): /, {
      given: ({ facts: { lastMark } }) => lastMark !== 'agent-ready',
    }),
    sentence: () => 'The agent runs and found no virtio port to talk through.',
    remedy: 'Check that `modules` or the kernel has virtio_pci (virtio_mmio on microvm) and virtio_console.',
  },
  {
    id: 'missing-driver',
    source: 'Linux kernel/module/main.c, as in a recording of 6.1',
    confidence: 'said',
    // [    3.165105] Module virtio_console is blacklisted
    find: kernelSays(/^Module (virtio\w*) is blacklisted$/, {
      given: ({ facts: { code, lastMark } }) => code === 'ERR_BOX_TIMEOUT' && lastMark !== 'agent-ready',
    }),
    sentence: ([, module]) => `The kernel was told not to load ${module}, which the agent may need.`,
    remedy: 'Take `module_blacklist=` out of `cmdline`, or the module out of it.',
  },
  {
    id: 'no-init',
    source: 'Linux init/main.c, as in recordings of 6.1 and in logs of 4.17 and 5.10',
    confidence: 'said',
    // Kernel panic - not syncing: No working init found.  Try passing init= option to kernel. …
    // Kernel panic - not syncing: Requested init /nope failed (error -2).
    find: kernelSays(
      /^Kernel panic - not syncing: (No (?:working )?init found|Requested init \S{1,400} failed \(error -\d+\))/,
    ),
    sentence: ([, words]) => `The guest's kernel found no program to start as its init: ${words}.`,
    remedy: NO_INIT_REMEDY,
  },
  {
    id: 'no-init',
    source: 'initramfs-tools; systemctl switch-root of systemd',
    confidence: 'said',
    // No init found. Try passing init= bootarg.
    // Specified switch root path '/sysroot' does not seem to be an OS tree. os-release file is missing.
    find: anyOf(
      consoleSays(/^(?:\(initramfs\) )?No init found\. Try passing init= bootarg\./),
      consoleSays(/Specified switch root path '?\S{1,200}'? does not seem to be an OS tree\./),
    ),
    sentence: () => 'The initramfs mounted a root that holds no init to go on with.',
    remedy: NO_INIT_REMEDY,
  },
  {
    id: 'no-root',
    source: 'Linux init/do_mounts.c, as in logs of 2.6 to 6.12',
    confidence: 'said',
    // Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)
    find: kernelSays(/^Kernel panic - not syncing: VFS: Unable to mount root (?:fs )?(?:on )?(.*)/),
    sentence: ([, where]) => `The guest's kernel found no root file system${where ? ` (${where})` : ''} and panicked.`,
    remedy: NO_ROOT_REMEDY,
  },
  {
    id: 'no-root',
    source: 'initramfs-tools scripts/local; dracut; systemd, with unit names from 250 on',
    confidence: 'said',
    // ALERT!  UUID=6b0cc5d4 does not exist.  Dropping to a shell!
    // dracut-initqueue[337]: Warning: /dev/disk/by-uuid/… does not exist      …  Generating "/run/initramfs/rdsosreport.txt"
    // [DEPEND] Dependency failed for sysroot.mount - /sysroot.
    find: anyOf(
      consoleSays(/^ALERT! {1,2}(\S{1,200}) does not exist\. {1,2}Dropping to a shell!/),
      consoleSays(
        /^(?:\S{1,64} )?(?:dracut-initqueue\[\d+\]: |dracut )?Warning: {1,2}((?:\/dev\/|UUID=|LABEL=)\S{1,200}) does not exist/,
        { also: /rdsosreport\.txt|^Entering emergency mode\. Exit the shell to continue\./ },
      ),
      consoleSays(/^(?:\[DEPEND\]|systemd\[1\]:) Dependency failed for (?:sysroot\.mount - )?(\/sysroot)\.?$/),
      consoleSays(
        /^(?:\[DEPEND\]|systemd\[1\]:) Dependency failed for (?:initrd-root-device\.target - )?(Initrd Root Device)\.?$/,
      ),
    ),
    sentence: ([, what]) => `The initramfs waited for the root (${what}) and it did not come.`,
    remedy: NO_ROOT_REMEDY,
  },
  {
    id: 'no-root',
    source: 'Linux init/do_mounts.c, with rootwait',
    confidence: 'said',
    // Waiting for root device /dev/vda1...
    find: kernelSays(/^Waiting for root device (\S{1,200}?)\.\.\./, {
      not: /^VFS: Mounted root |^Run \S+ as init process/,
      given: ({ facts: { code } }) => code === 'ERR_BOX_TIMEOUT',
    }),
    sentence: ([, device]) => `The guest's kernel still waits for its root device ${device}.`,
    remedy: NO_ROOT_REMEDY,
  },
]
