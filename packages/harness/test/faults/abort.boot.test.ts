import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Box, BoxError } from '../../src/index.ts'
import { bootDisk } from '../fixtures/boot-sector.ts'
import { firmwareBox, ownHome } from '../fixtures/own-home.ts'
import { alive, ownEngines, type ProcessLine } from '../fixtures/processes.ts'

const home = ownHome()
const firmware = firmwareBox(home)

/** When a boot is aborted: at a mark, or at some instant between two times after its begin, in milliseconds. */
type Instant = { readonly mark: string } | { readonly fromMs: number; readonly toMs: number }

const marks = [
  'start',
  'folder-ready',
  'plan-begin',
  'plan-ready',
  'spawn',
  'engine-main',
  'qmp-ready',
  'vm-start',
  'user:console:done',
  'ready',
]
// A boot takes some 120 ms: everywhere in it, and a little beyond.
const spans = Array.from({ length: 15 }, (_, index) => ({ fromMs: index * 11, toMs: (index + 1) * 11 }))

async function until(box: Box, instant: Instant): Promise<void> {
  if ('fromMs' in instant) {
    await sleep(instant.fromMs + Math.random() * (instant.toMs - instant.fromMs))
    return
  }
  while (!box.marks().some(({ mark }) => mark === instant.mark)) {
    if (box.state === 'failed') return
    await turn()
  }
}

function outcomeOf(box: Box): string {
  return (JSON.parse(readFileSync(join(box.record, 'boot.json'), 'utf8')) as { outcome: string }).outcome
}

/** Aborts a boot then. What is there right when its caller hears of the end, and what at last. */
async function abortAt(
  instant: Instant,
): Promise<{ ended: Box | BoxError; atOnce: readonly ProcessLine[]; atLast: unknown }> {
  const abort = new AbortController()
  const box = new Box({ ...firmware, record: { keep: 'always' } })
  const boot = box.boot({ signal: abort.signal }).catch((error: unknown) => error as BoxError)
  await until(box, instant)
  abort.abort(new Error('the test says so'))
  const ended = await boot
  const atOnce = ownEngines().filter(({ state }) => state !== 'Z')
  await box.stop()
  return { ended, atOnce, atLast: { state: box.state, engines: ownEngines(), outcome: outcomeOf(box) } }
}

test.for<Instant>([...marks.map((mark) => ({ mark })), ...spans])(
  'a boot that is aborted at %o ends as aborted or is ready, and leaves no engine and no open record',
  async (instant) => {
    const { ended, atOnce, atLast } = await abortAt(instant)
    const failed = ended instanceof BoxError
    const code = failed ? ended.code : 'ready'
    expect(code).toMatch(/^(ERR_BOX_ABORTED|ready)$/)
    expect(failed ? ended.cause : new Error('the test says so')).toMatchObject({ message: 'the test says so' })
    expect(failed ? ended.message : '').not.toContain('a box boots once')
    expect(atOnce).toEqual([])
    expect(atLast).toEqual({
      state: failed ? 'failed' : 'stopped',
      engines: [],
      outcome: expect.stringMatching(/^(killed|failed)$/) as string,
    })
  },
)

test('a box whose signal had aborted before is not booted, and has no record', async () => {
  const box = new Box({ ...firmware, signal: AbortSignal.abort(new Error('long ago')) })
  await expect(box.boot()).rejects.toMatchObject({ code: 'ERR_BOX_ABORTED', cause: { message: 'long ago' } })
  expect(box.state).toBe('failed')
  expect(ownEngines()).toEqual([])
})

test('an abort does not wait for the digest of a large disk', async () => {
  const path = join(home, 'large.img')
  writeFileSync(path, bootDisk('hello\r\n'))
  // All holes: it takes no room, and seconds to read.
  truncateSync(path, 1024 ** 3)
  const abort = new AbortController()
  const boot = new Box({ ...firmware, disks: [{ path }] })
    .boot({ signal: abort.signal })
    .catch((error: unknown) => error)
  await sleep(100)
  const begin = performance.now()
  abort.abort(new Error('the test says so'))
  expect(await boot).toMatchObject({ code: 'ERR_BOX_ABORTED' })
  expect(performance.now() - begin).toBeLessThan(500)
})

test('boots that wait for their turn and are aborted end as aborted, each', async () => {
  const abort = new AbortController()
  const boxes = Array.from({ length: 8 }, () => new Box({ ...firmware, signal: abort.signal }))
  const boots = boxes.map((box) => box.boot().catch((error: unknown) => error))
  await sleep(60)
  abort.abort(new Error('all of them'))
  const codes = (await Promise.all(boots)).map((ended) => (ended instanceof BoxError ? ended.code : 'ready'))
  expect(codes.filter((code) => code !== 'ready' && code !== 'ERR_BOX_ABORTED')).toEqual([])
  expect(codes).toContain('ERR_BOX_ABORTED')
  await Promise.all(boxes.map((box) => box.stop()))
  expect(ownEngines()).toEqual([])
})

test.for(['folder-ready', 'plan-ready', 'spawn', 'engine-main', 'vm-start'])(
  '`stop` during a boot, at %s, resolves only when the engine is gone',
  async (mark) => {
    const box = new Box({ ...firmware, record: { keep: 'always' } })
    const boot = box.boot().catch((error: unknown) => error)
    await until(box, { mark })
    const { pid } = box.info()
    await box.stop()
    expect(alive(pid)).toBe(false)
    expect(ownEngines()).toEqual([])
    expect(await boot).toMatchObject({ code: 'ERR_BOX_KILLED' })
    expect(outcomeOf(box)).not.toBe('running')
  },
)
