import { describe, expect, it } from 'vitest'
import { graph } from '../../../src/index.ts'
import { HEADER, recording, reportOf } from './traces.ts'

/** What `grep . FILE…` prints of files of tracefs. */
const file = (name: string, text: string): string => `/sys/kernel/tracing/${name}:${text}\n`
const RUNS = file('current_tracer', 'function_graph') + file('available_tracers', 'blk function_graph function nop')
const DEFAULT = file('tracing_on', '1') + RUNS

const why = (...texts: readonly string[]): object => graph(texts.map((input, index) => ({ name: `in${index}`, input })))

describe('why a trace is empty', () => {
  it.each([
    ['lockdown', '/sys/kernel/security/lockdown:none integrity [confidentiality]\n'],
    ['lockdown', '[    0.500000] Can not register tracer function_graph due to lockdown\n'],
    ['lockdown', '[    0.479634] Lockdown: swapper/0: use of tracefs is restricted; see man kernel_lockdown.7\n'],
    ['tracefs-empty', "cat: can't open '/sys/kernel/tracing/trace': No such file or directory\n"],
    ['not-permitted', "cat: can't open '/sys/kernel/tracing/trace': Operation not permitted\n"],
    ['not-permitted', 'grep: /sys/kernel/tracing/trace: Permission denied\n'],
    ['tracer-missing', file('available_tracers', 'function nop')],
    ['tracer-not-set', DEFAULT.replace('current_tracer:function_graph', 'current_tracer:nop')],
    ['tracing-off', `${RUNS}${file('tracing_on', '0')}`],
    ['filter-matched-nothing', `${DEFAULT}${file('set_graph_function', 'acpi_init')}`],
    [
      'filter-matched-nothing',
      '[    0.000000] Kernel command line: ro ftrace=function_graph ftrace_graph_filter=acpi_init,b\n',
    ],
    ['overrun', `${DEFAULT}${file('per_cpu/cpu0/stats', 'overrun: 12')}`],
    ['empty', DEFAULT],
    ['empty', ''],
  ] as const)('%s: %s', (reason, facts) => {
    expect(why(HEADER, facts)).toMatchObject({ found: false, reason })
    // Each sentence says what to do about it.
    expect(why(HEADER, facts)).toHaveProperty('message', expect.stringMatching(/boot|mount|root|trac|buffer/))
  })

  it('asks in the order in which the causes hide one another', () => {
    const [level, noFiles, refused, missing, off, filter] = [
      'none integrity [confidentiality]\n',
      "cat: can't open '/sys/kernel/tracing/trace': No such file or directory\n",
      "cat: can't open '/sys/kernel/tracing/tracing_on': Operation not permitted\n",
      file('available_tracers', 'nop'),
      file('tracing_on', '0'),
      file('set_graph_function', 'acpi_init'),
    ] as const
    const all = [level, noFiles, refused, missing, off, filter]
    expect(all.map((_, index) => (why(all.slice(index).join('')) as { reason?: string }).reason)).toEqual([
      'lockdown',
      'tracefs-empty',
      'not-permitted',
      'tracer-missing',
      'tracing-off',
      'filter-matched-nothing',
    ])
  })

  it('integrity does not close tracefs', () => {
    expect(why(HEADER, 'none [integrity] confidentiality\n', DEFAULT)).toMatchObject({ reason: 'empty' })
  })

  it('lockdown that is raised while it runs leaves what was read before', () => {
    const text = recording('lockdown-raised-at-runtime-6.1.txt')
    expect(reportOf(text).spans[0]?.name).toBe('next_uptodate_page')
    const after = text.slice(text.indexOf('after: lockdown='))
    expect(why(after.slice(0, after.indexOf('already-open')))).toMatchObject({ found: false, reason: 'lockdown' })
  })
})

describe('what stands beside a trace', () => {
  const one = `${HEADER} 0) # 9000.000 us |  acpi_init();\n`

  it('stats of the CPUs say how many events were overwritten', () => {
    const stats = (cpu: number, overrun: number): string =>
      `entries: 10\noverrun: ${overrun}\ncommit overrun: 0\nbytes: 400\noldest event ts:     3.1\nnow ts:     9.2\ndropped events: ${cpu}\nread events: 0\n`
    const result = graph([
      { name: 'trace', input: one },
      { name: 'cpu0', input: stats(0, 40) },
      { name: 'cpu1', input: stats(1, 2) },
    ])
    expect(result).toMatchObject({ found: true, summary: { lost: 43, lossTold: true }, diagnostics: { unparsed: 0 } })
  })

  it('the log of an untraced boot shows that the trace measures itself', () => {
    const log = '[    0.300000] initcall acpi_init+0x0/0x510 returned 0 after 4000 usecs\n'
    const slow = graph([
      { name: 'trace', input: one },
      { name: 'dmesg', input: log },
    ])
    const names = slow.found ? slow.findings.map(({ name }) => name) : []
    expect(names).toContain('measures-itself')
    const cut = graph([
      { name: 'trace', input: `${HEADER} 0) # 9000.000 us |  } /* acpi_init */\n` },
      { name: 'dmesg', input: log },
    ])
    expect(cut.found && cut.findings.map(({ name }) => name)).toContain('measures-itself')
    const same = graph([
      { name: 'trace', input: one },
      { name: 'dmesg', input: log.replace('4000', '8900') },
    ])
    expect(same.found && same.findings.map(({ name }) => name)).not.toContain('measures-itself')
  })
})
