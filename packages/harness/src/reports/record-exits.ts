import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { exits, type ExitsResult } from '@boxlab/probes'

/** KVM's counters per phase, from a record folder: of a box that lives or of one long gone. */
export function readExits(record: string): ExitsResult {
  const read = (name: string): Buffer | undefined => {
    const path = join(record, name)
    return existsSync(path) ? readFileSync(path) : undefined
  }
  const [counters, marks, boot] = ['counters.jsonl', 'marks.jsonl', 'boot.json'].map(read)
  const inputs = counters ? [{ name: join(record, 'counters.jsonl'), input: counters }] : []
  return exits(inputs, { ...(marks && { marks }), ...(boot && { boot }) })
}
