import { statSync } from 'node:fs'
import { join } from 'node:path'
import { renderStageTable, type Timeline, timelineJson } from '@boxlab/probes'
import type { Command } from 'commander'
import { readTimeline } from '../reports/record-timeline.ts'
import { terminalOf } from './terminal.ts'
import { refuse } from './refuse.ts'

/** Adds `boxlab show`: the stage table from a record alone. */
export function addShow(program: Command): void {
  program
    .command('show')
    .description('Prints where the time of a boot went, from its record alone.')
    .argument('<record>', 'the folder of a record; also of a boot that failed or still runs')
    .option('--json', 'print the timeline as JSON')
    .action((record: string, { json }: { readonly json?: true }) => {
      process.exitCode = show(record, json ?? false)
    })
}

/** 2 for what is not a record; 1 for a record that measured nothing, which is no answer to where the time went. */
function show(record: string, json: boolean): 0 | 1 | 2 {
  const problem = whyNoRecord(record)
  if (problem !== undefined) return refuse(problem)
  let timeline: Timeline
  try {
    timeline = readTimeline(record)
  } catch (error) {
    return refuse(`the record ${record} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
  const text = json
    ? `${JSON.stringify(timelineJson(timeline), null, 2)}\n`
    : renderStageTable(timeline, terminalOf(process.stdout))
  process.stdout.write(text)
  return timeline.marks.length === 0 ? 1 : 0
}

/** Why a path is not a record. Either file alone makes one: the other may have been lost, or not written yet. */
export function whyNoRecord(path: string): string | undefined {
  const remedy = 'give the folder that `boxlab boot` printed'
  try {
    if (!statSync(path).isDirectory()) return `${path} is a file and a record is a folder; ${remedy}`
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    return code === 'ENOENT' ? `there is no record ${path}; ${remedy}` : `${path} cannot be read (${code}); ${remedy}`
  }
  const isThere = (name: string): boolean => {
    try {
      return statSync(join(path, name)).isFile()
    } catch {
      return false
    }
  }
  if (isThere('boot.json') || isThere('marks.jsonl')) return undefined
  return `${path} is not a record: it has neither boot.json nor marks.jsonl; ${remedy}`
}
