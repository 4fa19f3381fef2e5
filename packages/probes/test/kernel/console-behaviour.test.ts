import { readdirSync, readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findConsoleProblems, findConsoleProblemsIn, scanConsole } from '../../src/index.ts'

const FOLDER = new URL('../fixtures/console/', import.meta.url)
const RECORDINGS = readdirSync(FOLDER).filter((name) => name.endsWith('.console'))

function read(name: string): Uint8Array {
  return readFileSync(new URL(name, FOLDER))
}

function cutAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b)
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
}

describe('chunks', () => {
  it.each(RECORDINGS)('%s gives the same report however it is cut', (name) => {
    const bytes = read(name)
    const whole = findConsoleProblems(bytes)
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 30 }), (cuts) => {
        expect(findConsoleProblems(cutAt(bytes, cuts))).toEqual(whole)
      }),
      { numRuns: 20 },
    )
    expect(findConsoleProblems(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(whole)
  })

  it('gives the same report for text as for its bytes, also when a pair of surrogates is cut apart', () => {
    const text = '[    1.000000] 💥 no\n[    2.000000] BUG: 💥\n'
    const whole = findConsoleProblems(new TextEncoder().encode(text))
    expect(whole.findings.map(({ text: said }) => said)).toEqual(['BUG: 💥'])
    expect(findConsoleProblems(text)).toEqual(whole)
    expect(findConsoleProblems(text.split(''))).toEqual(whole)
  })

  it('reads a stream', async () => {
    async function* stream(): AsyncGenerator<Uint8Array> {
      yield* cutAt(read('linux-6.1-null.console'), [100, 2000])
    }
    expect(await findConsoleProblemsIn(stream())).toEqual(findConsoleProblems(read('linux-6.1-null.console')))
  })

  it('does not keep what a stream reuses', () => {
    const scan = scanConsole()
    const buffer = new TextEncoder().encode('[    1.000000] BUG: one')
    scan.push(buffer)
    buffer.fill(0)
    scan.push('\n')
    expect(scan.end().findings[0]?.text).toBe('BUG: one')
  })
})

describe('foreign bytes', () => {
  it('never make it throw, and are all accounted for', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        const report = findConsoleProblems(bytes)
        expect(report.bytes).toBe(bytes.length)
        for (const { line, byteOffset } of report.findings) {
          expect(line).toBeLessThanOrEqual(report.lines)
          expect(byteOffset).toBeLessThan(bytes.length)
        }
      }),
    )
  })

  it('a recording that stops at any byte shows the problems of the whole one up to there', () => {
    const bytes = read('linux-6.1-null-panic1.console')
    const whole = findConsoleProblems(bytes).findings
    const counts = new Set<number>()
    for (let end = 0; end <= bytes.length; end += 7) {
      const { findings, lines } = findConsoleProblems(bytes.subarray(0, end))
      counts.add(findings.length)
      expect(findings.map(({ line }) => line)).toEqual(whole.slice(0, findings.length).map(({ line }) => line))
      // Only the words of the line that is cut can be taken for something else.
      const settled = findings.filter(({ line }) => line < lines)
      expect(settled.map(({ kind }) => kind)).toEqual(whole.slice(0, settled.length).map(({ kind }) => kind))
    }
    expect([...counts]).toEqual([0, 1, 2])
  })

  it('a recording that begins at any byte of the panic line loses at most that line', () => {
    const bytes = read('linux-6.12-noroot.console')
    const [panic] = findConsoleProblems(bytes).findings
    const start = panic?.byteOffset ?? Number.NaN
    for (let begin = start; begin <= start + 15; begin += 1) {
      expect(findConsoleProblems(bytes.subarray(begin)).findings.map(({ kind }) => kind)).toEqual(['panic'])
    }
    const later = findConsoleProblems(bytes.subarray(start + 20)).findings
    expect(later.map(({ kind, text }) => [kind, text.slice(0, 20)])).toEqual([['panic', '---[ end Kernel pani']])
  })

  it.each([
    ['brackets', '[ '.repeat(500_000)],
    ['digits', '[1'.padEnd(1_000_000, '1')],
    ['open escapes', '\u001b['.repeat(500_000)],
    ['one long escape', `\u001b[${'0'.repeat(1_000_000)}`],
    ['open operating system commands', '\u001b]x'.repeat(300_000)],
    ['a warning without an end', `[    1.000000] WARNING: ${'at x '.repeat(200_000)}`],
    ['a report without an end', `[    1.000000] Oops ${'a: 0000 '.repeat(120_000)}`],
    ['a unit name without an end', `[    1.000000] systemd[1]: ${'Found ordering cycl '.repeat(50_000)}`],
    ['carriage returns', '\r'.repeat(1_000_000)],
    ['many lines', '[    1.000000] x\n'.repeat(60_000)],
  ])('a megabyte of %s takes linear time', (_, text) => {
    // Quadratic time would be 10^12 steps: the test's own time limit is the bound.
    expect(findConsoleProblems(text).findings).toEqual([])
  })

  it('drops a line over the cap with a diagnostic and goes on behind it', () => {
    const scan = scanConsole({ lineCapBytes: 40 })
    scan.push(`[    1.000000] BUG: ${'x'.repeat(40)}\n[    2.000000] BUG: short\n`)
    const report = scan.end()
    expect(report.findings.map(({ text, line }) => [text, line])).toEqual([['BUG: short', 2]])
    expect(report.diagnostics).toMatchObject([{ name: 'line-too-long', file: 'console.bin', count: 1, lines: [1] }])
  })
})

describe('what belongs to a finding', () => {
  const line = (second: number, text: string): string => `[${String(second).padStart(5)}.000000] ${text}\n`

  it('cuts very long words', () => {
    const [finding] = findConsoleProblems(line(1, `BUG: ${'x'.repeat(5000)}`)).findings
    expect(finding?.text).toHaveLength(1001)
    expect(finding?.text.endsWith('…')).toBe(true)
  })

  it('keeps 80 lines and the last, and counts the rest', () => {
    const body = Array.from({ length: 100 }, (_, index) => line(2, `frame ${index}`)).join('')
    const text = `${line(1, 'WARNING: CPU: 0 PID: 1 at a.c:1 f+0x0/0x1')}${body}${line(3, '---[ end trace 0000 ]---')}`
    const [finding] = findConsoleProblems(text).findings
    expect(finding?.excerpt).toHaveLength(81)
    expect(finding?.excerpt[79]).toBe('frame 79')
    expect(finding).toMatchObject({ omittedLines: 20, complete: true })
  })

  it('ends a report that the kernel did not go on with', () => {
    const text = `${line(1, 'BUG: scheduling while atomic: a/1/2')}${line(2, 'Call Trace:')}${line(18, 'later')}`
    expect(findConsoleProblems(text).findings).toMatchObject([{ excerpt: ['Call Trace:'], complete: false }])
  })

  it('ends a report where the kernel boots again', () => {
    const text = `${line(1, 'Kernel panic - not syncing: x')}${line(0, 'Linux version 6.1')}${line(0, 'Command line: x')}`
    expect(findConsoleProblems(text).findings).toMatchObject([{ kind: 'panic', excerpt: [], complete: false }])
  })

  it('ends a report where another is cut in', () => {
    const text = `${line(1, 'BUG: scheduling while atomic: a/1/2')}${line(1, '------------[ cut here ]------------')}${line(1, 'why')}${line(1, 'WARNING: CPU: 0 PID: 1 at a.c:1 f+0x0/0x1')}`
    expect(findConsoleProblems(text).findings).toMatchObject([
      { kind: 'bug', excerpt: [], lead: [] },
      { kind: 'warning', lead: ['------------[ cut here ]------------', 'why'] },
    ])
  })

  it('does not take what is said long after a cut for the reason of a report', () => {
    const said = Array.from({ length: 9 }, (_, index) => line(1, `said ${index}`)).join('')
    const text = `${line(1, '------------[ cut here ]------------')}${said}${line(1, 'BUG: x')}`
    expect(findConsoleProblems(text).findings).toMatchObject([{ lead: [] }])
  })

  it('keeps lines of user space out of the reason of a report', () => {
    const text = `${line(1, '------------[ cut here ]------------')}[  OK  ] Started x\n${line(1, 'BUG: x')}`
    expect(findConsoleProblems(text).findings).toMatchObject([{ lead: ['------------[ cut here ]------------'] }])
  })

  it('takes two oopses in a row as two', () => {
    const text = `${line(1, 'BUG: kernel NULL pointer dereference, address: 0')}${line(1, 'Oops: 0002 [#1] SMP')}${line(1, 'Oops: 0002 [#2] SMP')}`
    expect(findConsoleProblems(text).findings.map(({ text: said }) => said)).toEqual([
      'BUG: kernel NULL pointer dereference, address: 0',
      'Oops: 0002 [#2] SMP',
    ])
  })

  it('takes two ordering cycles in a row as two, each with its jobs', () => {
    const cycle = (a: string): string =>
      `systemd[1]: ${a}: Found ordering cycle on b/start\nsystemd[1]: ${a}: Found dependency on ${a}/start\nkernel noise\nsystemd[1]: ${a}: Job b/start deleted to break ordering cycle starting with ${a}/start\n[ SKIP ] Ordering cycle found, skipping b\n`
    const { findings } = findConsoleProblems(cycle('x') + cycle('y'))
    expect(findings.map(({ excerpt }) => excerpt.length)).toEqual([3, 3])
    expect(findings.every(({ complete }) => complete)).toBe(true)
  })

  it('takes a shell that asks again and again as one finding', () => {
    const text =
      'You are in emergency mode. After logging in\nGive root password for maintenance\n(initramfs) \n(initramfs) \n'
    expect(findConsoleProblems(text).findings).toMatchObject([
      { kind: 'emergency-shell', line: 1, excerpt: { length: 3 } },
    ])
  })

  it('finds a kernel line that was printed into the middle of a status line', () => {
    const text =
      '[\u001b[0;32m  OK  \u001b[0m] Started \u001b[0;1;39mfoo[    9.000000] BUG: in the middle\r\n.service\u001b[0m.\r\n'
    expect(findConsoleProblems(text).findings).toMatchObject([{ text: 'BUG: in the middle', atNs: 9e9, line: 1 }])
  })

  it('finds what stands before such a kernel line too', () => {
    const text = '(initramfs) [    9.000000] random: crng init done\n'
    expect(findConsoleProblems(text).findings).toMatchObject([{ kind: 'emergency-shell' }])
  })

  it('finds a line behind a progress display that rewrites itself', () => {
    const text = '[***   ] A start job is running\r\u001b[K[    9.000000] BUG: behind\r\n'
    expect(findConsoleProblems(text).findings).toMatchObject([{ text: 'BUG: behind' }])
  })

  it('takes the Code line of a segfault, and only that', () => {
    const text = `${line(1, 'a[1]: segfault at 8 ip 01 sp 02 error 6 in a[3+4]')}${line(1, 'Code: 02 00')}${line(1, 'other')}`
    expect(findConsoleProblems(text).findings).toMatchObject([{ excerpt: ['Code: 02 00'], complete: true }])
  })

  it('ends the report of a sanitizer with its rule', () => {
    const text = `${line(1, 'BUG: KASAN: slab-out-of-bounds in f')}${line(1, ' </TASK>')}${line(1, 'Allocated by task 1:')}${line(1, '='.repeat(66))}${line(1, 'other')}`
    expect(findConsoleProblems(text).findings).toMatchObject([{ excerpt: { length: 3 }, complete: true }])
  })
})
