import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { runBoxlab } from './run-boxlab.ts'

vi.setConfig({ testTimeout: 60_000 })

const TABLE = `JOB UNIT             TYPE  STATE
97  ssh.service      start waiting
└─  \twaiting for job 77 (network.target/start) -     -
77  network.target   start running

2 jobs listed.
`

/** A file with this text, for as long as the test runs. */
function file(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'boxlab-from-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'input.txt')
  writeFileSync(path, text)
  return path
}

describe('boxlab jobs', () => {
  test('prints the queue of a file', async () => {
    expect(await runBoxlab(['jobs', '--from', file(TABLE)])).toMatchObject({
      code: 0,
      stderr: '',
      stdout: `\
2 jobs · 1 running, 1 waiting · systemctl list-jobs · n=1

still queued:
  running  77 network.target
  waiting  97 ssh.service; waits on 77 network.target [running]
`,
    })
  })

  test('prints it as JSON of version 1', async () => {
    const { code, stdout } = await runBoxlab(['jobs', '--json', '--from', file(TABLE)])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      version: 1,
      jobs: [
        { id: 77, unit: 'network.target', type: 'start', state: 'running', waitedOn: [], blocking: [97] },
        { id: 97, unit: 'ssh.service', type: 'start', state: 'waiting', waitedOn: [77], blocking: [] },
      ],
      diagnostics: { unparsed: 0 },
    })
  })

  test('with no job in the queue is an answer', async () => {
    const { code, stdout } = await runBoxlab(['jobs', '--from', file('No jobs running.\n')])
    expect([code, stdout]).toEqual([0, '0 jobs · systemctl list-jobs · n=1\n'])
  })
})

describe('boxlab graph', () => {
  const MOVED = `# tracer: function_graph
#
# CPU  TASK/PID         DURATION                  FUNCTION CALLS
# |     |    |           |   |                     |   |   |   |
 1)   sleep-7     |               |  hrtimer_nanosleep() {
 0)   sleep-7     | * 55363.25 us |  } /* hrtimer_nanosleep */
`

  test('prints a function that changed its CPU as one', async () => {
    const { code, stdout } = await runBoxlab(['graph', '--from', file(MOVED)])
    expect(code).toBe(0)
    expect(stdout).toContain('  55.363  1 -> 0      0  sleep-7  hrtimer_nanosleep\n')
  })

  test('prints it as JSON of version 1', async () => {
    const { code, stdout } = await runBoxlab(['graph', '--json', '--from', file(MOVED)])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      version: 1,
      spans: [
        {
          name: 'hrtimer_nanosleep',
          task: 'sleep-7',
          cpuOpen: 1,
          cpuClose: 0,
          depth: 0,
          durationUs: 55_363.25,
          migrated: true,
        },
      ],
      summary: { frames: 1, migrated: 1, unopened: 0, unclosed: 0, lost: 0 },
      diagnostics: { unparsed: 0 },
    })
  })

  test('writes a drawing and stacks, and says why there is nothing for Perfetto', async () => {
    const trace = file(MOVED)
    const [svg, stacks, perfetto] = ['svg', 'stacks', 'json'].map((kind) => `${trace}.${kind}`) as [
      string,
      string,
      string,
    ]
    const forms = ['--svg', svg, '--stacks', stacks, '--perfetto', perfetto]
    const { code, stderr } = await runBoxlab(['graph', '--from', trace, ...forms])
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/json is not written: .* trace with funcgraph-abstime\n$/),
    ])
    expect(readFileSync(svg, 'utf8')).toMatch(/^<svg /)
    expect(readFileSync(stacks, 'utf8')).toBe('hrtimer_nanosleep 55363250\n')
  })

  test('takes a record in which the trace was asked for', async () => {
    const record = `${file('')}.record`
    mkdirSync(join(record, 'guest'), { recursive: true })
    expect(await runBoxlab(['graph', '--from', record])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/has no trace; call `box\.graph\(\)` while the box runs\n$/),
    })
    writeFileSync(join(record, 'guest/graph-trace.txt'), MOVED)
    writeFileSync(join(record, 'guest/graph-facts.txt'), '/sys/kernel/tracing/per_cpu/cpu0/stats:overrun: 0\n')
    const { code, stdout } = await runBoxlab(['graph', '--from', record])
    expect([code, stdout]).toEqual([0, expect.stringMatching(/0 events\s+lost/)])
  })

  test('says of an empty trace what may be why', async () => {
    const { code, stdout, stderr } = await runBoxlab(['graph', '--from', file('# CPU  DURATION   FUNCTION CALLS\n')])
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^boxlab: no function: the trace has its header and no function/)
  })
})

describe.each([
  ['graph', /^boxlab: no function: nothing in the input is of function_graph/, ' or --filter FUNCTION…'],
  ['jobs', /^boxlab: no jobs: nothing in the input tells of jobs/, ' or --image KIND:PLACE'],
  ['waits', /^boxlab: no waits of multi-user\.target: there is no whole unit/, ' or --image KIND:PLACE'],
] as const)('boxlab %s', (command, sentence, orElse) => {
  test('exits with 1 and a sentence where there is no answer', async () => {
    const { code, stdout, stderr } = await runBoxlab([command, '--from', file('root:x:0:0\n')])
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(sentence)
  })

  test('exits with 2 for a file that is not there', async () => {
    const { code, stdout, stderr } = await runBoxlab([command, '--from', '/nonexistent.txt'])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^boxlab: \/nonexistent\.txt cannot be read \(ENOENT\); give [^\n]+\n$/)
  })

  test('exits with 2 without a file or a box to boot', async () => {
    const { code, stderr } = await runBoxlab([command])
    expect(code).toBe(2)
    expect(stderr).toBe(`boxlab: give --from FILE…${orElse}; see \`boxlab ${command} --help\`
`)
  })
})

describe('boxlab initcalls', () => {
  const LOG = (version: string, ms: number): string => `[    0.000000] Linux version ${version} x
[    0.100000] clocksource: Switched to clocksource tsc
[    0.200000] calling  acpi_init+0x0/0x4 @ 1
[    0.${200 + ms}000] initcall acpi_init+0x0/0x4 returned 0 after ${ms}000 usecs
`

  test('prints the calls of a log, and their waterfall', async () => {
    const svg = join(mkdtempSync(join(tmpdir(), 'boxlab-svg-')), 'initcalls.svg')
    onTestFinished(() => rmSync(join(svg, '..'), { recursive: true }))
    const { code, stdout, stderr } = await runBoxlab(['initcalls', '--from', file(LOG('6.1.0', 40)), '--svg', svg])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^Linux 6\.1\.0 · 1 initcall · 0 returned no 0 · 40\.000 ms in calls · n=1\n/)
    expect(readFileSync(svg, 'utf8')).toContain('acpi_init, 40.000 ms from 200.000 ms on')
  })

  test('prints them as JSON of version 1', async () => {
    const { code, stdout } = await runBoxlab(['initcalls', '--from', file(LOG('6.1.0', 40)), '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      version: 1,
      calls: [{ name: 'acpi_init', returned: 0, startUs: 200_000, durationUs: 40_000, source: 'usecs' }],
      summary: { count: 1, nonZero: 0, unfinished: 0 },
      diagnostics: { lines: 4, unparsed: 0 },
    })
  })

  test('compares two kernels', async () => {
    const { code, stdout } = await runBoxlab(['initcalls', '--compare', file(LOG('6.1.0', 40)), file(LOG('7.2.0', 70))])
    expect(code).toBe(0)
    expect(stdout).toContain('A: Linux 6.1.0, 1 initcall, n=1\nB: Linux 7.2.0, 1 initcall, n=1\none boot each')
    expect(stdout).toMatch(/\+30\.000 +40\.000 +70\.000 +acpi_init/)
  })

  test('puts several boots of one kernel together', async () => {
    const files = [10, 20, 30, 40, 50].map((ms) => file(LOG('6.1.0', ms)))
    const { code, stdout } = await runBoxlab(['initcalls', '--from', ...files])
    expect(code).toBe(0)
    expect(stdout).toMatch(/n=5\n[^]*30\.000 +10\.000 +50\.000 +5 +acpi_init/)
  })

  test.each([
    [['--from', '/nonexistent.txt'], 2, /^boxlab: \/nonexistent\.txt cannot be read \(ENOENT\); give a kernel log/],
    [['--compare', '/nonexistent.txt'], 2, /`--compare` takes two logs or records/],
    [['--from', 'a', '--compare', 'a', 'b'], 2, /`--from` and `--compare` exclude each other/],
    [['--from', 'a', 'b', '--svg', 'x'], 2, /`--svg` draws one boot/],
    [[], 2, /give --from FILE…, or --kernel PATH, --image KIND:PLACE or --boots N to boot/],
    [['--boots', '2', '--record', '/x'], 2, /`--record` names one record/],
  ] as const)('%s is wrong use, said in a sentence', async (args, expected, sentence) => {
    const { code, stdout, stderr } = await runBoxlab(['initcalls', ...args])
    expect([code, stdout]).toEqual([expected, ''])
    expect(stderr).toMatch(sentence)
    expect(stderr).toMatch(/^boxlab: [^\n]+\n$/)
  })

  test('exits with 1 and a sentence where there is no answer', async () => {
    const { code, stdout, stderr } = await runBoxlab(['initcalls', '--from', file('root:x:0:0\n')])
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^boxlab: \S+: no initcalls: the log has no initcall: boot with `initcall_debug`/)
  })
})

describe('a record', () => {
  const unit = (id: string, after: string, run: number, end: number): string =>
    `\nId=${id}\nNames=${id}\nAfter=${after}\nConditionTimestampMonotonic=${run}\nInactiveExitTimestampMonotonic=${run}\nActiveEnterTimestampMonotonic=${end}\nActiveExitTimestampMonotonic=0\nInactiveEnterTimestampMonotonic=0\n`
  const UNITS = `UserspaceTimestampMonotonic=1000\nUnitsLoadFinishTimestampMonotonic=2000\nFinishTimestampMonotonic=9000\n${unit('a.service', '', 3000, 5000)}${unit('multi-user.target', 'a.service', 5500, 5500)}`
  const JOBS = [
    { header: { version: 1, startUs: 1, connectedUs: 2, tries: 3 } },
    {
      t: 2500,
      type: 'return',
      reply_serial: 1,
      sig: 'a(usssoo)',
      body: [[[7, 'a.service', 'start', 'waiting', '/j/7', '/u/a']]],
    },
    {
      t: 5100,
      type: 'signal',
      path: '/org/freedesktop/systemd1',
      interface: 'org.freedesktop.systemd1.Manager',
      member: 'JobRemoved',
      sig: 'uoss',
      body: [7, '/j/7', 'a.service', 'done'],
    },
  ]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('')

  /** A record that has these files of systemd's. */
  function record(files: Readonly<Record<string, string>>): string {
    const folder = mkdtempSync(join(tmpdir(), 'boxlab-record-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    mkdirSync(join(folder, 'guest'))
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, 'guest', name), text)
    return folder
  }

  test('gives its waits, and their waterfall', async () => {
    const folder = record({ 'systemd-units.txt': UNITS })
    const svg = join(folder, 'waits.svg')
    const { code, stdout } = await runBoxlab(['waits', '--from', folder, '--json', '--svg', svg])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ target: 'multi-user.target', totalUs: 4500, resolution: 'microsecond' })
    expect(readFileSync(svg, 'utf8')).toMatch(/^<svg [^]*a\.service: activating, 2\.000 ms/)
  })

  test('gives its jobs, with what the units say of them', async () => {
    const folder = record({ 'systemd-units.txt': UNITS, 'systemd-jobs.jsonl': JOBS })
    const { code, stdout } = await runBoxlab(['jobs', '--from', folder, '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      version: 1,
      jobs: [{ id: 7, unit: 'a.service', type: 'start', result: 'done', releasedUs: 3000, removedUs: 5100 }],
    })
  })

  test('gives its initcalls from what was read in the guest, else from its console', async () => {
    const line = (name: string): string => `initcall ${name}+0x0/0x4 returned 0 after 123 usecs\n`
    const folder = record({ '../console.bin': line('on_console') })
    const names = async (): Promise<string[]> => {
      const { stdout } = await runBoxlab(['initcalls', '--json', '--from', folder])
      return (JSON.parse(stdout) as { calls: { name: string }[] }).calls.map(({ name }) => name)
    }
    expect(await names()).toEqual(['on_console'])
    writeFileSync(join(folder, 'guest/dmesg.txt'), line('in_dmesg'))
    expect(await names()).toEqual(['in_dmesg'])
    const { code, stderr } = await runBoxlab(['initcalls', '--from', record({})])
    expect(code).toBe(2)
    expect(stderr).toMatch(/has no kernel log; boot with `record: \{ initcalls: true \}`\n$/)
  })

  test('without anything of systemd says so', async () => {
    const folder = record({})
    const { code, stderr } = await runBoxlab(['jobs', '--from', folder])
    expect(code).toBe(2)
    expect(stderr).toBe(`boxlab: the record ${folder} has nothing of systemd; boot with \`record: { jobs: true }\`\n`)
  })
})

describe('boxlab mmio', () => {
  const line = (direction: string, region: string, address: string): string =>
    `memory_region_ops_${direction} cpu 0 mr 0x1 addr ${address} value 0x0 size 1 name '${region}'\n`
  const TRACE = `${line('read', 'rtc', '0x71')}${line('write', 'rtc-index', '0x70')}pci_cfg_read rng 00:03.0 @0x0 -> 0x1af4\n`
  const MAP =
    'FlatView #0\n AS "I/O", root: io\n  0000000000000071-0000000000000071 (prio 0, i/o): rtc owner:{dev id=clock0}\n'

  test('prints the accesses of a trace, as a table and as JSON of version 1', async () => {
    const trace = file(TRACE)
    const { code, stdout } = await runBoxlab(['mmio', '--from', trace])
    expect([code, stdout.split('\n')[0]]).toEqual([0, 'QEMU log without stamps · 3 lines · 2 accesses · n=1'])
    const json = await runBoxlab(['mmio', '--from', trace, '--mtree', file(MAP), '--json'])
    expect(json.code).toBe(0)
    expect(JSON.parse(json.stdout)).toMatchObject({
      version: 1,
      format: 'log',
      lines: 3,
      events: { pci_cfg_read: 1 },
      pci: { byDevice: [{ bdf: '00:03.0', device: 'rng', reads: 1, writes: 0 }] },
      regions: [
        { name: 'rtc', device: 'clock0', kind: 'pio', reads: 1, writes: 0, bytes: 1 },
        { name: 'rtc-index', kind: 'pio', reads: 0, writes: 1, polled: 'reads' },
      ],
      diagnostics: { unparsed: 0 },
    })
  })

  test('reads several traces one after another, and the trace of a record', async () => {
    const two = await runBoxlab(['mmio', '--from', file(TRACE.trimEnd()), file(TRACE), '--json'])
    expect(JSON.parse(two.stdout)).toMatchObject({ lines: 6, accesses: 4, diagnostics: { unparsed: 0 } })
    const folder = mkdtempSync(join(tmpdir(), 'boxlab-record-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const none = await runBoxlab(['mmio', '--from', folder])
    expect([none.code, none.stderr]).toEqual([2, `boxlab: the record ${folder} has no trace (trace/qemu.log)\n`])
    mkdirSync(join(folder, 'trace'))
    writeFileSync(join(folder, 'trace/qemu.log'), TRACE)
    writeFileSync(join(folder, 'trace/mtree.txt'), MAP)
    const record = await runBoxlab(['mmio', '--from', folder, '--json'])
    expect(JSON.parse(record.stdout)).toMatchObject({
      regions: [{ name: 'rtc', device: 'clock0' }, { name: 'rtc-index' }],
    })
  })

  test('exits with 1 and a sentence where there is no answer', async () => {
    const { code, stdout, stderr } = await runBoxlab(['mmio', '--from', file('')])
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^boxlab: no accesses: the trace is empty: no event was enabled/)
  })

  test('exits with 2 for a file that is not there, one that is no memory map, and no file at all', async () => {
    const trace = file(TRACE)
    const missing = await runBoxlab(['mmio', '--from', '/nonexistent.log'])
    const wrong = await runBoxlab(['mmio', '--from', trace, '--mtree', trace])
    const nothing = await runBoxlab(['mmio'])
    expect([missing.code, wrong.code, nothing.code]).toEqual([2, 2, 2])
    expect(missing.stderr).toMatch(/^boxlab: \/nonexistent\.log cannot be read \(ENOENT\); give a trace/)
    expect(wrong.stderr).toContain('holds no memory map; give the output of `info mtree -f -o`')
    expect(nothing.stderr).toBe(
      'boxlab: give --from FILE…, or a box to boot, such as --machine q35; see `boxlab mmio --help`\n',
    )
  })
})
