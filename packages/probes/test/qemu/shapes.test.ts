import { describe, expect, it } from 'vitest'
import { mmio } from '../../src/index.ts'
import { access, config, printed, region, reportOf } from './traces.ts'

describe('lines in front of an event', () => {
  const line = access('write', 'serial', 0x3f9, { value: 0 }).trimEnd()

  it.each([
    ['without stamps', line, 'log'],
    ['with thread and time', `4711@1790000000.000250:${line}`, 'log-tid-stamp'],
    ['with an ISO time', `2026-09-21T13:33:20.000250Z ${line}`, 'log-iso-stamp'],
  ])('are read %s', (_what, text, format) => {
    const report = reportOf(`${text}\n${text}\n`)
    expect(report).toMatchObject({ format, accesses: 2, lines: 2 })
    expect(region(report, 'serial')).toMatchObject({ writes: 2, bytes: 2, kind: 'pio' })
  })

  it('give both formats the same time', () => {
    expect(reportOf(`4711@1790000000.000250:${line}\n`).firstUs).toBe(1790000000000250)
    expect(reportOf(`2026-09-21T14:13:20.000250Z ${line}\n`).firstUs).toBe(1790000000000250)
  })

  it('count the threads where they are told', () => {
    const report = reportOf(
      `12@1790000000.000001:${line}\n13@1790000000.000002:${line}\n12@1790000000.000003:${line}\n`,
    )
    expect(report.threads).toBe(2)
  })

  it('may be console bytes, of which the stamp takes none', () => {
    const report = reportOf(`x${line}\n[ 4711@1790000000.000250:${line}\n\r${line}\nok so far: ${line}\n`)
    expect(report.accesses).toBe(4)
    expect(report.diagnostics).toMatchObject({
      unparsed: 0,
      problems: [{ name: 'glued', count: 4, lines: [1, 2, 3, 4] }],
    })
    expect(report.threads).toBe(1)
  })
})

describe('what is no whole event', () => {
  const whole = access('read', 'rtc', 0x71)

  it('is counted by kind, with its line', () => {
    const text = `${whole}hello\nmemory_region_ops_read cpu 0 mr 0x5500 addr 0x71 value\n\nsystem_reset_like_event x 3\n${whole}memory_region_ops_re`
    const report = reportOf(text)
    expect(report).toMatchObject({
      lines: 7,
      accesses: 2,
      events: { memory_region_ops_read: 2, system_reset_like_event: 1 },
    })
    expect(report.diagnostics.unparsed).toBe(3)
    expect(report.diagnostics.problems.map(({ name, count, lines }) => [name, count, lines])).toEqual([
      ['unparsed', 1, [2]],
      ['malformed', 1, [3]],
      ['empty-line', 1, [4]],
      ['foreign-event', 1, [5]],
      ['torn-tail', 1, [7]],
    ])
  })

  it('does not hide a whole event behind it, as on a disk that was full for a while', () => {
    const report = reportOf(`memory_region_ops_write cpu 0 mr 0x55${whole}`)
    expect(report.events).toEqual({ memory_region_ops_read: 1 })
    expect(report.diagnostics.problems.map(({ name }) => name)).toEqual(['glued', 'malformed'])
  })

  it('does not include a last line whose name is closed', () => {
    expect(reportOf(whole + whole.trimEnd())).toMatchObject({ lines: 2, accesses: 2, diagnostics: { unparsed: 0 } })
  })

  it('is too long a line too, and the next one is read', () => {
    const report = reportOf(`${'x'.repeat(2 * 1024 * 1024)}\n${whole}`)
    expect(report).toMatchObject({ lines: 2, accesses: 1 })
    expect(report.diagnostics.problems.map(({ name, lines }) => [name, lines])).toEqual([['line-too-long', [1]]])
  })

  it('reads lines that end with CR LF', () => {
    const report = reportOf(
      (whole + config('read', [0, 1, 0, 0], { event: 'rng 00:01.0 @0x0 -> 0x1' })).replaceAll('\n', '\r\n'),
    )
    expect(report).toMatchObject({
      accesses: 3,
      diagnostics: { unparsed: 0 },
      pci: { byDevice: [{ device: 'rng', reads: 1 }] },
    })
  })
})

describe('names of regions', () => {
  it('may hold blanks and quotes: they end at the last quote', () => {
    const report = reportOf(
      access('read', "vga ioports 'remapped'", 0xfebf0400) + access('read', 'qemu extended regs', 0xfebf0600),
    )
    expect(report.regions.map(({ name }) => name).toSorted()).toEqual(['qemu extended regs', "vga ioports 'remapped'"])
  })

  it('are not devices: two pointers are told and not added up to one region in silence', () => {
    const report = reportOf(
      access('read', 'msix-table', 0xfebfb000, { mr: '0x1' }) + access('read', 'msix-table', 0xfebfc000, { mr: '0x2' }),
    )
    expect(region(report, 'msix-table')).toMatchObject({ reads: 2, pointers: 2, kind: 'mmio' })
    expect(report.findings.find(({ name }) => name === 'owner-unknown')?.message).toContain('msix-table (2)')
  })

  it('are missing before QEMU 6.2: rows go by address, and nothing says whether they are polled', () => {
    const report = reportOf(
      access('read', '', 0x3fd, { mr: '0x1' }) +
        access('write', '', 0x3f8, { mr: '0x1', value: 65 }) +
        access('read', '', 0x40, { mr: '0x2' }),
    )
    expect(report.regions.map(({ name, named, kind, polled }) => [name, named, kind, polled])).toEqual([
      ['@0x3f8-0x3fd', 'address', 'pio', undefined],
      ['@0x40', 'address', 'pio', undefined],
    ])
    expect(report.console).toEqual({ bytes: 1, divisor: 0 })
    expect(report.findings.map(({ name }) => name)).toContain('no-names')
  })

  it('are missing for subpages and assigned memory too', () => {
    const report = reportOf(
      'memory_region_subpage_read cpu 1 mr 0x77 offset 0x10 value 0x0 size 4\nmemory_region_ram_device_write cpu 1 mr 0x78 addr 0xfe000010 value 0x1 size 8\n',
    )
    expect(report.regions.map(({ name, reads, writes, bytes }) => [name, reads, writes, bytes])).toEqual([
      ['(subpage)', 1, 0, 4],
      ['(ram_device) @0xfe000010', 0, 1, 8],
    ])
  })
})

describe('addresses', () => {
  it('keep all 64 bits that a number can hold, and say how often each was accessed in which phase', () => {
    const report = reportOf(
      access('read', 'bar', 0xc000000010, { size: 4 }) +
        printed('Linux version 6\n') +
        access('write', 'bar', 0xc000000010, { size: 4 }),
    )
    expect(region(report, 'bar').addresses).toEqual([{ address: '0xc000000010', reads: 1, writes: 1, byPhase: [1, 1] }])
  })

  it('are told apart up to a bound, and a region’s counts hold beyond it', () => {
    const many = Array.from({ length: 20_000 }, (_, at) => access('write', 'vram', 0xfd000000 + at * 8)).join('')
    const report = reportOf(many + access('read', 'late', 0xfe000000).repeat(2))
    expect(report.accesses).toBe(20_002)
    expect(region(report, 'vram')).toMatchObject({ writes: 20_000, bytes: 20_000, addressCount: 16_384, kind: 'mmio' })
    expect(region(report, 'late')).toMatchObject({ reads: 2, addressCount: 0 })
  })

  it('of more regions than are told apart are in the total and in no row', () => {
    const report = reportOf(
      Array.from({ length: 33_000 }, (_, at) =>
        access('read', 'r', 0xfd000000, { mr: `0x${(at + 1).toString(16)}` }),
      ).join(''),
    )
    expect(report.accesses).toBe(33_000)
    expect(report.diagnostics.problems).toMatchObject([{ name: 'too-many-regions', count: 33_000 - 32_768 }])
  })

  it('next to each other in one region may be parts of one access', () => {
    const half = (at: number): string => access('read', 'hpet', 0xfed000f0 + at, { size: 4 })
    expect(reportOf(half(0) + half(4) + half(0) + half(4)).maybeSplit).toBe(2)
    expect(reportOf(`${half(0)}kvm_run_exit cpu_index 0, reason 6\n${half(4)}`).maybeSplit).toBe(0)
  })
})

describe('the console inside the trace', () => {
  const boot =
    printed('SeaBIOS\r\n') +
    printed('[    0.0] Linux version 6.1\r\n') +
    access('read', 'rtc', 0x71) +
    printed('[    0.6] smp: Brought up 1 node\r\n[    1.6] Run /sbin/init as init process\r\n') +
    access('read', 'rtc', 0x71) +
    printed('debian login: ')

  it('cuts phases with the byte that ends the line, which is the first access of the next one', () => {
    const { phases } = reportOf(boot + access('read', 'rtc', 0x71))
    expect(phases.map(({ name }) => name)).toEqual(['firmware', 'early', 'initcalls', 'userspace', 'login'])
    expect(phases[0]?.accesses).toBe('SeaBIOS\r\n[    0.0] Linux version 6.1\r'.length)
    // The blank that ends the prompt, and what came behind it.
    expect(phases[4]?.accesses).toBe(2)
  })

  it('is not what is written while the baud rate is set', () => {
    const report = reportOf(
      access('write', 'serial', 0x3fb, { value: 0x83 }) +
        access('write', 'serial', 0x3f8, { value: 10 }) +
        access('write', 'serial', 0x3fb, { value: 3 }) +
        printed('A'),
    )
    expect(report.console).toEqual({ bytes: 2, divisor: 1 })
  })

  it('may miss a phase, as of a kernel without SMP', () => {
    const { phases } = reportOf(printed('Linux version 6.1\nRun /init as init process\n'))
    expect(phases.map(({ name }) => name)).toEqual(['firmware', 'early', 'userspace'])
  })

  it('is cut where the caller says, at words or at times', () => {
    const cuts = [
      { name: 'second', after: 'B' },
      { name: 'third', after: /C$/ },
    ]
    expect(reportOf(printed('ABxC\nx'), { cuts }).phases.map(({ name, accesses }) => [name, accesses])).toEqual([
      ['firmware', 1],
      ['second', 3],
      ['third', 2],
    ])
    const stamped = [1, 2, 3].map((second) => `7@100${second}.000000:${access('read', 'rtc', 0x71)}`).join('')
    expect(
      reportOf(stamped, { cuts: [{ name: 'late', atUs: 1002e6 }] }).phases.map((phase) => [
        phase.name,
        phase.accesses,
        phase.fromUs,
        phase.durationUs,
      ]),
    ).toEqual([
      ['firmware', 1, 0, 1e6],
      ['late', 2, 1e6, 1e6],
    ])
  })

  it('is cut at words that end with a line feed too', () => {
    const { phases } = reportOf(printed('go\r\nxy'), { cuts: [{ name: 'reads', after: 'go\r\n' }] })
    expect(phases.map(({ name, accesses }) => [name, accesses])).toEqual([
      ['firmware', 3],
      ['reads', 3],
    ])
  })

  it('of another machine is none: port numbers mean nothing without a PC', () => {
    const report = reportOf(access('write', 'a9gtimer per cpu', 0x8))
    expect(region(report, 'a9gtimer per cpu').kind).toBe('unknown')
  })
})

describe('configuration space', () => {
  it('has one access for an index, an event and a data line', () => {
    const { pci, events } = reportOf(
      config('read', [0, 1, 0, 0x3e], { event: 'nic 00:01.0 @0x3e -> 0x0' }) +
        config('write', [0, 1, 0, 4], { event: 'nic 00:01.0 @0x4 <- 0x7' }),
    )
    expect(events).toMatchObject({ pci_cfg_read: 1, pci_cfg_write: 1, memory_region_ops_write: 3 })
    expect(pci).toMatchObject({
      source: 'pci_cfg',
      cf8: { reads: 1, writes: 1 },
      byDevice: [
        {
          bdf: '00:01.0',
          device: 'nic',
          reads: 1,
          writes: 1,
          registers: { interrupt: { reads: 1 }, command: { writes: 1 } },
        },
      ],
      absent: { reads: 0, writes: 0, functions: 0 },
    })
  })

  it('in the words of QEMU 5.2 has decimal slots, blanks in names and no bus, which the index tells', () => {
    const { pci } = reportOf(
      config('read', [0, 31, 3, 0], { event: 'ICH9 SMB 31:3 @0x0 -> 0x8086', names: false }) +
        config('write', [2, 31, 3, 4], { event: 'ICH9 SMB 31:3 @0x4 <- 0x1', names: false }) +
        config('read', [5, 31, 3, 0], { value: 0xffffffff, names: false }),
    )
    expect(pci?.byDevice.map(({ bdf, device, reads, writes }) => [bdf, device, reads, writes])).toEqual([
      ['00:1f.3', 'ICH9 SMB', 1, 0],
      ['02:1f.3', 'ICH9 SMB', 0, 1],
    ])
    expect(pci?.absent).toMatchObject({ reads: 1, functions: 1 })
  })

  it('does not know the bus of QEMU 5.2 where the accesses were not traced', () => {
    const { pci } = reportOf('pci_cfg_read ICH9 SMB 31:3 @0x0 -> 0x8086\n')
    expect(pci?.byDevice).toMatchObject([{ bdf: '??:1f.3', device: 'ICH9 SMB', reads: 1 }])
    expect(pci?.absent).toBeUndefined()
  })

  it('counts absent functions alike with and without an event of QEMU', () => {
    const scan = (event?: string): string =>
      Array.from({ length: 32 }, (_, slot) =>
        config('read', [7, slot, 0, 0], {
          value: 0xffffffff,
          ...(event !== undefined && {
            event: `${event} 07:${slot.toString(16).padStart(2, '0')}.0 @0x0 -> 0xffffffff`,
          }),
        }),
      ).join('')
    const known = config('read', [0, 0, 0, 0], { event: 'mch 00:00.0 @0x0 -> 0x8086' })
    const absent = { reads: 32, writes: 0, functions: 32, buses: 1, registers: { '0x0': 32 } }
    expect(reportOf(known + scan()).pci?.absent).toMatchObject(absent)
    expect(reportOf(known + scan('empty')).pci?.absent).toMatchObject(absent)
  })

  it('of a guest with pci=lastbus=0 loses the scan of 255 buses and nothing else', () => {
    const bus = (at: number): string =>
      Array.from({ length: 32 }, (_, slot) => config('read', [at, slot, 0, 0], { value: 0xffffffff })).join('')
    const known = config('read', [0, 0, 0, 0], { event: 'mch 00:00.0 @0x0 -> 0x8086' })
    const all = reportOf(known + Array.from({ length: 254 }, (_, at) => bus(at + 1)).join(''))
    const cut = reportOf(known)
    expect(all.pci?.absent?.reads).toBe(254 * 32)
    expect(cut.pci?.absent?.reads).toBe(0)
    expect(cut.pci?.byDevice).toEqual(all.pci?.byDevice)
  })

  it('is told from other writes to the index’s ports, which QEMU ignores', () => {
    const { pci } = reportOf(
      config('read', [0, 3, 0, 0], { event: 'rng 00:03.0 @0x0 -> 0x1af4' }) +
        access('write', 'pci-conf-idx', 0xcfb, { value: 1, mr: '0x5502' }) +
        access('read', 'pci-conf-data', 0xcfe, { mr: '0x5503', size: 2, value: 0x1005 }),
    )
    // The index still is that of 00:03.0; nothing stands beside the read, so no device answered it.
    expect(pci?.byDevice).toMatchObject([{ bdf: '00:03.0', reads: 1, unanswered: { reads: 1, writes: 0 } }])
    expect(pci?.absent?.functions).toBe(0)
  })

  it('is not asked while the index has no enable bit', () => {
    const report = reportOf(
      access('write', 'pci-conf-idx', 0xcf8, { size: 4 }) + access('read', 'pci-conf-data', 0xcfc, { size: 4 }),
    )
    expect(report.pci).toMatchObject({ byDevice: [], cf8: { reads: 0 }, absent: { reads: 0, functions: 0 } })
    expect(report.diagnostics.problems.map(({ name }) => name)).toEqual(['config-disabled'])
  })

  it('does not exist where the ports belong to nobody, as on microvm', () => {
    const probe =
      access('write', 'io', 0xcf8, { value: 0x80000000, size: 4 }) +
      access('read', 'io', 0xcfc, { value: 0xffffffff, size: 4 })
    const none = { byDevice: [], cf8: { reads: 0, writes: 0 }, absent: { functions: 0 } }
    expect(reportOf(probe).pci).toMatchObject({ ...none, ecam: { reads: 0, writes: 0 } })
    const nameless = reportOf(probe.replaceAll(" name 'io'", '')).pci
    expect(nameless).toMatchObject(none)
    // Without names the window of memory is not known: absent, not 0.
    expect(nameless?.ecam).toBeUndefined()
  })

  it.each([
    ['absolute', 0xb0000000],
    ['relative to the window', 0],
  ])('by memory is told from %s addresses', (_what, base) => {
    const ecam = (direction: 'read' | 'write', at: number, value: number): string =>
      access(direction, 'pcie-mmcfg-mmio', base + at, { value, size: 2 })
    const { pci } = reportOf(
      `pci_cfg_read blk 01:02.3 @0xe -> 0x0\n${ecam('read', 0x11300e, 0)}${ecam('write', 0x113104, 1)}pci_cfg_write blk 01:02.3 @0x104 <- 0x1\n${ecam('read', 0x1f8000, 0xffff)}`,
    )
    expect(pci).toMatchObject({
      byDevice: [{ bdf: '01:02.3', reads: 1, writes: 1, registers: { header: { reads: 1 }, extended: { writes: 1 } } }],
      ecam: { reads: 2, writes: 1 },
      absent: { reads: 1, ecam: { reads: 1 }, cf8: { reads: 0 }, functions: 1 },
    })
  })

  it('by memory may be flooded with reads of absent functions, which have no event in any QEMU', () => {
    const flood = Array.from({ length: 4096 }, (_, fn) =>
      access('read', 'pcie-mmcfg-mmio', 0xb0000000 + fn * 4096, { value: 0xffffffff, size: 4 }),
    )
    expect(reportOf(flood.join('')).pci?.absent).toMatchObject({ reads: 4096, functions: 4096, buses: 16 })
  })
})

describe('other events', () => {
  it('of an assigned device have a name with blanks, slashes and brackets, up to the last comma', () => {
    const name = 'VFIO user </var/tmp/a, @0x0/ctrl.sock>'
    const report = reportOf(
      `321@1620000000.000001:vfio_pci_read_config  (${name}, @0x0, len=0x2) 0x1b36\n321@1620000000.000002:vfio_pci_write_config  (${name}, @0x4, 0x6, len=0x2)\n` +
        `321@1620000000.000003:vfio_region_read  (${name}:region0+0x14, 4) = 0x1\n321@1620000000.000004:vfio_region_write  (${name}:region2+0x1000, 0x7, 8)\n`,
    )
    expect(report.vfio).toEqual([
      {
        device: name,
        config: { reads: 1, writes: 1 },
        regions: [
          { region: 0, reads: 1, writes: 0, bytes: 4 },
          { region: 2, reads: 0, writes: 1, bytes: 8 },
        ],
      },
    ])
    // Nothing of pci_cfg_* or of regions was traced: absent, not 0.
    expect(report.pci).toBeUndefined()
    expect(report.accesses).toBeUndefined()
    expect(report.findings.map(({ name: finding }) => finding)).toEqual(['regions-not-traced'])
  })

  it('of virtio-mmio are counted by register where regions were not traced', () => {
    const text = [0x0, 0x4, 0x8, 0x70]
      .map((at) => `virtio_mmio_read virtio_mmio_read offset 0x${at.toString(16)}\n`)
      .join('')
    const { virtioMmio } = reportOf(
      `${text}virtio_mmio_write_offset virtio_mmio_write offset 0x70 value 0x3\nvirtio_mmio_read virtio_mmio_read offset 0x104\n`,
    )
    expect(virtioMmio?.map(({ register, reads, writes }) => [register, reads, writes])).toEqual([
      ['MagicValue', 1, 0],
      ['Version', 1, 0],
      ['DeviceID', 1, 0],
      ['Status', 1, 1],
      ['Config', 1, 0],
    ])
  })

  it('count exits by reason, known or not', () => {
    const exits = [2, 2, 6, 77].map((reason) => `kvm_run_exit cpu_index 1, reason ${reason}\n`).join('')
    const report = reportOf(
      exits +
        access('read', 'rtc', 0x71) +
        access('read', 'rtc', 0x71) +
        access('write', 'apic-msi', 0xfee00000, { cpu: -1 }),
    )
    expect(report.exits?.byReason).toEqual([
      { reason: 2, name: 'IO', count: 2 },
      { reason: 6, name: 'MMIO', count: 1 },
      { reason: 77, count: 1 },
    ])
    // An access of no vCPU is no exit.
    expect(report.exits?.mmio).toEqual({ exits: 1, accesses: 0 })
    expect(region(report, 'apic-msi')).toMatchObject({ writes: 1, notByVcpu: 1, polled: 'writes' })
  })

  it('count kicks by queue', () => {
    const kick = (queue: number): string => `virtio_queue_notify vdev 0x55d0 n ${queue} vq 0x7f10\n`
    expect(reportOf(kick(0) + kick(1) + kick(1) + access('read', 'rtc', 0x71)).queueNotifies).toEqual([
      { vdev: '0x55d0', queue: 1, count: 2 },
      { vdev: '0x55d0', queue: 0, count: 1 },
    ])
  })
})

describe('no answer', () => {
  it.each([
    ['an empty trace', '', 'empty', /no event was enabled, or QEMU wrote them elsewhere .* no log backend/],
    ['a binary trace', Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 255, 10), 'not-a-log', /simple backend/],
    ['text of something else', 'hello\nworld\n', 'no-events', /no line is of a QEMU trace; give `-D FILE`/],
    [
      'a misspelt event',
      "qemu-system-x86_64: warning: trace event 'memory_region_op_read' does not exist\n",
      'no-events',
      /QEMU says: .*memory_region_op_read' does not exist/,
    ],
    [
      'events of something else',
      'kvm_run_exit cpu_index 0, reason 5\n',
      'no-accesses',
      /events \(kvm_run_exit\), and none of accesses/,
    ],
  ])('is given for %s, with the reason', (_what, input, reason, words) => {
    const result = mmio(input)
    expect(result).toMatchObject({ found: false, reason })
    expect('message' in result && result.message).toMatch(words)
  })
})
