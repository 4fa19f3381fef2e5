// A process that outlives the worker thread in which it boots a box: the thread is terminated at the first byte of the
// input, and the process ends with its input.
import { isMainThread, Worker } from 'node:worker_threads'
import { Box } from '../../src/index.ts'
import { blockWhen, ownedBox } from './owned-box.ts'

if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url), { execArgv: process.execArgv })
  worker.on('error', (error) => console.error(error))
  process.stdin.once('data', () => void worker.terminate())
  process.stdin.once('end', () => process.exit())
} else {
  const { options, blockAt } = ownedBox()
  const box = new Box(options)
  const boot = box.boot()
  if (blockAt !== undefined) blockWhen(box, blockAt)
  await boot
  setInterval(() => {}, 1000)
}
