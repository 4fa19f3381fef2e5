import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type ConsoleFinding, type ConsoleProblemKind, findConsoleProblems } from '../../src/index.ts'

function recording(name: string): Uint8Array {
  return readFileSync(new URL(`../fixtures/console/${name}.console`, import.meta.url))
}

function findingsOf(name: string): readonly ConsoleFinding[] {
  return findConsoleProblems(recording(name)).findings
}

describe('what real guests print', () => {
  it.each<[string, ConsoleProblemKind[]]>([
    ['linux-6.1-warn', ['warning']],
    ['linux-6.1-warnon', ['warning']],
    ['linux-6.1-warn-untimed', ['warning']],
    ['linux-6.1-bug', ['bug']],
    ['linux-6.1-null', ['oops']],
    ['linux-6.1-paging', ['oops']],
    ['linux-6.1-gpf', ['oops']],
    ['linux-6.1-null-panic1', ['oops', 'panic']],
    ['linux-6.1-atomic', ['bug', 'warning']],
    ['linux-6.1-soft', ['soft-lockup', 'soft-lockup', 'soft-lockup']],
    ['linux-6.1-rcu', ['soft-lockup', 'rcu-stall']],
    ['linux-6.1-hung', ['hung-task', 'hung-task', 'hung-task', 'hung-task']],
    ['linux-6.1-oom', ['oom']],
    ['linux-6.1-segv', ['segfault', 'segfault', 'segfault']],
    ['linux-6.1-sysrq', ['panic']],
    ['linux-6.1-exit', ['panic']],
    ['linux-6.1-exit-panic0', ['panic']],
    ['linux-6.12-warn', ['warning']],
    ['linux-6.12-bug', ['bug']],
    ['linux-6.12-null', ['oops']],
    ['linux-6.12-gpf', ['oops']],
    ['linux-6.12-atomic', ['bug', 'warning']],
    ['linux-6.12-soft', ['soft-lockup', 'soft-lockup']],
    ['linux-6.12-hung', ['hung-task', 'hung-task', 'hung-task', 'hung-task']],
    ['linux-6.12-oom', ['oom']],
    ['linux-6.12-segv', ['segfault', 'segfault', 'segfault']],
    ['linux-6.12-exit', ['panic']],
    ['linux-6.12-noroot', ['panic']],
    ['systemd-252-nasty', ['ordering-cycle']],
    ['linux-6.1-whole-boot', []],
    ['linux-6.12-whole-boot', []],
    ['systemd-257-quiet', []],
  ])('%s shows %j', (name, kinds) => {
    expect(findingsOf(name).map(({ kind }) => kind)).toEqual(kinds)
  })

  it('names line, offset, stamp and words of a warning, with what was said before it', () => {
    const bytes = recording('linux-6.1-warn')
    const [warning] = findConsoleProblems(bytes).findings
    expect(warning).toMatchObject({
      line: 13,
      atNs: 6_744_433_000,
      text: 'WARNING: CPU: 0 PID: 78 at drivers/misc/faulty.c:15 faulty_init+0x3c/0x1000 [faulty]',
      lead: ['------------[ cut here ]------------', 'faulty asked for a warning'],
      omittedLines: 0,
      complete: true,
    })
    const line = new TextDecoder().decode(bytes.subarray(warning?.byteOffset)).split('\n')[0]
    expect(line).toContain('] WARNING: CPU: 0 PID: 78 at ')
  })

  it('ends the excerpt of a warning with its end marker and holds the call trace', () => {
    const [warning] = findingsOf('linux-6.12-warn')
    expect(warning?.excerpt.at(-1)).toBe('---[ end trace 0000000000000000 ]---')
    expect(warning?.excerpt).toContain('Call Trace:')
    expect(warning?.excerpt).toContain('RIP: 0010:faulty_init+0x17e/0xff0 [faulty]')
  })

  it('ends the excerpt of a panic with the line that says so', () => {
    const [panic] = findingsOf('linux-6.1-exit-panic0')
    expect(panic?.excerpt.at(-1)).toBe(
      '---[ end Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000300 ]---',
    )
    expect(panic?.complete).toBe(true)
  })

  it('says that a panic is not complete when the kernel went down without the line', () => {
    const [panic] = findingsOf('linux-6.1-exit')
    expect(panic?.complete).toBe(false)
    expect(panic?.excerpt.at(-1)).toMatch(/^Kernel Offset: /)
  })

  it('ends a panic that reboots with the word on the reboot', () => {
    expect(findingsOf('linux-6.1-null-panic1')[1]?.excerpt.at(-1)).toBe('Rebooting in 1 seconds..')
  })

  it('counts a NULL dereference once, with its Oops line and registers in the excerpt', () => {
    const [oops] = findingsOf('linux-6.12-null')
    expect(oops?.text).toBe('BUG: kernel NULL pointer dereference, address: 0000000000000000')
    expect(oops?.excerpt.some((line) => line.startsWith('Oops: Oops: 0002 [#1]'))).toBe(true)
    expect(oops?.excerpt.at(-1)).toBe('---[ end trace 0000000000000000 ]---')
  })

  it('counts a BUG() once, with the invalid opcode that follows', () => {
    const [bug] = findingsOf('linux-6.1-bug')
    expect(bug?.text).toBe('kernel BUG at drivers/misc/faulty.c:17!')
    expect(bug?.excerpt[0]).toBe('invalid opcode: 0000 [#1] PREEMPT SMP NOPTI')
  })

  it('ends the report of an out-of-memory kill with the victim', () => {
    const [oom] = findingsOf('linux-6.12-oom')
    expect(oom?.text).toMatch(/^init invoked oom-killer: /)
    expect(oom?.excerpt.at(-1)).toMatch(/^Out of memory: Killed process 127 \(init\)/)
  })

  it('leaves status lines of user space out of a report of the kernel', () => {
    const text = new TextDecoder().decode(recording('linux-6.1-hung'))
    expect(text).toMatch(/blocked for more than 2 seconds[^]*Reached target[^]*blocked for more than 4 seconds/)
    for (const { excerpt } of findingsOf('linux-6.1-hung')) {
      expect(excerpt.filter((line) => line.includes('Reached target'))).toEqual([])
      expect(excerpt.at(-1)).toBe(' </TASK>')
    }
  })

  it('takes what systemd logs and what it shows of one cycle as one finding', () => {
    const [cycle] = findingsOf('systemd-252-nasty')
    expect(cycle?.text).toContain('Job n-cyc-b.service/start deleted to break ordering cycle')
    expect(cycle?.excerpt).toEqual(['[ SKIP ] Ordering cycle found, skipping n-cyc-b.service'])
  })

  it('says how much it is based on, so that an empty console is not taken for a clean one', () => {
    const bytes = recording('linux-6.1-whole-boot')
    expect(findConsoleProblems(bytes)).toMatchObject({ findings: [], lines: 339, bytes: bytes.length, diagnostics: [] })
    expect(findConsoleProblems('')).toMatchObject({ findings: [], lines: 0, bytes: 0 })
  })
})
