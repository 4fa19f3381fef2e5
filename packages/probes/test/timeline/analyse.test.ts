import { describe, expect, it } from 'vitest'
import {
  type BootRecord,
  bootTimeline,
  type ClockSample,
  type MarkLine,
  readBoot,
  type RecordParts,
  type StageId,
  type StageResult,
  type Timeline,
} from '../../src/index.ts'
import { aBootJson, at, bareMarks, guestAt, ZERO_NS } from './a-boot.ts'

const CLOCK: ClockSample[] = [10, 2000].map((ms) => ({
  hostSendNs: ZERO_NS + (ms + 99.9) * 1e6,
  guestNs: ms * 1e6,
  hostRecvNs: ZERO_NS + (ms + 100.1) * 1e6,
}))

function boot(more: { [field: string]: unknown } = {}): BootRecord {
  return readBoot(JSON.stringify({ ...aBootJson(), ...more })).boot
}

function timeline(
  marks: readonly MarkLine[],
  more: { [field: string]: unknown } = {},
  parts: Partial<RecordParts> = {},
): Timeline {
  return bootTimeline({ boot: boot(more), marks, ...parts })
}

function stage({ stages }: Timeline, id: StageId): StageResult {
  const found = stages.find((one) => one.id === id)
  if (found === undefined) throw new Error(`no stage ${id}`)
  return found
}

function until(mark: string): MarkLine[] {
  const marks = bareMarks()
  return marks.slice(0, marks.findIndex((line) => line.mark === mark) + 1)
}

const IMAGE_PLAN = { plan: { boot: 'direct', image: { kind: 'directory' } } }

describe('a boot that became ready', () => {
  const whole = timeline(bareMarks())

  it('has start and duration of each stage with their error', () => {
    expect(stage(whole, 'kernel')).toMatchObject({
      state: 'reached',
      start: { known: true, ms: 266, errorMs: 0.5 },
      durationMs: 1000,
      errorMs: 1,
      from: { mark: 'kernel-first-line', source: 'console', clock: 'host' },
      to: { mark: 'init-run' },
    })
    expect(stage(whole, 'engine-exec')).toMatchObject({
      durationMs: 10,
      errorMs: 0,
      source: 'runtime',
      parallel: false,
    })
  })

  it('lists every stage of the vocabulary in its order', () => {
    expect(whole.stages.map(({ id }) => id).slice(0, 4)).toEqual([
      'filesystem-setup',
      'image-prepare',
      'guest-rootfs',
      'box-config',
    ])
    expect(whole.stages).toHaveLength(20)
  })

  it('says which stages are not part of such a boot, and gives them no number', () => {
    const pid1 = stage(whole, 'pid1')
    expect(pid1).toMatchObject({ state: 'absent', reason: 'not-part', why: 'Not part of this boot.' })
    expect(pid1).not.toHaveProperty('durationMs')
    // agent-up begins it and qmp-ready begins the other; neither was asked for.
    expect(stage(whole, 'container-init')).toMatchObject({ reason: 'not-part' })
    expect(stage(whole, 'state-load')).toMatchObject({ reason: 'not-part' })
  })

  it('ends stage 0 of a bare box where the agent is up', () => {
    expect(stage(whole, 'stage0')).toMatchObject({ state: 'reached', to: { mark: 'agent-up' }, durationMs: 200 })
  })

  it('has the metrics under the names that BoxLite’s users know', () => {
    expect(whole.metrics).toMatchObject({
      totalCreateDurationMs: { state: 'measured', valueMs: 1500, errorMs: 0 },
      stageFilesystemSetupMs: { valueMs: 2 },
      stageImagePrepareMs: { state: 'absent', why: 'Not part of this boot.' },
      stageGuestRootfsMs: { valueMs: 8 },
      stageBoxConfigMs: { valueMs: 1 },
      stageBoxSpawnMs: { valueMs: 50 },
      guestBootDurationMs: { state: 'measured', valueMs: 1400, errorMs: 0.5 },
      stageContainerInitMs: { state: 'absent' },
    })
  })

  it('shows what it ran on and how it ended', () => {
    expect(whole.box).toEqual({
      id: 'k3x9',
      name: 'demo',
      kind: 'bare',
      accelerator: { asked: 'tcg', proved: 'tcg' },
      engine: '7.2.22',
      host: aBootJson()['host'],
      guestKernel: '6.1.0-57-cloud-amd64',
      outcome: 'stopped',
    })
    expect(whole.ending).toEqual({ state: 'completed', outcome: 'stopped' })
    expect(whole).toMatchObject({ findings: [], diagnostics: [], basedOn: { marks: 15, lines: 15 } })
    expect(whole.zero).toEqual({ atNs: ZERO_NS, from: 'start mark' })
  })

  it('names the time that no stage covers by the marks around it', () => {
    expect(whole.gaps.map(({ afterMark, beforeMark, durationMs }) => [afterMark, beforeMark, durationMs])).toEqual([
      ['rootfs-ready', 'plan-begin', 1],
      ['plan-ready', 'spawn', 2],
      ['qmp-ready', 'vm-start', 2],
      ['agent-up', 'ready', 34],
    ])
  })

  it('leaves out gaps below the bound', () => {
    expect(timeline(bareMarks(), {}, { minGapMs: 2.5 }).gaps).toMatchObject([{ afterMark: 'agent-up', startMs: 1466 }])
  })

  it('shows which stages overlap and for how long, and never a stage with itself or with the whole', () => {
    const marks = [...bareMarks(), at(4, 'image-begin', 'harness'), at(9, 'image-ready', 'harness')]
    const both = timeline(marks, IMAGE_PLAN)
    expect(stage(both, 'image-prepare')).toMatchObject({ overlaps: [{ id: 'guest-rootfs', ms: 5 }] })
    expect(stage(both, 'guest-rootfs')).toMatchObject({ overlaps: [{ id: 'image-prepare', ms: 5 }] })
    expect(stage(both, 'kernel')).toMatchObject({ overlaps: [] })
    expect(stage(both, 'ready')).toMatchObject({ overlaps: [] })
  })

  it('tells overlaps and gaps only of stages that it can place', () => {
    const marks = [
      ...bareMarks(),
      guestAt(1, 'userspace'),
      guestAt(900, 'basic-target'),
      guestAt(1800, 'multi-user-target'),
    ]
    const half = timeline(
      marks.filter(({ source }) => source !== 'console'),
      IMAGE_PLAN,
    )
    expect(stage(half, 'basic')).toMatchObject({ state: 'reached', start: { known: false }, overlaps: [] })
    expect(half.gaps).toMatchObject([{}, {}, { beforeMark: 'ready', afterMark: 'qmp-ready' }])
  })

  it('takes the stage that reaches furthest for the beginning of a gap, and the larger error of its ends', () => {
    const marks = [
      at(0, 'start', 'harness', { errorNs: 100_000 }),
      at(1, 'rootfs-begin', 'harness', { errorNs: 100_000 }),
      at(50, 'rootfs-ready', 'harness', { errorNs: 300_000 }),
      at(2, 'plan-begin'),
      at(3, 'plan-ready'),
      at(60, 'spawn', 'runtime', { errorNs: 200_000 }),
      at(61, 'engine-main', 'qmp', { errorNs: 200_000 }),
    ]
    const [first, second, ...rest] = timeline(marks).gaps
    expect(first).toMatchObject({ afterMark: 'start', beforeMark: 'rootfs-begin', durationMs: 1 })
    expect(first?.errorMs).toBeCloseTo(0.5, 9)
    expect(second).toMatchObject({ afterMark: 'rootfs-ready', beforeMark: 'spawn', startMs: 50, durationMs: 10 })
    expect(second?.errorMs).toBeCloseTo(0.8, 9)
    expect(rest).toEqual([])
  })

  it('looks for gaps in the order of time, not of the vocabulary', () => {
    const marks = [
      at(0, 'start'),
      at(0, 'plan-begin'),
      at(5, 'plan-ready'),
      at(9, 'rootfs-begin', 'harness'),
      at(12, 'rootfs-ready', 'harness'),
      at(20, 'spawn'),
      at(21, 'engine-main', 'qmp'),
    ]
    expect(timeline(marks, { outcome: 'running' }).gaps).toMatchObject([
      { afterMark: 'plan-ready', beforeMark: 'rootfs-begin', durationMs: 4 },
      { afterMark: 'rootfs-ready', beforeMark: 'spawn', durationMs: 8 },
    ])
  })

  it('adds the errors of two stages before it calls them overlapping', () => {
    const marks = [
      at(0, 'start'),
      at(0, 'rootfs-begin', 'harness', { errorNs: 1e6 }),
      at(10, 'rootfs-ready', 'harness'),
      at(8.5, 'plan-begin', 'runtime', { errorNs: 1e6 }),
      at(20, 'plan-ready'),
    ]
    expect(stage(timeline(marks, { outcome: 'running' }), 'guest-rootfs')).toMatchObject({ overlaps: [] })
    expect(stage(timeline(marks, { outcome: 'running' }), 'box-config')).toMatchObject({
      state: 'reached',
      overlaps: [],
    })
  })

  it('takes for no gap what the clocks cannot tell', () => {
    const marks = [
      at(0, 'start'),
      at(10, 'folder-ready', 'runtime', { errorNs: 3e6 }),
      at(12, 'plan-begin'),
      at(13, 'plan-ready'),
    ]
    expect(timeline(marks, { outcome: 'running' }).gaps).toEqual([])
  })

  it('does not take for overlap what the clocks cannot tell', () => {
    const marks = [
      at(0, 'start'),
      at(10, 'rootfs-begin', 'harness'),
      at(20, 'rootfs-ready', 'harness', { errorNs: 3e6 }),
      at(18, 'plan-begin'),
      at(30, 'plan-ready'),
    ]
    expect(stage(timeline(marks), 'guest-rootfs')).toMatchObject({ overlaps: [] })
  })
})

describe('a boot that failed', () => {
  it('died in the stage that was open, after the time to the first sign of the end', () => {
    const marks = [
      ...until('kernel-first-line'),
      at(812.5, 'guest-panic', 'console', { errorNs: 250_000 }),
      at(900, 'engine-exit'),
    ]
    const failed = timeline(
      marks,
      { outcome: 'failed', error: { code: 'E', message: 'm' } },
      { lastConsoleLine: 'end Kernel panic' },
    )
    expect(stage(failed, 'kernel')).toMatchObject({
      state: 'absent',
      reason: 'died-here',
      start: { known: true, ms: 266 },
      afterMs: 546.5,
      errorMs: 0.75,
      atLeast: false,
      by: 'guest-panic',
      why: 'Died here after 546.5 ms (guest-panic).',
    })
    expect(failed.ending).toMatchObject({ state: 'died', outcome: 'failed', in: 'kernel', afterMs: 546.5 })
    expect(failed.box).toMatchObject({ error: { code: 'E', message: 'm' }, lastConsoleLine: 'end Kernel panic' })
  })

  it('keeps the numbers of the stages before, and has none for those behind', () => {
    const failed = timeline([...until('kernel-first-line'), at(900, 'engine-exit')], { outcome: 'failed' })
    expect(stage(failed, 'firmware')).toMatchObject({ state: 'reached', durationMs: 200 })
    expect(stage(failed, 'stage0')).toMatchObject({ state: 'absent', reason: 'not-reached', why: 'Not reached.' })
    expect(stage(failed, 'ready')).toMatchObject({
      reason: 'not-reached',
      why: 'Not reached: it began, but ready never came.',
    })
    expect(failed.metrics.stageBoxSpawnMs).toMatchObject({ state: 'measured', valueMs: 50 })
    expect(failed.metrics.guestBootDurationMs).toEqual({ state: 'absent', why: 'Not reached: agent-up never came.' })
    expect(failed.metrics.totalCreateDurationMs).toMatchObject({ state: 'absent' })
  })

  it('counts the stage it died in as covered, up to the end', () => {
    const failed = timeline([...until('vm-start'), at(900, 'engine-exit')], { outcome: 'failed' })
    expect(failed.gaps.at(-1)).toEqual({
      afterMark: 'qmp-ready',
      beforeMark: 'vm-start',
      startMs: 64,
      durationMs: 2,
      errorMs: 0,
    })
    const covered = [
      ...until('vm-start'),
      at(70, 'generators-start', 'systemd'),
      at(80, 'generators-finish', 'systemd'),
    ]
    const longer = timeline([...covered, at(900, 'engine-exit')], { outcome: 'failed', ...IMAGE_PLAN })
    expect(longer.ending).toMatchObject({ in: 'firmware', afterMs: 834 })
    expect(longer.gaps).toHaveLength(3)
  })

  it('takes the first sign of the end that came after the stage began', () => {
    const ends = [
      at(50, 'guest-reset', 'qmp'),
      at(300, 'guest-shutdown', 'qmp'),
      at(280, 'stop-begin'),
      at(310, 'engine-exit'),
    ]
    expect(timeline([...until('kernel-first-line'), ...ends], { outcome: 'failed' }).ending).toMatchObject({
      in: 'kernel',
      by: 'stop-begin',
      afterMs: 14,
    })
  })

  it.each(['guest-panic', 'guest-reset', 'guest-shutdown', 'stop-begin', 'engine-exit'])('ends with %s', (mark) => {
    const marks = [...until('kernel-first-line'), at(266, mark)]
    expect(timeline(marks, { outcome: 'failed' }).ending).toMatchObject({
      in: 'kernel',
      by: mark,
      afterMs: 0,
      atLeast: false,
    })
    const { outcome: _, ...open } = boot()
    expect(bootTimeline({ boot: open, marks }).ending).toMatchObject({ outcome: 'unknown' })
    expect(timeline([...until('plan-ready'), at(20, mark)], { outcome: 'failed' }).ending).toMatchObject({
      afterMark: 'plan-ready',
    })
  })

  it('may fail after it was ready', () => {
    const marks = [
      ...bareMarks(),
      at(1480, 'switch-root', 'agent'),
      at(1490, 'userspace'),
      at(9000, 'guest-panic', 'console'),
    ]
    const failed = timeline(marks, { outcome: 'failed', ...IMAGE_PLAN })
    // basic, multi-user and login are open since the same instant.
    expect(failed.ending).toMatchObject({ state: 'died', in: 'basic', afterMs: 7510 })
    expect(stage(failed, 'ready')).toMatchObject({ state: 'reached' })
  })

  it('does not blame a stage whose beginning has no place in time', () => {
    const marks = [at(0, 'start'), at(5, 'spawn'), guestAt(1, 'generators-start'), at(9, 'engine-exit')]
    expect(timeline(marks, { outcome: 'failed', ...IMAGE_PLAN }).ending).toMatchObject({
      in: 'engine-exec',
      afterMs: 4,
    })
  })

  it('does not take a span of the record for one of another stage', () => {
    const error = { code: 'E', message: 'm', stage: 'firmware', stageMs: 4321 }
    expect(timeline(until('kernel-first-line'), { outcome: 'failed', error }).ending).toMatchObject({
      in: 'kernel',
      atLeast: true,
    })
    const unknown = { code: 'E', message: 'm', stage: 'warp', stageMs: 1 }
    const warped = timeline(until('kernel-first-line'), { outcome: 'failed', error: unknown })
    expect(warped).toMatchObject({ ending: { in: 'kernel', atLeast: true }, diagnostics: [] })
  })

  it('takes what the runtime said of the time since a mark from that mark on', () => {
    const error = { code: 'E', message: 'm', lastMark: 'qmp-ready', sinceMs: 77 }
    expect(timeline(until('vm-start'), { outcome: 'failed', error }).ending).toMatchObject({
      in: 'firmware',
      afterMs: 75,
      atLeast: false,
    })
    const lost = { code: 'E', message: 'm', lastMark: 'switch-root', sinceMs: 77 }
    expect(timeline(until('vm-start'), { outcome: 'failed', error: lost }).ending).toMatchObject({
      afterMs: 0,
      atLeast: true,
    })
    const half = { code: 'E', message: 'm', lastMark: 'qmp-ready' }
    expect(timeline(until('vm-start'), { outcome: 'failed', error: half }).ending).toMatchObject({ atLeast: true })
  })

  it.each([
    ['stopped', 'Stopped here after 34.0 ms (stop-begin).'],
    ['killed', 'Killed here after 34.0 ms (stop-begin).'],
  ])('says of a boot that was %s before it was ready where that was', (outcome, why) => {
    const marks = [...until('kernel-first-line'), at(300, 'stop-begin'), at(310, 'engine-exit')]
    expect(stage(timeline(marks, { outcome }), 'kernel')).toMatchObject({ reason: 'died-here', why })
  })

  it('says "at least" when the record shows no end, and takes the last sign of life', () => {
    const marks = [...until('vm-start'), at(100, 'user:saw-logo', 'console')]
    expect(timeline(marks, { outcome: 'failed' }).ending).toMatchObject({ in: 'firmware', afterMs: 34, atLeast: true })
    const silent = timeline(marks, { outcome: 'failed' }, { lastSignNs: ZERO_NS + 166e6 })
    expect(stage(silent, 'firmware')).toMatchObject({
      why: 'Died here after at least 100.0 ms (the last sign of life).',
    })
  })

  it('takes the runtime’s own word for the time when no mark shows the end', () => {
    const told = timeline(until('vm-start'), {
      outcome: 'failed',
      error: { code: 'E', message: 'm', stage: 'firmware', stageMs: 4321 },
    })
    expect(told.ending).toMatchObject({
      in: 'firmware',
      afterMs: 4321,
      atLeast: false,
      by: 'error.stageMs of boot.json',
    })
    const since = timeline(until('vm-start'), {
      outcome: 'failed',
      error: { code: 'E', message: 'm', lastMark: 'vm-start', sinceMs: 77 },
    })
    expect(since.ending).toMatchObject({
      in: 'firmware',
      afterMs: 77,
      atLeast: false,
      by: 'error.sinceMs of boot.json',
    })
  })

  it('blames the stage that the record names when several are open', () => {
    const marks = [at(0, 'start'), at(1, 'image-begin', 'harness'), at(2, 'rootfs-begin', 'harness')]
    const named = { outcome: 'failed', ...IMAGE_PLAN, error: { code: 'E', message: 'm', stage: 'image-prepare' } }
    expect(timeline(marks, named).ending).toMatchObject({ in: 'image-prepare' })
    expect(timeline(marks, { outcome: 'failed', ...IMAGE_PLAN }).ending).toMatchObject({ in: 'guest-rootfs' })
  })

  it('keeps to its marks when the record names another stage, and says so', () => {
    const named = { outcome: 'failed', error: { code: 'E', message: 'm', stage: 'firmware' } }
    const { ending, diagnostics } = timeline(until('kernel-first-line'), named)
    expect(ending).toMatchObject({ in: 'kernel' })
    expect(diagnostics).toMatchObject([{ name: 'stage-disagrees', detail: 'firmware', file: 'boot.json' }])
    const agrees = { outcome: 'failed', error: { code: 'E', message: 'm', stage: 'kernel' } }
    expect(timeline(until('kernel-first-line'), agrees).diagnostics).toEqual([])
  })

  it('names the last mark when it died between stages', () => {
    const { ending } = timeline([...until('plan-ready'), at(20, 'engine-exit')], { outcome: 'failed' })
    expect(ending).toMatchObject({ state: 'died', afterMark: 'plan-ready', afterMs: 8, by: 'engine-exit' })
    expect(ending).not.toHaveProperty('in')
  })

  it('died before any mark when it has none, which measured nothing', () => {
    const { ending, findings, zero } = bootTimeline({ boot: { outcome: 'failed' }, marks: [] })
    expect(ending).toEqual({ state: 'died', outcome: 'failed' })
    expect(findings).toMatchObject([{ severity: 'error', kind: 'no-marks' }, { kind: 'accelerator-not-proved' }])
    expect(zero).toEqual({ from: 'nothing' })
  })

  it('does not fail where the box ended well and something merely never came', () => {
    const marks = [
      ...bareMarks(),
      at(1480, 'switch-root', 'agent'),
      guestAt(1400, 'userspace'),
      at(9000, 'engine-exit'),
    ]
    const done = timeline(marks, IMAGE_PLAN, { clock: CLOCK })
    expect(done.ending).toMatchObject({ state: 'completed' })
    expect(stage(done, 'login')).toMatchObject({
      reason: 'not-reached',
      why: 'Not reached: it began, but login-prompt never came.',
    })
  })
})

describe('a boot whose kernel is quiet', () => {
  const quiet = bareMarks().filter(({ mark }) => mark !== 'kernel-first-line' && mark !== 'init-run')

  it('has passed the stages that nobody saw end, and does not die in them', () => {
    const failed = timeline([...quiet, at(9000, 'guest-panic', 'console')], { outcome: 'failed' })
    expect(stage(failed, 'firmware')).toMatchObject({
      reason: 'not-recorded',
      why: 'Its end, kernel-first-line, was not recorded, but agent-up came.',
    })
    expect(stage(failed, 'kernel')).toMatchObject({
      why: 'Neither kernel-first-line nor init-run was recorded, but agent-up came.',
    })
    expect(stage(failed, 'stage0')).toMatchObject({ why: 'Its beginning, init-run, was not recorded.' })
    expect(failed.ending).toMatchObject({ state: 'died', afterMark: 'agent-ready', afterMs: 7500, by: 'guest-panic' })
  })

  it('has the metrics that need no mark of the kernel', () => {
    expect(timeline(quiet).metrics.guestBootDurationMs).toMatchObject({ state: 'measured', valueMs: 1400 })
  })

  it('does not pass a bare box’s stage 0 before the agent is up', () => {
    expect(stage(timeline(until('init-run'), { outcome: 'running' }), 'stage0')).toMatchObject({
      reason: 'in-progress',
    })
  })

  it('does not pass an image’s stage 0 when the agent is up', () => {
    expect(stage(timeline(until('agent-ready'), { ...IMAGE_PLAN, outcome: 'running' }), 'stage0')).toMatchObject({
      reason: 'in-progress',
    })
    const passed = timeline([...until('agent-ready'), guestAt(1400, 'userspace')], {
      ...IMAGE_PLAN,
      outcome: 'running',
    })
    expect(stage(passed, 'stage0')).toMatchObject({
      why: 'Its end, switch-root, was not recorded, but userspace came.',
    })
  })
})

describe('what the harness prepares', () => {
  const noRootfs = bareMarks().filter(({ mark }) => !mark.startsWith('rootfs'))

  it('is not part of a boot that came to its engine without it', () => {
    expect(stage(timeline(noRootfs), 'guest-rootfs')).toMatchObject({ reason: 'not-part' })
  })

  it('may still come before that', () => {
    expect(stage(timeline(noRootfs.slice(0, 2), { outcome: 'running' }), 'guest-rootfs')).toMatchObject({
      reason: 'not-reached',
    })
  })
})

describe('a boot that still runs', () => {
  it('has its open stages in progress', () => {
    const running = timeline(until('vm-start'), { outcome: 'running' })
    expect(running.ending).toEqual({ state: 'running' })
    expect(stage(running, 'firmware')).toMatchObject({
      reason: 'in-progress',
      why: 'Waits for kernel-first-line.',
      start: { ms: 66 },
    })
    expect(stage(running, 'kernel')).toMatchObject({ reason: 'not-reached' })
  })

  it('is what a record without boot.json shows until a mark of the end', () => {
    expect(bootTimeline({ marks: until('vm-start') }).ending).toEqual({ state: 'running' })
    expect(bootTimeline({ marks: [...until('vm-start'), at(90, 'engine-exit')] }).ending).toMatchObject({
      state: 'died',
      outcome: 'unknown',
      in: 'firmware',
    })
  })
})

describe('what kind of boot it is', () => {
  it.each([
    [{ boot: { kind: 'direct' } }, 'bare'],
    [{ boot: 'direct' }, 'bare'],
    [{ boot: 'direct', image: {} }, 'image'],
    [{ boot: 'direct', agent: false }, 'agentless'],
    [{ boot: 'image' }, 'agentless'],
    [{ boot: { kind: 'firmware' } }, 'firmware'],
    [{ boot: { kind: 'firmware' }, ready: 'login-prompt' }, 'agentless'],
    [{ boot: 'direct', template: 't' }, 'restored'],
    [{}, undefined],
    [{ boot: 7 }, undefined],
  ])('a plan of %j is %s', (plan, kind) => {
    expect(timeline([at(0, 'start')], { plan }).box.kind).toBe(kind)
  })

  it.each([
    ['switch-root', 'image'],
    ['state-loaded', 'restored'],
    ['resumed', 'restored'],
  ])('the mark %s proves more than the plan', (mark, kind) => {
    expect(timeline([at(0, 'start'), at(1, mark, 'agent')]).box.kind).toBe(kind)
  })

  it('a kernel of the disk’s shows a firmware boot to be more', () => {
    const marks = [at(0, 'start'), at(1, 'vm-start', 'qmp'), at(2, 'kernel-first-line', 'console')]
    const loaded = timeline(marks, { plan: { boot: { kind: 'firmware' } }, outcome: 'running' })
    expect(loaded.box.kind).toBe('agentless')
    expect(stage(loaded, 'kernel')).toMatchObject({ reason: 'in-progress' })
    expect(stage(timeline(marks.slice(0, 2), { plan: { boot: { kind: 'firmware' } } }), 'kernel')).toMatchObject({
      reason: 'not-part',
    })
  })

  it('the caller may know better', () => {
    expect(timeline([at(0, 'start')], {}, { kind: 'restored' }).box.kind).toBe('restored')
  })

  it('a boot of unknown kind may have any stage but those of a restore', () => {
    const unknown = bootTimeline({ marks: until('qmp-ready') })
    expect(stage(unknown, 'pid1')).toMatchObject({ reason: 'not-reached' })
    expect(stage(unknown, 'state-load')).toMatchObject({ reason: 'not-part' })
  })

  it('a container’s stage is part of a boot that asked for one', () => {
    const asked = timeline(bareMarks(), { plan: { boot: 'direct', container: {} } })
    expect(stage(asked, 'container-init')).toMatchObject({ reason: 'not-reached' })
    const done = timeline([...bareMarks(), at(1600, 'process-ready', 'agent')])
    expect(stage(done, 'container-init')).toMatchObject({ state: 'reached', durationMs: 134 })
  })

  it('an image’s stage 0 does not end where the agent is up', () => {
    const marks = [...until('agent-up'), at(1500, 'engine-exit')]
    expect(timeline(marks, { ...IMAGE_PLAN, outcome: 'failed' }).ending).toMatchObject({ in: 'stage0', afterMs: 234 })
  })

  it('a restored box has its own stages', () => {
    const marks = [
      ...until('qmp-ready'),
      at(70, 'state-loaded', 'qmp'),
      at(71, 'resumed', 'qmp'),
      at(80, 'agent-back', 'agent'),
      at(80, 'ready', 'runtime'),
    ]
    const restored = timeline(marks)
    expect(['state-load', 'resume', 'agent-back'].map((id) => stage(restored, id as StageId))).toMatchObject([
      { durationMs: 6 },
      { durationMs: 1 },
      { durationMs: 9 },
    ])
    expect(stage(restored, 'firmware')).toMatchObject({ reason: 'not-part' })
    expect(restored.metrics.guestBootDurationMs).toEqual({ state: 'absent', why: 'Not part of this boot.' })
  })
})

describe('when the box is ready', () => {
  const noReady = bareMarks().filter(({ mark }) => mark !== 'ready')

  it('is not known from what only came later', () => {
    const running = timeline(
      [...noReady.filter(({ mark }) => mark !== 'agent-ready'), at(1600, 'userspace', 'agent')],
      { outcome: 'running' },
    )
    expect(stage(running, 'ready')).toMatchObject({ reason: 'in-progress' })
  })

  it('is not known of a boot whose start was not recorded', () => {
    const lost = timeline([at(14, 'spawn'), at(24, 'engine-main', 'qmp')], { outcome: 'running' })
    expect(stage(lost, 'ready')).toMatchObject({ reason: 'not-reached' })
  })

  it('is where `ready` says', () => {
    expect(stage(timeline([...noReady, at(1700, 'ready')]), 'ready')).toMatchObject({
      durationMs: 1700,
      to: { mark: 'ready' },
    })
  })

  it('is without it where the mark that the plan names came', () => {
    const plan = { boot: 'direct', ready: 'user:served' }
    expect(stage(timeline([...noReady, at(1600, 'user:served', 'console')], { plan }), 'ready')).toMatchObject({
      durationMs: 1600,
    })
    expect(stage(timeline(noReady, { plan }), 'ready')).toMatchObject({ state: 'absent' })
  })

  it('is without either where the agent is ready', () => {
    expect(stage(timeline(noReady, { plan: { boot: 'direct' } }), 'ready')).toMatchObject({
      durationMs: 1500,
      to: { mark: 'agent-ready' },
    })
  })
})

describe('sources and clocks', () => {
  it('keeps every source of a mark and says why it took one', () => {
    const marks = [
      at(0, 'start'),
      at(1, 'vm-start', 'qmp'),
      guestAt(0, 'kernel-first-line', 'console'),
      at(212, 'kernel-first-line', 'agent'),
      at(210, 'kernel-first-line', 'console', { errorNs: 20 }),
      at(211, 'kernel-first-line', 'console', { errorNs: 10 }),
    ]
    const one = timeline(marks).marks.find(({ mark }) => mark === 'kernel-first-line')
    expect(one?.sources).toEqual(marks.slice(2))
    expect(one).toMatchObject({ source: 'console', clock: 'host', why: 'the smallest error', at: { ms: 211 } })
  })

  it.each([
    [[at(5, 'agent-up', 'agent')], 'the only source'],
    [[guestAt(1, 'agent-up', 'agent'), at(5, 'agent-up', 'agent')], 'on the host clock'],
    [[at(4, 'agent-up', 'console'), at(5, 'agent-up', 'agent')], 'the source that defines this mark'],
    [[at(5, 'agent-up', 'agent'), at(6, 'agent-up', 'agent')], 'the first of equal lines'],
  ])('of %j it takes the one at 5 ms: %s', (lines, why) => {
    const found = timeline([at(0, 'start'), ...lines]).marks.find(({ mark }) => mark === 'agent-up')
    expect(found).toMatchObject({ why, at: { known: true, ms: 5 } })
  })

  it('maps guest stamps to the host’s axis with their error', () => {
    const marks = [at(0, 'start'), at(1480, 'switch-root', 'agent'), guestAt(1400, 'userspace')]
    const { stages } = timeline(marks, {}, { clock: CLOCK })
    const pid1 = stages.find(({ id }) => id === 'pid1')
    expect(pid1).toMatchObject({ state: 'reached', to: { source: 'systemd', clock: 'guest' } })
    expect(pid1?.state === 'reached' && [pid1.durationMs, pid1.errorMs].map((ms) => ms.toFixed(3))).toEqual([
      '20.000',
      '0.100',
    ])
  })

  it('measures between two guest stamps on the guest’s clock, also where it cannot place them', () => {
    const marks = [at(0, 'start'), guestAt(1400, 'userspace'), guestAt(2400, 'basic-target')]
    const basic = stage(timeline(marks), 'basic')
    expect(basic).toMatchObject({ state: 'reached', durationMs: 1000, errorMs: 5, start: { known: false } })
    const mapped = stage(timeline(marks, {}, { clock: CLOCK }), 'basic')
    expect(mapped).toMatchObject({ state: 'reached', start: { known: true } })
    expect(mapped.state === 'reached' && mapped.errorMs).toBeCloseTo(1000 * (0.2 / 1990), 9)
  })

  it('falls back to guest stamps when only those exist at both ends', () => {
    const marks = [
      at(0, 'start'),
      at(900, 'init-run', 'console'),
      guestAt(800, 'init-run', 'agent'),
      guestAt(1000, 'agent-up', 'agent'),
    ]
    // No clock: init-run has no console stamp of printk's to map by.
    expect(stage(timeline(marks), 'stage0')).toMatchObject({ state: 'reached', durationMs: 200, errorMs: 1 })
  })

  it('adds to a span of the guest what its stamps and the distance of its clocks leave open', () => {
    const marks = [
      at(0, 'start'),
      guestAt(1000, 'init-run', 'console', { errorNs: 1e6 }),
      guestAt(2000, 'agent-up', 'agent', { errorNs: 2e6 }),
    ]
    expect(stage(timeline(marks), 'stage0')).toMatchObject({ durationMs: 1000, errorMs: 5 + 1 + 2 + 250 })
    const same = [
      at(0, 'start'),
      guestAt(1000, 'userspace', 'systemd', { errorNs: 1e6 }),
      guestAt(2000, 'basic-target', 'systemd', { errorNs: 2e6 }),
    ]
    expect(stage(timeline(same), 'basic')).toMatchObject({ durationMs: 1000, errorMs: 8 })
  })

  it('measures the guest’s seconds in those of the host, with what a bent clock leaves open', () => {
    const slow: ClockSample[] = [0, 1000, 2000].map((ms) => {
      const hostNs = ZERO_NS + (100 + ms * 1.004 + (ms === 1000 ? 3 : 0)) * 1e6
      return { hostSendNs: hostNs - 1e5, guestNs: ms * 1e6, hostRecvNs: hostNs + 1e5 }
    })
    const marks = [
      at(0, 'start'),
      guestAt(100, 'userspace', 'systemd', { errorNs: 1e6 }),
      guestAt(1100, 'basic-target'),
    ]
    const basic = stage(timeline(marks, {}, { clock: slow }), 'basic')
    expect(basic.state === 'reached' && [basic.durationMs, basic.errorMs].map((ms) => ms.toFixed(2))).toEqual([
      '1004.00',
      (0.1 + 2.8 + 1).toFixed(2),
    ])
    expect(timeline(marks, {}, { clock: slow }).marks.find(({ mark }) => mark === 'userspace')).toMatchObject({
      at: { known: true, errorMs: expect.closeTo(0.1 + 2.8 + 1, 2) },
    })
  })

  it('has no duration where one end cannot be placed, and says why', () => {
    const marks = [at(0, 'start'), at(1480, 'switch-root', 'agent'), guestAt(1400, 'userspace')]
    const pid1 = stage(timeline(marks), 'pid1')
    expect(pid1).toMatchObject({ state: 'absent', reason: 'clock' })
    expect(pid1.state === 'absent' && pid1.why).toMatch(
      /^Both marks are there, but userspace has no place in time: it is on the guest clock, and no ping /,
    )
  })

  it('uses no guest time of a clock that runs wrongly', () => {
    const fast = CLOCK.map((sample, index) => (index === 0 ? sample : { ...sample, guestNs: sample.guestNs * 1.02 }))
    const marks = [at(0, 'start'), guestAt(1400, 'userspace'), guestAt(2400, 'basic-target')]
    const invalid = timeline(marks, {}, { clock: fast })
    expect(invalid.clock).toMatchObject({ state: 'invalid' })
    expect(invalid.findings).toMatchObject([{ severity: 'error', kind: 'clock-invalid' }])
    expect(stage(invalid, 'basic')).toMatchObject({ state: 'absent', reason: 'clock' })
  })

  it('reports the mapping without functions, so that it can be stored', () => {
    const { clock } = timeline(bareMarks(), {}, { clock: CLOCK })
    expect(Object.keys(clock)).toEqual(['state', 'basis', 'clock', 'rate', 'rateError', 'anchors'])
  })

  it('takes a negative span within the error for 0 plus or minus the error', () => {
    const marks = [
      at(0, 'start'),
      at(10, 'kernel-first-line', 'console', { errorNs: 2e6 }),
      at(9, 'init-run', 'console'),
    ]
    expect(stage(timeline(marks), 'kernel')).toMatchObject({ state: 'reached', durationMs: 0, errorMs: 2 })
  })

  it('takes a negative span beyond the error for an error, not for a number', () => {
    const marks = [
      at(0, 'start'),
      at(10, 'kernel-first-line', 'console', { errorNs: 2e6 }),
      at(7, 'init-run', 'console'),
    ]
    const wrong = timeline(marks)
    const message =
      'init-run lies 3.000 ms before kernel-first-line, more than the 2.000 ms that the clocks can be wrong.'
    expect(stage(wrong, 'kernel')).toMatchObject({ state: 'absent', reason: 'clock', why: message })
    expect(wrong.findings).toEqual([{ severity: 'error', kind: 'negative-span', stage: 'kernel', message }])
  })

  it('takes a metric that would be negative for absent', () => {
    const marks = [at(0, 'start'), at(10, 'spawn'), at(7, 'qmp-ready', 'qmp')]
    expect(timeline(marks).metrics.stageBoxSpawnMs).toMatchObject({
      state: 'absent',
      why: expect.stringContaining('3.000 ms before spawn'),
    })
  })

  it('does not measure a stage whose beginning was not recorded', () => {
    expect(stage(timeline([at(0, 'start'), at(9, 'folder-ready'), at(30, 'plan-ready')]), 'box-config')).toMatchObject({
      reason: 'not-recorded',
      why: 'Its beginning, plan-begin, was not recorded.',
    })
  })

  it.each([
    [[at(3, 'spawn')], ZERO_NS, { atNs: ZERO_NS, from: 'startNs of boot.json' }],
    [[at(3, 'spawn'), at(1, 'plan-begin')], undefined, { atNs: ZERO_NS + 1e6, from: 'first host mark' }],
    [[guestAt(3, 'userspace')], undefined, { from: 'nothing' }],
  ])('begins its axis at the best that %j and startNs %s give', (marks, startNs, zero) => {
    expect(bootTimeline({ boot: startNs === undefined ? {} : { startNs }, marks }).zero).toEqual(zero)
  })

  it('places nothing on an axis without a beginning', () => {
    const lost = bootTimeline({ marks: [guestAt(3, 'userspace')] })
    expect(lost.marks[0]?.at).toEqual({ known: false, why: 'the record has no instant on the host clock' })
  })
})

describe('findings on the accelerator', () => {
  it('is one when the record does not prove it', () => {
    expect(timeline(bareMarks(), { accelerator: { asked: 'auto' } }).findings).toMatchObject([
      { severity: 'warning', kind: 'accelerator-not-proved' },
    ])
  })

  it('is one when another ran than was asked for, but not for auto', () => {
    expect(timeline(bareMarks(), { accelerator: { asked: 'kvm', proved: 'tcg' } }).findings).toEqual([
      {
        severity: 'error',
        kind: 'accelerator-differs',
        message: 'The accelerator asked for was kvm, but tcg ran this boot.',
      },
    ])
    expect(timeline(bareMarks(), { accelerator: { asked: 'auto', proved: 'tcg' } }).findings).toEqual([])
    expect(timeline(bareMarks(), { accelerator: { proved: 'tcg' } }).findings).toEqual([])
  })
})
