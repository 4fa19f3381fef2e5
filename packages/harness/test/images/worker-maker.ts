// A maker in a worker thread that never ends by itself.
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { cachedEntry } from '../../src/images/index.ts'

await cachedEntry(workerData as string, 'thing', { from: 'maker-process' }, async () => {
  parentPort?.postMessage('making')
  await sleep(600_000)
})
