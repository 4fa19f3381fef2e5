import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { Box, BoxError, type BoxOptions, Wait } from '../src/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'boxlab-options-'))
afterAll(() => rmSync(folder, { recursive: true }))
const file = join(folder, 'disk.img')
writeFileSync(file, 'x')

/** What making a box with these options says. */
function refusal(options: unknown): string {
  try {
    return `no refusal of ${new Box(options as BoxOptions).state}`
  } catch (error) {
    return error instanceof BoxError && error.code === 'ERR_BOX_OPTIONS' ? error.message : String(error)
  }
}

describe('options that no box can have are refused when it is made, in one sentence that names the option', () => {
  test.for<[title: string, options: object, sentence: string]>([
    ['no CPU', { cpus: 0 }, '`cpus` must be a whole number from 1 to 255, not 0'],
    ['too many CPUs', { cpus: 300 }, '`cpus` must be a whole number from 1 to 255, not 300'],
    ['half a CPU', { cpus: 1.5 }, '`cpus` must be a whole number from 1 to 255, not 1.5'],
    ['a text for a number', { cpus: '2' }, "`cpus` must be a whole number from 1 to 255, not '2'"],
    ['1 MiB of memory', { memoryMib: 1 }, '`memoryMib` must be a whole number from 16 to 1048576 MiB, not 1'],
    ['a directory as a kernel', { kernel: folder }, `\`kernel\` must be a file, and ${folder} is a directory`],
    ['a kernel that is not there', { kernel: '/nowhere/k' }, '`kernel`: there is no file /nowhere/k'],
    [
      'a file that is no kernel',
      { kernel: file },
      `\`kernel\`: ${file} is not an x86 Linux kernel (neither a bzImage nor ELF)`,
    ],
    ['a number as a kernel', { kernel: 7 }, '`kernel` must be a path or a kernel source such as debianKernel(), not 7'],
    ['no accelerator', { accel: 'xen' }, "`accel` must be 'auto' or 'kvm' or 'tcg', not 'xen'"],
    ['a disk without path', { disks: [{}] }, '`disks[0].path` is missing'],
    ['a disk that is not there', { disks: [{ path: '/no.img' }] }, '`disks[0].path`: there is no file /no.img'],
    [
      'an unknown disk format',
      { disks: [{ path: file, format: 'vdi' }] },
      "`disks[0].format` must be 'raw' or 'qcow2', not 'vdi'",
    ],
    ['a device that is not yes or no', { devices: { rng: 'yes' } }, "`devices.rng` must be true or false, not 'yes'"],
    ['a list that is none', { modules: 'virtio_net' }, "`modules` must be an array, not 'virtio_net'"],
    [
      'a wait of another make',
      { waitFor: 'login' },
      '`waitFor`: a wait strategy is made by Wait, for example `Wait.forConsole("ready")`',
    ],
    [
      'initcalls of a kernel that is not ours',
      { boot: 'firmware', disks: [{ path: file }], record: { initcalls: true } },
      "`record.initcalls` needs a kernel that we boot beside our agent: it excludes `boot: 'firmware'`",
    ],
    ['a signal of another make', { signal: {} }, '`signal` must be an AbortSignal, not a value of type object'],
    [
      'counters at no list',
      { record: { counters: { at: 'login' } } },
      "`record.counters.at` must be an array, not 'login'",
    ],
    ['counters of another make', { record: { counters: 'yes' } }, "`record.counters` must be an object, not 'yes'"],
    ['a relative workdir', { workdir: 'tmp' }, "`workdir` must be an absolute path in the guest, not 'tmp'"],
    [
      'a command line of two lines',
      { cmdline: 'a\nb' },
      '`cmdline` holds a line end; a kernel command line is one line',
    ],
    [
      'no time',
      { timeouts: { bootMs: 0 } },
      '`timeouts.bootMs` must be a whole number from 1 to 86400000 milliseconds, not 0',
    ],
    [
      'firmware and a kernel',
      { boot: 'firmware', kernel: { resolve: () => undefined } },
      "`kernel` and `boot: 'firmware'` exclude each other: a firmware box has no kernel or agent of ours",
    ],
    [
      'a ROM for a kernel box',
      { firmware: file },
      "`firmware` and a kernel are two sources of a boot: give `boot: 'firmware'` for a box without kernel",
    ],
    ['nothing to boot', { boot: 'firmware' }, "`boot: 'firmware'` needs something to boot: give `disks` or `firmware`"],
    [
      'a read-only IDE disk',
      { boot: 'firmware', disks: [{ path: file, readonly: true }] },
      '`disks[0].readonly`: an IDE disk cannot be read-only; leave it out (the file is never written) or use virtio',
    ],
    [
      'an unnameable variable',
      { env: { 'A=B': '1' } },
      "`env` has the variable 'A=B', which no environment can hold (an empty name, '=' in it, or a NUL byte)",
    ],
  ])('%s', ([, options, sentence]) => {
    expect(refusal(options)).toBe(sentence)
  })

  test('a misspelt option, also one inside another', () => {
    expect(refusal({ memoryMb: 5 })).toMatch(
      /^`memoryMb` is no option of a box; known are kernel, image, boot, cmdline, /,
    )
    expect(refusal({ devices: { usb: true } })).toBe(
      '`devices.usb` is no option of a box; known are rng, net, balloon, hotplugPorts, ioeventfd, extra',
    )
    expect(refusal({ toString: 1 })).toMatch(/^`toString` is no option of a box/)
  })

  test('a command line longer than the kernel takes, at its exact bound', () => {
    expect(refusal({ cmdline: 'x'.repeat(1919) })).toBe('no refusal of created')
    expect(refusal({ cmdline: 'x'.repeat(1920) })).toBe(
      '`cmdline` has 1920 bytes and the kernel takes 1919; pass settings in `files` or `env`',
    )
  })

  test('an environment longer than a command can get', () => {
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`V${index}`, 'x'.repeat(60_000)]))
    expect(refusal({ env: many })).toMatch(
      /^`env` has 1200\d{3} bytes and a box takes 1048576; pass what the guest needs/,
    )
    expect(refusal({ env: { BIG: 'x'.repeat(131_066) } })).toBe('no refusal of created')
    expect(refusal({ env: { BIG: 'x'.repeat(131_068) } })).toBe(
      '`env.BIG` has 131073 bytes and Linux takes 131072 for one variable',
    )
  })

  test('good options make a box that has not started anything', () => {
    const box = new Box({
      cpus: 255,
      memoryMib: 16,
      disks: [{ path: file }],
      waitFor: Wait.forConsole('x'),
      env: process.env as Record<string, string>,
    })
    expect(box.info()).toEqual({ id: box.id, state: 'created', notes: [] })
    expect(box.metrics()).toEqual({ commandsExecutedTotal: 0, execErrorsTotal: 0 })
    expect(box.marks()).toEqual([])
    expect(() => box.machine).toThrow('the box is created; it must boot first')
    expect(() => box.record).toThrow('the box is created; it has a record once it boots')
  })
})
