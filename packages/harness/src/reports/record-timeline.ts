import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Timeline, timelineOfRecord } from '@boxlab/probes'

/** Reads the timeline of a record folder, of a box that lives or of one long gone. */
export function readTimeline(record: string): Timeline {
  const read = (name: string): Buffer | undefined => {
    const path = join(record, name)
    return existsSync(path) ? readFileSync(path) : undefined
  }
  const [boot, clock, consoleBytes, consoleIndex] = [
    read('boot.json'),
    read('guest/clock.jsonl'),
    read('console.bin'),
    read('console.idx.jsonl'),
  ]
  return timelineOfRecord({
    marks: read('marks.jsonl') ?? '',
    ...(boot && { boot }),
    ...(clock && { clock }),
    ...(consoleBytes && { console: consoleBytes }),
    ...(consoleIndex && { consoleIndex }),
  })
}
