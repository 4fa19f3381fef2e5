// Resolves one source as a process of its own: node engine-user.ts JSON. Prints `{"image": …}` or `{"code": …, "message": …}`.
// With `killAt` it kills itself at the first event of which that is a part; with `sayAt` it prints `said` there.
import { container, dockerfile } from '../../../src/images/docker/index.ts'
import { ImageError } from '../../../src/images/errors.ts'

/** What it is told. */
export interface EngineUserTask {
  readonly cacheRoot: string
  readonly dockerfile?: string
  readonly container?: string
  readonly killAt?: string
  readonly killDelayMs?: number
  readonly sayAt?: string
}

const task = JSON.parse(process.argv[2] ?? '{}') as EngineUserTask
function killLater(): void {
  if (!task.killDelayMs) process.kill(process.pid, 'SIGKILL')
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), task.killDelayMs)
}

const source = task.dockerfile === undefined ? container(task.container ?? '') : dockerfile(task.dockerfile)
try {
  const image = await source.resolve({
    cacheRoot: task.cacheRoot,
    progress({ step, detail = '', doneBytes }) {
      const event = `${step} ${detail}${doneBytes === undefined ? '' : ' bytes'}`
      if (task.killAt !== undefined && event.includes(task.killAt)) killLater()
      if (task.sayAt !== undefined && event.includes(task.sayAt)) process.stdout.write('said\n')
    },
  })
  process.stdout.write(`${JSON.stringify({ image })}\n`)
} catch (error) {
  if (!(error instanceof ImageError)) throw error
  process.stdout.write(`${JSON.stringify({ code: error.code, message: error.message })}\n`)
}
