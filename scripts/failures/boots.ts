import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Box, bootBox, type BoxOptions, Wait } from '@boxlab/harness'
import { hostPreflight } from '../../packages/harness/src/preflight/kvm.ts'

/** This host, or this user on it, cannot have that failure. */
export class HostLacks extends Error {
  override readonly name = 'HostLacks'
}

/** Makes one box fail and gives the error. `scratch` is a folder of its own. */
export type Fail = (scratch: string) => Promise<unknown>

// The kernel waits before each of its lines: slow on any host, and never silent for long.
const slowly = 'initcall_debug boot_delay=1 lpj=2000000'

/** The boots that fail, by the name of the cause. Only `emulated-kvm`, `engine-oom-killed` and `disk-full` need a special host. */
export const boots: Readonly<Record<string, Fail>> = {
  'no-kvm': async () => withEnvironment('BOXLAB_KVM', '/dev/no-kvm', () => failureOf({ accel: 'kvm' })),
  'emulated-kvm': async () => {
    const { verdict } = await hostPreflight()
    if (verdict !== 'emulated') throw new HostLacks(`the KVM of this host is ${verdict}`)
    return failureOf({ accel: 'kvm' })
  },
  'tcg-slow': async () => failureOf({ accel: 'tcg', cmdline: slowly, timeouts: { bootMs: 5000 } }),
  'engine-oom-killed': killedForMemory,
  'no-host-memory': async (scratch) => {
    // The address space that a shell's `ulimit -v` leaves to the engine, in KiB.
    const engine = wrapped(scratch, 'ulimit -v 3000000')
    return failureOf({ ...firmware(scratch, 'x'), engine, memoryMib: 4096 })
  },
  'bad-engine-option': async (scratch) =>
    failureOf({ ...firmware(scratch, 'x'), devices: { extra: ['-device', 'virtio-nothing'] } }),
  'missing-file': async (scratch) =>
    failureOf({ ...firmware(scratch, 'x'), devices: { extra: ['-drive', 'file=/srv/data.img,format=raw,if=virtio'] } }),
  'not-a-kernel': async (scratch) => failureOf({ accel: 'tcg', kernel: file(scratch, 'vmlinux', program(62)) }),
  'wrong-architecture': async (scratch) => failureOf({ accel: 'tcg', kernel: file(scratch, 'vmlinux', program(183)) }),
  'port-or-file-busy': busyImage,
  'disk-full': fullDisk,
  'missing-driver': async () =>
    failureOf({ accel: 'tcg', cmdline: 'module_blacklist=virtio_console', timeouts: { bootMs: 20_000 } }),
  'no-init': async () => failureOf({ accel: 'tcg', cmdline: 'rdinit=/dev init=/sbin/nothing' }),
  'no-root': async () => failureOf({ accel: 'tcg', cmdline: 'rdinit=/nothing root=/dev/vda1' }),
  'silent-console': async (scratch) =>
    failureOf({ ...firmware(scratch, ''), waitFor: Wait.forConsole('ready'), timeouts: { bootMs: 2500 } }),
}

/** What fails in one box of 192 MiB that booted, in this order: the last one ends it. */
export const commands: Readonly<Record<string, (box: Box) => Promise<unknown>>> = {
  'wrong-architecture': async (box) => {
    await box.files.write('/tmp/tool', program(183), { mode: 0o755 })
    return errorOf(box.exec(['/tmp/tool']))
  },
  'disk-full': async (box) => {
    await box.shell('mkdir /small && mount -t tmpfs -o size=64k none /small')
    return errorOf(box.files.write('/small/data', Buffer.alloc(1024 * 1024)))
  },
  'guest-oom': async (box) => errorOf(box.shell('tail /dev/zero; sleep 60', { timeoutMs: 8000 })),
  'guest-panic': async (box) => errorOf(box.shell('echo c > /proc/sysrq-trigger')),
}

/** The box that `commands` are for. */
export const commandBox: BoxOptions = { accel: 'tcg', memoryMib: 192 }

async function failureOf(options: BoxOptions): Promise<unknown> {
  return errorOf(bootBox(options).then((box) => box.stop()))
}

async function errorOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  )
}

function file(scratch: string, name: string, content: string | Uint8Array): string {
  const path = join(scratch, name)
  writeFileSync(path, content)
  return path
}

/** A box whose firmware starts a boot sector that prints `text` on the first serial port and halts. */
function firmware(scratch: string, text: string): BoxOptions {
  const print = [...Buffer.from(text)].flatMap((byte) => [0xb0, byte, 0xee]) // mov al,byte; out dx,al
  const disk = Buffer.alloc(1024 * 1024)
  Buffer.from([0xba, 0xf8, 0x03, ...print, 0xfa, 0xf4]).copy(disk) // mov dx,3f8; …; cli; hlt
  disk.writeUInt16LE(0xaa55, 510)
  return { boot: 'firmware', accel: 'tcg', disks: [{ path: file(scratch, 'boot.img', disk) }] }
}

/** The first 64 bytes of an ELF program, with nothing behind them. Machine 62 is x86-64, 183 is 64-bit ARM. */
function program(machine: number): Buffer {
  const elf = Buffer.alloc(64)
  elf.write('\x7fELF\x02\x01\x01', 'latin1')
  elf.writeUInt16LE(2, 16)
  elf.writeUInt16LE(machine, 18)
  return elf
}

/** QEMU as a script starts it that does something to itself first. */
function wrapped(scratch: string, line: string): string {
  const path = file(scratch, 'qemu', `#!/bin/sh\n${line}\nexec qemu-system-x86_64 "$@"\n`)
  chmodSync(path, 0o755)
  return path
}

/** An engine in a memory cgroup of its own, which has 64 MiB. */
async function killedForMemory(scratch: string): Promise<unknown> {
  const v1 = existsSync('/sys/fs/cgroup/memory/cgroup.procs')
  const group = join(v1 ? '/sys/fs/cgroup/memory' : '/sys/fs/cgroup', `boxlab-failures-${process.pid}`)
  orLacks('a memory cgroup cannot be made', () => mkdirSync(group))
  try {
    orLacks('a memory cgroup cannot be limited', () => {
      writeFileSync(join(group, v1 ? 'memory.limit_in_bytes' : 'memory.max'), String(64 * 1024 * 1024))
      if (!v1 && existsSync(join(group, 'memory.swap.max'))) writeFileSync(join(group, 'memory.swap.max'), '0')
    })
    const engine = wrapped(scratch, `echo $$ > ${join(group, 'cgroup.procs')}`)
    return await failureOf({ accel: 'tcg', engine })
  } finally {
    rmdirSync(group)
  }
}

/** A record on a file system of one page. */
async function fullDisk(scratch: string): Promise<unknown> {
  const place = join(scratch, 'full')
  mkdirSync(place)
  orLacks('a file system cannot be mounted', () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'none', place], { stdio: 'ignore' })
  })
  try {
    return await failureOf({ ...firmware(scratch, 'x'), record: { dir: join(place, 'record') } })
  } finally {
    execFileSync('umount', ['-l', place])
  }
}

async function busyImage(scratch: string): Promise<unknown> {
  const image = file(scratch, 'data.img', Buffer.alloc(1024 * 1024))
  const options = { ...firmware(scratch, 'x'), devices: { extra: ['-drive', `file=${image},format=raw,if=virtio`] } }
  await using first: Box = await bootBox(options)
  return first.state === 'running' ? await failureOf(options) : undefined
}

function orLacks(what: string, work: () => void): void {
  try {
    work()
  } catch (error) {
    throw new HostLacks(what, { cause: error })
  }
}

async function withEnvironment<T>(name: string, value: string, work: () => Promise<T>): Promise<T> {
  const before = process.env[name]
  process.env[name] = value
  try {
    return await work()
  } finally {
    if (before === undefined) delete process.env[name]
    else process.env[name] = before
  }
}
