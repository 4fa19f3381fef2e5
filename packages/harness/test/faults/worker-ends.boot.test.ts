import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { textOrEmpty } from '../../src/read-or-empty.ts'
import { firmwareBox, ownHome } from '../fixtures/own-home.ts'
import { ownEngines } from '../fixtures/processes.ts'

const home = ownHome()
const [disk] = firmwareBox(home).disks ?? []

function recordOf(known: ReadonlySet<string>): string | undefined {
  try {
    const made = readdirSync(join(home, 'records')).find((name) => !known.has(name))
    return made && join(home, 'records', made)
  } catch {
    return undefined
  }
}

const knownRecords = new Set<string>()

test.for(['folder-ready', 'plan-ready', 'spawn', 'engine-main', 'qmp-ready', 'vm-start', 'ready'])(
  'a worker thread that is terminated when its box has the mark %s takes the box with it, and the record says so',
  async (mark) => {
    const worker = new Worker(new URL('../fixtures/ending-owner.ts', import.meta.url), {
      workerData: disk?.path,
      execArgv: ['-C', '@boxlab/source'],
    })
    onTestFinished(async () => void (await worker.terminate()))
    const endMs = performance.now() + 15_000
    while (!textOrEmpty(join(recordOf(knownRecords) ?? '', 'marks.jsonl')).includes(`"mark":"${mark}"`)) {
      if (performance.now() > endMs) throw new Error(`the box did not reach ${mark}`)
      await sleep(1)
    }
    await worker.terminate()
    await expect.poll(() => ownEngines(), { timeout: 1000, interval: 10 }).toEqual([])
    // Nothing comes late.
    await sleep(150)
    expect(ownEngines()).toEqual([])
    const record = recordOf(knownRecords) ?? ''
    knownRecords.add(record.slice(record.lastIndexOf('/') + 1))
    await expect
      .poll(() => (JSON.parse(textOrEmpty(join(record, 'boot.json'))) as { outcome: string }).outcome, {
        timeout: 1000,
      })
      .toBe('killed')
  },
)
