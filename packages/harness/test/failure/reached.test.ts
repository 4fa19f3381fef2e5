import type { MarkLine } from '@boxlab/native'
import { describe, expect, it } from 'vitest'
import { reachedBy } from '../../src/failure/reached.ts'

/** Marks of the host's clock, given as `mark ms`. */
function marks(...given: string[]): MarkLine[] {
  return given.map((text) => {
    const [mark = '', ms] = text.split(' ')
    return { mark, source: 'runtime', clock: 'host', atNs: Number(ms) * 1e6 }
  })
}

const started = ['start 0', 'folder-ready 1', 'image-begin 2', 'image-ready 3', 'rootfs-begin 3', 'rootfs-ready 9']
const running = [
  ...started,
  'plan-begin 9',
  'plan-ready 10',
  'spawn 10',
  'engine-main 40',
  'qmp-ready 90',
  'vm-start 91',
]
const kernel = [...running, 'kernel-first-line 600']

describe('the stage of a failure', () => {
  it.each([
    ['guest-rootfs', started.slice(0, 5), 4],
    ['engine-exec', running.slice(0, 9), 50],
    ['engine-init', running.slice(0, 10), 50],
    ['firmware', running, 500],
    ['kernel', kernel, 700],
    ['stage0', [...kernel, 'init-run 3000'], 3100],
  ])('is %s', (stage, given, failedMs) => {
    const reached = reachedBy(marks(...given), failedMs * 1e6, 'bare')
    expect(reached).toMatchObject({ stage, failedMs })
    expect(reached.stageMs).toBeCloseTo(failedMs - Number(given.at(-1)?.split(' ')[1]))
  })

  it('is image-prepare before there is a plan to tell the kind of boot', () => {
    expect(reachedBy(marks(...started.slice(0, 3)), 3e6, undefined)).toMatchObject({ stage: 'image-prepare' })
  })

  it.each([
    ['before a stage begins', started.slice(0, 2)],
    ['between two of them', running.slice(0, 8)],
    ['once the agent is up', [...kernel, 'init-run 3000', 'agent-up 3050']],
    ['when the box is ready', [...kernel, 'init-run 3000', 'agent-up 3050', 'agent-ready 3300', 'ready 3300']],
    ['when a quiet kernel showed none of its marks', [...running, 'agent-up 3050', 'agent-ready 3300', 'ready 3300']],
  ])('is absent %s', (_, given) => {
    const reached = reachedBy(marks(...given), 9e9, 'bare')
    expect(reached).not.toHaveProperty('stage')
    expect(reached.lastMark).toBe(given.at(-1)?.split(' ')[0])
  })

  it('of a firmware box is its firmware, also once it is ready', () => {
    const given = marks('start 0', ...running.slice(6), 'ready 91', 'user:console:x 200')
    expect(reachedBy(given, 300e6, 'firmware')).toMatchObject({ stage: 'firmware', lastMark: 'user:console:x' })
  })

  it('of an image box goes on behind our own stage', () => {
    const given = marks(...kernel, 'init-run 3000', 'agent-up 3100', 'agent-ready 3200', 'switch-root 3300')
    expect(reachedBy(given, 4e9, 'image')).toMatchObject({ stage: 'pid1', stageMs: 700 })
  })
})

describe('the marks of a failure', () => {
  it('are the last six, in the order of their times, with the end among them', () => {
    const given = marks(...kernel, 'guest-panic 900', 'guest-reset 905', 'engine-exit 910', 'init-run 800')
    const { lastMarks, lastMark, sinceMs } = reachedBy(given, 911e6, 'bare')
    expect(lastMarks?.map(({ mark }) => mark)).toEqual([
      'vm-start',
      'kernel-first-line',
      'init-run',
      'guest-panic',
      'guest-reset',
      'engine-exit',
    ])
    expect(lastMarks?.at(-1)?.atMs).toBeCloseTo(910)
    // How far it came is not how it ended.
    expect(lastMark).toBe('init-run')
    expect(sinceMs).toBeCloseTo(111)
  })

  it("are none of the guest's clock, none from later, and the first where there are several", () => {
    const given: MarkLine[] = [
      ...marks('start 0', 'init-run 50', 'init-run 60', 'agent-up 500'),
      { mark: 'init-run', source: 'console', clock: 'guest', atNs: 1 },
      { mark: 'userspace', source: 'systemd', clock: 'guest', atNs: 2 },
    ]
    expect(reachedBy(given, 100e6, undefined).lastMarks).toEqual([
      { mark: 'start', atMs: 0 },
      { mark: 'init-run', atMs: 50 },
    ])
  })

  it('may be absent', () => {
    expect(reachedBy([], 1e9, 'bare')).toEqual({})
  })
})
