// Boots firmware boxes at once, holds each for a while, and prints when each had its place on the host. With `hold` it
// keeps the boxes until it is killed; with `alone` it first takes the host for itself.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { bootBox, exclusiveHost, Wait } from '../../src/index.ts'

const [disk = '', count = '1', memoryMib = '64', mode = ''] = process.argv.slice(2)
const host = mode === 'alone' ? await exclusiveHost({ label: 'a lane' }) : undefined
const beganNs = Number(process.hrtime.bigint())

async function one(): Promise<{ readonly fromNs: number; readonly toNs: number }> {
  const record = { keep: 'always', dir: join(disk, '..', `record-${process.pid}-${Math.random()}`) } as const
  const options = { boot: 'firmware', accel: 'tcg', waitFor: Wait.forConsole('done'), record } as const
  const box = await bootBox({ ...options, disks: [{ path: disk }], memoryMib: Number(memoryMib) })
  if (mode === 'hold') {
    console.log('held')
    await sleep(60_000)
  }
  await sleep(200)
  await box.stop()
  const marks = readFileSync(join(box.record, 'marks.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const at = (id: string): number => marks.find(({ mark }) => mark === id)?.atNs as number
  return { fromNs: at('start'), toNs: at('engine-exit') }
}

const boxes = await Promise.all(Array.from({ length: Number(count) }, one))
const endedNs = Number(process.hrtime.bigint())
host?.release()
console.log(JSON.stringify({ boxes, beganNs, endedNs }))
