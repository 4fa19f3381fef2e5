import { setImmediate as turn } from 'node:timers/promises'
import { Box, type BoxOptions } from '../../src/index.ts'

/** A way to end a box at a point of its start. */
export interface Death {
  readonly point: 'before spawn' | 'after spawn' | 'engine-main' | 'vm-start' | 'ready'
  readonly way: 'kill()' | 'stop()' | 'abort' | 'SIGKILL of the engine'
}

const points: readonly Death['point'][] = ['before spawn', 'after spawn', 'engine-main', 'vm-start', 'ready']
const ways: readonly Death['way'][] = ['kill()', 'stop()', 'abort', 'SIGKILL of the engine']

/** Every way at every point, but for an engine that is not there yet. */
export const deaths: readonly Death[] = points.flatMap((point) =>
  ways
    .filter((way) => point !== 'before spawn' || way !== 'SIGKILL of the engine')
    .map((way): Death => ({ point, way })),
)

/** Boots a box and ends it so; resolves when it is gone. The result is how its boot ended: `ready` or the error's code. */
export async function bootAndDie(options: BoxOptions, { point, way }: Death): Promise<string> {
  const abort = new AbortController()
  const box = new Box({ ...options, signal: abort.signal })
  const boot = box.boot().then(
    () => 'ready',
    (error: unknown) => (error as { code?: string }).code ?? String(error),
  )
  if (point === 'ready') await boot
  else await reached(box, point === 'before spawn' ? 'folder-ready' : point === 'after spawn' ? 'spawn' : point)
  if (way === 'kill()') box.kill()
  else if (way === 'stop()') await box.stop()
  else if (way === 'abort') abort.abort(new Error('the benchmark says so'))
  else await killEngine(box)
  const outcome = await boot
  await box.stop()
  return outcome
}

/** Boots a box and stops it. */
export async function bootAndStop(options: BoxOptions): Promise<void> {
  const box = await new Box(options).boot()
  await box.stop()
}

async function reached(box: Box, mark: string): Promise<void> {
  for (;;) {
    const marks = box.marks()
    if (marks.some((line) => line.mark === mark)) return
    // Before its turn to boot there is nothing to wait at.
    if (marks.length === 0) await turn()
    else await box.machine.waitBeyond(marks.length, 10_000)
  }
}

async function killEngine(box: Box): Promise<void> {
  // The mark of the spawn is set a little before the box holds the process.
  while (box.info().pid === undefined && box.state === 'booting') await turn()
  const { pid } = box.info()
  if (pid === undefined) throw new Error(`there is no engine to kill: the box is ${box.state}`)
  process.kill(pid, 'SIGKILL')
}
