import { describe, expect, it } from 'vitest'
import { HEADER, reportOf, graphOf } from './traces.ts'

describe('what stands behind a function', () => {
  const one = (line: string): object | undefined => reportOf(`${HEADER}${line}\n`).spans[0]

  it.each([
    ['a leaf', ' 0)   1.126 us    |  ktime_get();', { name: 'ktime_get', durationUs: 1.126, leaf: true }],
    ['a mark', ' 0) @ 143152.0 us |  f();', { durationUs: 143_152 }],
    ['a duration without a point', ' 0) $ 6755156 us  |  f();', { durationUs: 6_755_156 }],
    ['a module', ' 0)   1.000 us    |  vp_notify [virtio_pci]();', { name: 'vp_notify [virtio_pci]' }],
    ['6.8’s return value', ' 0)   1.000 us    |  f(); /* = 0x0 */', { name: 'f', returned: '0x0' }],
    ['6.17’s return value', ' 0)   1.000 us    |  f(); /* ret=-22 */', { name: 'f', returned: '-22' }],
    [
      'a return address',
      ' 0)   1.000 us    |  f(); /* <-g+0x34/0x70 ret=0x0 */',
      { name: 'f', returned: '0x0', caller: 'g+0x34/0x70' },
    ],
    [
      'arguments with all kinds of brackets',
      ' 0)   1.000 us    |  f(mode=1 [REL], set={a; b}, g=h(1)); /* ret=0x1 */',
      { name: 'f', args: 'mode=1 [REL], set={a; b}, g=h(1)', returned: '0x1' },
    ],
    ['a CPU of three digits', ' 112)   1.000 us    |  f();', { cpuOpen: 112, cpuClose: 112 }],
  ] as const)('%s', (_name, line, want) => expect(one(line)).toMatchObject(want))

  it.each([
    [' 0)               |  f [m]() {', ' 0)   5.000 us    |  } /* f [m] */', 'f [m]', undefined],
    [' 0)               |  f() {', ' 0)   5.000 us    |  } /* f = 0xffffffea */', 'f', '0xffffffea'],
    [' 0)               |  f() { /* <-g+0x1/0x2 */', ' 0)   5.000 us    |  } /* f ret=0x0 */', 'f', '0x0'],
    [' 0)               |  f(a=1 {x}, b=[2]) {', ' 0)   5.000 us    |  }', 'f', undefined],
    [' 0)               |  f() {', ' 0)   5.000 us    |  } /* ret=0x7 */', 'f', '0x7'],
  ] as const)('%s and %s are one span', (open, close, name, returned) => {
    expect(reportOf(`${HEADER}${open}\n${close}\n`).spans).toEqual([
      expect.objectContaining({ name, durationUs: 5, ...(returned === undefined ? {} : { returned }) }),
    ])
  })
})

describe('columns', () => {
  it('of time, CPU, task, latency and duration are read by the header', () => {
    const report = reportOf(`# tracer: function_graph
#     TIME        CPU  TASK/PID         ||||     DURATION                  FUNCTION CALLS
    7.500001 |   3)   a|b-77     |  d..2. | + 12.500 us   |    f();
`)
    expect(report.spans).toEqual([
      expect.objectContaining({
        name: 'f',
        task: 'a|b-77',
        cpuOpen: 3,
        depth: 1,
        durationUs: 12.5,
        openedUs: 7_500_001,
      }),
    ])
  })

  it('of time since the trace began, as tracers of latencies print it', () => {
    const report = reportOf(`# tracer: irqsoff
#   REL TIME      CPU  TASK/PID       ||||     DURATION                  FUNCTION CALLS
        5 us |   0)   <idle>-0    |  d..1. |   1.250 us    |  f();
`)
    expect(report.spans).toEqual([expect.objectContaining({ name: 'f', task: '<idle>-0', durationUs: 1.25 })])
  })

  it('may be none but the functions', () => {
    const { spans, findings } = reportOf('#             FUNCTION CALLS\n f();\n'.replace(' f', 'f'))
    expect(spans).toEqual([expect.objectContaining({ name: 'f', depth: 0 })])
    expect(findings.map(({ name }) => name)).toEqual(expect.arrayContaining(['no-durations', 'cpu-not-told']))
  })

  it('are told by the look of a line where trace_pipe has no header', () => {
    const report = reportOf(' 1)               |  f() {\n 1)   0.500 us    |    g();\n 1)   2.000 us    |  }\n')
    expect(report.columns).toEqual(['cpu', 'duration'])
    expect(report.spans.map(({ name, depth, selfUs }) => [name, depth, selfUs])).toEqual([
      ['f', 0, 1.5],
      ['g', 1, 0.5],
    ])
    expect(report.diagnostics.problems.map(({ name }) => name)).toEqual(['no-header'])
  })

  it('of a trace that the kernel dumped into its log stand behind the stamps of printk', () => {
    const report = reportOf(
      '[    5.100000] Dumping ftrace buffer:\r\n[    5.100001]  0)               |  f() {\r\n[    5.100002]  0)   9.000 us    |  }\r\n',
    )
    expect(report.spans).toEqual([expect.objectContaining({ name: 'f', durationUs: 9 })])
    expect(report.diagnostics.problems.map(({ name }) => name)).toEqual(['console-line', 'no-header'])
  })
})

describe('lines that are no functions', () => {
  it('arrows of an interrupt take no part, and its functions lie in the one that they interrupt', () => {
    const report = reportOf(`${HEADER} 0)               |  f() {
 0)   ==========> |
 0)               |    do_IRQ() {
 0)   4.000 us    |    }
 0)   <========== |
 0) + 10.000 us   |  }
`)
    expect(report.diagnostics.unparsed).toBe(0)
    expect(report.spans.map(({ name, selfUs }) => [name, selfUs])).toEqual([
      ['f', 6],
      ['do_IRQ', 4],
    ])
  })

  it('an interrupt at the depth of the function that it interrupts does not end it (6.8)', () => {
    const report = reportOf(`${HEADER} 0)               |  f() {
 0)               |  irq_enter_rcu() {
 0)   1.000 us    |  }
 0)   9.000 us    |  } /* f */
`)
    expect(report.spans.map(({ name, durationUs, selfUs }) => [name, durationUs, selfUs])).toEqual([
      ['f', 9, 8],
      ['irq_enter_rcu', 1, 1],
    ])
  })

  it('torn and foreign lines are counted with their numbers', () => {
    const report = reportOf(`${HEADER} 0)   1.000 us    |  f();
 0)   0.630 us    |       [    6.688489] Kernel is locked down
 0)   0.6
hello
 0)   2.000 us    |   odd_indent();
 0)   2.000 us    |  } /* tor
 0)   2.000 us    |  g();
 0)   2.000 us    |  to`)
    expect(report.spans.map(({ name }) => name)).toEqual(['f', 'g'])
    expect(report.diagnostics).toMatchObject({
      unparsed: 6,
      problems: [
        { name: 'unparsed', severity: 'data-loss', count: 5, lines: [6, 7, 8, 9, 10] },
        { name: 'torn-tail', count: 1, lines: [12] },
      ],
    })
  })

  it('lost events are counted, and a pair over them is marked as doubtful', () => {
    const report = reportOf(` 0)               |  f() {
CPU:0 [LOST 2663642 EVENTS]
 0)   5.000 us    |  }
CPU:1 [LOST EVENTS]
`)
    expect(report.summary).toMatchObject({ lost: 2_663_642, lossTold: true })
    expect(report.findings.map(({ name }) => name)).toEqual(expect.arrayContaining(['events-lost', 'pairs-over-loss']))
  })

  it('a stack of the tracer that was too small is told', () => {
    const report = reportOf(`${HEADER} 0)               |  f() {\n 0)   5.000 us    |  } /* f */\n (Overruns: 3)\n`)
    expect(report.findings).toContainEqual(expect.objectContaining({ name: 'stack-overrun' }))
  })
})

describe('shapes of public threads', () => {
  it('trace-cmd’s report is a third format, with its task and CPU before the event', () => {
    const report = reportOf(`cpus=2
          fc_vcpu-812   [001]   102.000100: funcgraph_entry:                   |  kvm_vcpu_ioctl() {${' '.repeat(190)}
          fc_vcpu-812   [001]   102.000101: funcgraph_entry:        1.040 us   |    mutex_lock();
           <idle>-0     [000] d..1.  102.000102: funcgraph_entry:        0.500 us   |  tick_nohz_idle_enter();
          fc_vcpu-812   [000]   102.000190: funcgraph_exit:       + 88.000 us   |  }
`)
    expect(report.source).toBe('trace-cmd')
    expect(report.spans).toEqual([
      expect.objectContaining({ name: 'kvm_vcpu_ioctl', task: 'fc_vcpu-812', cpuOpen: 1, cpuClose: 0, migrated: true }),
      expect.objectContaining({ name: 'mutex_lock', durationUs: 1.04, depth: 1, openedUs: 102_000_101 }),
      expect.objectContaining({ name: 'tick_nohz_idle_enter', task: '<idle>-0' }),
    ])
    expect(report.spans[0]).toMatchObject({ durationUs: 88, selfUs: 86.96 })
  })

  it('a paste that lost the blanks before its lines is read', () => {
    const report = reportOf(`0)               |  f() {
------------------------------------------
0)    a-1    =>    b-2
------------------------------------------

0)   1.000 us    |  g();
`)
    expect(report.spans).toEqual([expect.objectContaining({ name: 'g', task: 'b-2' })])
    expect(report).toMatchObject({ unclosed: [{ name: 'f', task: 'a-1' }], diagnostics: { unparsed: 0 } })
  })

  it('a trace that starts with closing braces has partial functions and no errors', () => {
    const report = reportOf(`# tracer: function_graph
#     TIME        CPU  DURATION                  FUNCTION CALLS
  100.000001 |   0)   3.500 us    |                  } /* memcpy_from */
  100.000002 |   0) + 20.000 us   |                } /* tee_call */
  100.000003 |   0)   1.000 us    |                kfree();
`)
    expect(report.summary).toMatchObject({ frames: 1, unopened: 2, unclosed: 0 })
    expect(report.threshold).toBe(false)
    expect(report.unopened).toEqual([
      { name: 'memcpy_from', cpuClose: 0, depth: 8, durationUs: 3.5, line: 3 },
      { name: 'tee_call', cpuClose: 0, depth: 7, durationUs: 20, line: 4 },
    ])
  })

  it('C code and a function trace are no function_graph', () => {
    expect(graphOf('int main() {\n  f();\n}\n')).toMatchObject({ found: false, reason: 'no-trace' })
    expect(
      graphOf(
        '# tracer: function\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n sh-1 [000] ..... 1.000001: f <-g\n',
      ),
    ).toMatchObject({ found: false, reason: 'other-tracer' })
  })
})
