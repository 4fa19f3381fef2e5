import { describe, expect, it } from 'vitest'
import { HEADER, reportOf, switchBlock } from './traces.ts'

const open = (cpu: number, depth: number, name: string): string =>
  ` ${cpu})               |  ${'  '.repeat(depth)}${name}() {\n`
const close = (cpu: number, depth: number, us: string, name?: string): string =>
  ` ${cpu})  ${us} us    |  ${'  '.repeat(depth)}}${name === undefined ? '' : ` /* ${name} */`}\n`

function spans(text: string): readonly (readonly unknown[])[] {
  return reportOf(HEADER + text).spans.map(({ name, task, cpuOpen, cpuClose, durationUs }) => [
    name,
    task,
    `${cpuOpen} ${cpuClose}`,
    durationUs,
  ])
}

describe('whose line it is', () => {
  it('two sleepers on one CPU are told apart by the switch lines alone', () => {
    const text =
      open(0, 0, 'nap') +
      switchBlock(0, 'a-1', 'b-2') +
      open(0, 0, 'nap') +
      switchBlock(0, 'b-2', 'a-1') +
      close(0, 0, '50.000') +
      switchBlock(0, 'a-1', 'b-2') +
      close(0, 0, '20.000', 'nap')
    expect(spans(text)).toEqual([
      ['nap', 'a-1', '0 0', 50],
      ['nap', 'b-2', '0 0', 20],
    ])
  })

  it('a close without a name may be of a frame that migrated', () => {
    // Both sleep in nap(), swap CPUs, and each finds the other one’s nap() as the last that opened there.
    const text =
      open(0, 0, 'nap') +
      open(1, 0, 'nap') +
      switchBlock(0, 'a-1', 'b-2') +
      close(0, 0, '20.000') +
      switchBlock(1, 'b-2', 'a-1') +
      close(1, 0, '50.000')
    expect(spans(text)).toEqual([
      ['nap', 'a-1', '0 1', 50],
      ['nap', 'b-2', '1 0', 20],
    ])
  })

  it('an idle task is one for each CPU, under one name', () => {
    const text =
      open(0, 0, 'idle') +
      switchBlock(0, '<idle>-0', 'a-1') +
      open(1, 0, 'idle') +
      switchBlock(1, '<idle>-0', 'b-2') +
      switchBlock(0, 'a-1', '<idle>-0') +
      close(0, 0, '70.000') +
      switchBlock(1, 'b-2', '<idle>-0') +
      close(1, 0, '30.000')
    expect(spans(text)).toEqual([
      ['idle', '<idle>-0', '0 0', 70],
      ['idle', '<idle>-0', '1 1', 30],
    ])
  })

  it('a task of a CPU without a switch line gets its name where a frame of it closes elsewhere', () => {
    const text =
      open(1, 0, 'work') +
      ' 1)   1.000 us    |    step();\n' +
      switchBlock(0, 'b-2', 'a-1') +
      close(0, 0, '90.000', 'work')
    expect(spans(text)).toEqual([
      ['work', 'a-1', '1 0', 90],
      ['step', 'a-1', '1 1', 1],
    ])
  })

  it('that holds for a close without a name too, since what it leaves out is what opened there last', () => {
    const text = open(1, 0, 'nap') + open(0, 0, 'nap') + switchBlock(0, 'b-2', 'a-1') + close(0, 0, '50.000')
    expect(spans(text)).toEqual([['nap', 'a-1', '1 0', 50]])
  })

  it('a known task that goes on where nothing says who runs is found there', () => {
    const text =
      switchBlock(0, 'b-2', 'a-1') +
      open(0, 0, 'work') +
      open(1, 1, 'part') +
      close(1, 1, '5.000') +
      close(1, 0, '90.000', 'work')
    expect(spans(text)).toEqual([
      ['work', 'a-1', '0 1', 90],
      ['part', 'a-1', '1 1', 5],
    ])
  })

  it('a task that called something else since then is not in the frame of another CPU', () => {
    // b-2 leaves a nap() that began before the trace; a nameless task of CPU 1 is in a nap() of its own.
    const text =
      switchBlock(0, 'a-1', 'b-2') + open(1, 1, 'nap') + ' 0)   1.000 us    |  step();\n' + close(0, 1, '5.000', 'nap')
    expect(reportOf(HEADER + text).summary).toMatchObject({ migrated: 0, unopened: 1, unclosed: 1 })
  })

  it('of two nameless tasks in the same function none is guessed', () => {
    const text = open(1, 0, 'nap') + open(2, 0, 'nap') + switchBlock(0, 'a-1', 'b-2') + close(0, 0, '5.000', 'nap')
    const report = reportOf(HEADER + text)
    expect(report.summary).toMatchObject({ frames: 0, unopened: 1, unclosed: 2 })
    expect(report.findings.map(({ name }) => name)).toContain('ambiguous-close')
  })

  it('a function whose close was lost ends with the one around it', () => {
    const text =
      open(0, 0, 'f') +
      open(0, 1, 'g') +
      close(0, 0, '9.000') +
      open(0, 0, 'f') +
      close(0, 1, '3.000', 'g') +
      close(0, 0, '5.000')
    const report = reportOf(HEADER + text)
    expect(report.spans.map(({ name, durationUs }) => [name, durationUs])).toEqual([
      ['f', 9],
      ['f', 5],
    ])
    expect(report.summary).toMatchObject({ unopened: 1, unclosed: 1 })
  })

  it('execve() changes a task’s name and not the task', () => {
    const report = reportOf(`# CPU  TASK/PID         DURATION                  FUNCTION CALLS
 0)     sh-12      |               |  execve() {
 1)     ls-12      | # 5000.000 us |  }
`)
    expect(report.spans).toEqual([expect.objectContaining({ name: 'execve', task: 'sh-12', migrated: true })])
  })
})

it('without CPU and task, and with tasks of two CPUs, only leaves are sure', () => {
  const report = reportOf(`#  DURATION                  FUNCTION CALLS
               |  f() {
${switchBlock(0, 'a-1', 'b-2')}${switchBlock(1, 'c-3', 'd-4')}   1.000 us    |    g();
   5.000 us    |  }
`)
  expect(report.spans.map(({ name }) => name)).toEqual(['g'])
  expect(report.findings.map(({ name }) => name)).toContain('frames-not-told')
})

it('with tracing_thresh each named return is a whole frame, and which CPU it began on is not known', () => {
  const report = reportOf(
    HEADER + close(0, 2, '110.000', 'c') + close(0, 3, '120.000', 'd') + close(0, 1, '300.000', 'b'),
  )
  expect(report).toMatchObject({ threshold: true, unopened: [], summary: { frames: 3, unopened: 3, migrated: 0 } })
  expect(report.spans[0]).toEqual({ name: 'c', cpuClose: 0, depth: 2, durationUs: 110 })
})

it('two tasks that return on one CPU at the beginning of a trace are no sign of tracing_thresh', () => {
  const text =
    close(0, 2, '110.000', 'c') +
    close(0, 1, '120.000', 'b') +
    switchBlock(0, 'a-1', 'b-2') +
    close(0, 2, '300.000', 'c')
  expect(reportOf(HEADER + text)).toMatchObject({ threshold: false, spans: [], summary: { frames: 0, unopened: 3 } })
})

it('who ran how long is known of sched_switch events with times', () => {
  const event = (s: string, cpu: number, prev: string, next: string): string =>
    `    1.${s} |   ${cpu})               |  /* sched_switch: prev_comm=${prev.replace('-', ' prev_pid=')} prev_prio=120 prev_state=S ==> next_comm=${next.replace('-', ' next_pid=')} next_prio=120 */\n`
  const report = reportOf(
    `#     TIME        CPU  DURATION                  FUNCTION CALLS\n` +
      event('000000', 0, 'swapper/0-0', 'a b-7') +
      `    1.000500 |   0)   1.000 us    |  f();\n` +
      event('003000', 0, 'a b-7', 'swapper/0-0') +
      event('004000', 0, 'swapper/0-0', 'c-8'),
  )
  expect(report.cpuShare).toEqual({
    windowUs: 4000,
    cpus: 1,
    tasks: [
      { task: 'a b-7', us: 3000, share: 0.75 },
      { task: 'swapper/0', us: 1000, share: 0.25 },
    ],
  })
})
