import { describe, expect, it } from 'vitest'
import { readBoot, renderStageTable, bootTimeline, type MarkLine, type RecordParts } from '../../src/index.ts'
import { barScale, drawBar } from '../../src/timeline/bars.ts'
import { wrap } from '../../src/text/page.ts'
import { diagnosticLine } from '../../src/timeline/captions.ts'
import { milliseconds } from '../../src/timeline/render.ts'
import { aBootJson, at, bareMarks, guestAt } from './a-boot.ts'

function table(
  marks: readonly MarkLine[],
  boot: { [field: string]: unknown } = {},
  parts: Partial<RecordParts> = {},
  width = 100,
): string {
  return renderStageTable(
    bootTimeline({ boot: readBoot(JSON.stringify({ ...aBootJson(), ...boot })).boot, marks, ...parts }),
    { width },
  )
}

describe('renderStageTable', () => {
  it('draws a boot that became ready', () => {
    expect(table(bareMarks())).toBe(`\
box demo (k3x9) · accelerator tcg · host Example CPU, 2 cpus, Linux 6.12.0 · guest kernel
  6.1.0-57-cloud-amd64 · n=1

stage             from start ms  duration ms                                        source
filesystem-setup            0.0          2.0  █                                     harness, runtime
guest-rootfs                2.0          8.0  █                                     harness
box-config                 11.0          1.0  █                                     runtime
engine-exec                14.0         10.0  █                                     runtime, qmp
engine-init                24.0         40.0  ██                                    qmp
firmware                   66.0   200.0 ±0.5   █████                                qmp, console
kernel               266.0 ±0.5  1000.0 ±1.0        ████████████████████████        console
stage0              1266.0 ±0.5   200.0 ±1.0                                █████   console
ready                       0.0       1500.0  ████████████████████████████████████  harness, runtime

no stage: 1.0 ms between rootfs-ready and plan-begin
no stage: 2.0 ms between plan-ready and spawn
no stage: 2.0 ms between qmp-ready and vm-start
no stage: 34.0 ms between agent-up and ready
not part of this boot: image-prepare, state-load, resume, agent-back, pid1, generators, units-load,
  basic, multi-user, login, container-init
`)
  })

  it('draws where a boot died, with the error and the console’s last line', () => {
    const marks = [...bareMarks().slice(0, 11), at(812.4, 'guest-panic', 'console', { errorNs: 5e5 })]
    const boot = {
      outcome: 'failed',
      accelerator: { asked: 'auto', proved: 'tcg' },
      error: { code: 'ERR_BOX_PANIC', message: 'the guest panicked' },
    }
    expect(table(marks, boot, { lastConsoleLine: '[    0.5] Kernel panic - not\u001b[2J syncing: VFS' }, 90)).toBe(`\
box demo (k3x9) · accelerator tcg (asked auto) · host Example CPU, 2 cpus, Linux 6.12.0 ·
  guest kernel 6.1.0-57-cloud-amd64 · n=1

stage             from start ms      duration ms                          source
filesystem-setup            0.0              2.0  █                       harness, runtime
guest-rootfs                2.0              8.0  █                       harness
box-config                 11.0              1.0  █                       runtime
engine-exec                14.0             10.0  █                       runtime, qmp
engine-init                24.0             40.0  ██                      qmp
firmware                   66.0       200.0 ±0.5   ██████                 qmp, console
kernel               266.0 ±0.5  died 546.4 ±1.0         ░░░░░░░░░░░░░░░  console

died in kernel after 546.4 ms (guest-panic)
error: ERR_BOX_PANIC the guest panicked
last console line: [    0.5] Kernel panic - not syncing: VFS
no stage: 1.0 ms between rootfs-ready and plan-begin
no stage: 2.0 ms between plan-ready and spawn
no stage: 2.0 ms between qmp-ready and vm-start
not reached: stage0, ready
not part of this boot: image-prepare, state-load, resume, agent-back, pid1, generators,
  units-load, basic, multi-user, login, container-init
`)
  })

  it('keeps every row within the width, down to the narrowest', () => {
    for (const width of [0, 72, 100, 160]) {
      const rows = table(bareMarks(), {}, {}, width).split('\n')
      const widest = Math.max(...rows.filter((row) => row.includes('█')).map((row) => row.length))
      expect(widest).toBeLessThanOrEqual(Math.max(width, 80))
    }
    expect(table(bareMarks(), {}, {}, 160)).not.toBe(table(bareMarks()))
  })

  it('shows open stages of a boot that runs, and stages whose clocks are wrong', () => {
    const running = table([at(0, 'start'), at(10, 'vm-start', 'qmp'), at(5, 'kernel-first-line', 'console')], {
      outcome: 'running',
    })
    expect(running).toMatch(/^firmware +\? +clock error +console$/m)
    expect(running).toMatch(/^kernel +5\.0 +open +console$/m)
    expect(running).toMatch(/^no end recorded: still running, or its owner was killed$/m)
    expect(running).toMatch(/^error: kernel-first-line lies 5\.000 ms before vm-start, more than /m)
  })

  it('shows a stage that it cannot place without a bar', () => {
    const text = table([at(0, 'start'), guestAt(10, 'userspace'), guestAt(1010, 'basic-target')], {
      outcome: 'running',
      plan: {},
    })
    expect(text).toMatch(/^basic +\? +1000\.0 ±5\.0 +systemd$/m)
  })

  it('lists what overlaps once', () => {
    const marks = [...bareMarks(), at(4, 'image-begin', 'harness'), at(9, 'image-ready', 'harness')]
    const lines = table(marks, { plan: { boot: 'direct', image: {} } }).split('\n')
    expect(lines.filter((line) => line.startsWith('overlap'))).toEqual([
      'overlap: image-prepare with guest-rootfs 5.0 ms',
    ])
  })

  it('says when a box came from a template, when the accelerator is not proved, and what it does not know', () => {
    const text = renderStageTable(
      bootTimeline({ boot: { accelerator: { asked: 'kvm' } }, marks: [at(0, 'start'), at(1, 'resumed', 'qmp')] }),
      { width: 200 },
    )
    expect(text).toContain(
      'box (unnamed) · accelerator not proved (asked kvm) · host not recorded · from template · n=1',
    )
  })

  it.each([
    [
      { outcome: 'stopped' },
      [at(0, 'start'), at(5, 'spawn'), at(9, 'stop-begin')],
      'stopped in engine-exec after 4.0 ms (stop-begin)',
    ],
    [
      { outcome: 'killed' },
      [at(0, 'start'), at(1, 'folder-ready'), at(9, 'engine-exit')],
      'killed between stages, 8.0 ms after folder-ready (engine-exit)',
    ],
    [
      { outcome: 'failed' },
      [at(0, 'start'), at(5, 'spawn')],
      'died in engine-exec after at least 0.0 ms (the last sign of life)',
    ],
    [{ outcome: 'failed' }, [], 'died before any mark'],
  ])('words the end of %j', (boot, marks, words) => {
    expect(table(marks, boot)).toContain(`\n${words}\nthe console is empty\n`)
  })

  it('says on how much it is based when something was lost', () => {
    const text = table(
      bareMarks(),
      {},
      {
        markLines: 17,
        diagnostics: [
          {
            name: 'bad-json',
            severity: 'data-loss',
            file: 'marks.jsonl',
            count: 2,
            lines: [3, 5],
            meaning: 'Ignored.',
          },
        ],
      },
    )
    expect(text).toContain(
      '\nbased on 15 of 17 lines of marks.jsonl\nmarks.jsonl: bad-json (2×, lines 3, 5): Ignored.\n',
    )
  })

  it('colours only where it is told to', () => {
    const timeline = bootTimeline({
      boot: { outcome: 'failed' },
      marks: [...bareMarks().slice(0, 11), at(900, 'engine-exit')],
    })
    const [plain, colored] = [renderStageTable(timeline), renderStageTable(timeline, { color: true })]
    expect(plain).not.toContain('\u001b')
    expect(colored).toContain('\u001b[31m')
    expect(colored).toContain('\u001b[36m')
    // oxlint-disable-next-line no-control-regex
    expect(colored.replace(/\u001b\[\d+m/g, '')).toBe(plain)
  })
})

describe('milliseconds', () => {
  it.each([
    [812.44, 0, '812.4'],
    [812.44, 0.049, '812.4'],
    [812.44, 0.05, '812.4 ±0.1'],
    [0, 2, '0.0 ±2.0'],
  ])('%f with an error of %f is %s', (ms, errorMs, text) => {
    expect(milliseconds(ms, errorMs)).toBe(text)
  })
})

describe('bars', () => {
  const stages = bootTimeline({
    marks: [
      at(0, 'start'),
      at(50, 'folder-ready'),
      at(50, 'spawn'),
      at(100, 'engine-main', 'qmp'),
      at(100, 'plan-begin'),
      at(100, 'plan-ready'),
    ],
  }).stages
  const scale = barScale(stages, 10)

  it.each([
    ['filesystem-setup', '█████     '],
    ['engine-exec', '     █████'],
    ['box-config', '         █'],
    ['kernel', '          '],
  ])('%s is drawn as %j', (id, bar) => {
    const stage = stages.find((one) => one.id === id)
    expect(stage && drawBar(stage, scale)).toBe(bar)
  })

  it('begins its axis before the zero where a stage does', () => {
    const early = bootTimeline({ marks: [at(0, 'start'), at(-10, 'image-begin'), at(10, 'image-ready')] }).stages
    expect(barScale(early, 5)).toEqual({ firstMs: -10, lastMs: 10, cells: 5 })
  })

  it('has an axis also without any time', () => {
    const none = bootTimeline({ marks: [at(0, 'start'), at(0, 'folder-ready')] }).stages
    const [first] = none
    expect(first && drawBar(first, barScale(none, 4))).toBe('█   ')
  })
})

describe('wrap', () => {
  it('breaks at blanks, indents what goes on, and keeps long words whole', () => {
    expect(wrap('aa bb cc', 5)).toEqual(['aa bb', '  cc'])
    expect(wrap('aaaaaaaa bb', 5)).toEqual(['aaaaaaaa', '  bb'])
    expect(wrap('aa', 5)).toEqual(['aa'])
  })
})

describe('diagnosticLine', () => {
  it('names detail, count and lines, and that there are more', () => {
    const diagnostic = {
      name: 'unknown-field',
      severity: 'info',
      file: 'f',
      count: 3,
      lines: [1, 2],
      detail: 'x',
      meaning: 'M.',
    } as const
    expect(diagnosticLine(diagnostic)).toBe('f: unknown-field x (3×, lines 1, 2, …): M.')
    expect(diagnosticLine({ ...diagnostic, count: 1, lines: [9] })).toBe('f: unknown-field x (1×, line 9): M.')
    expect(diagnosticLine({ ...diagnostic, count: 1, lines: [] })).toBe('f: unknown-field x (1×): M.')
  })
})
