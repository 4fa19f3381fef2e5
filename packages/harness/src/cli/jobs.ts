import { jobs, jobsJson, renderJobs } from '@boxlab/probes'
import type { Command } from 'commander'
import { readInputs } from './read-inputs.ts'
import { terminalOf } from './terminal.ts'

interface JobsFlags {
  readonly from: readonly string[]
  readonly json?: boolean
}

/** Adds `boxlab jobs`: what PID 1's job queue did, from what was recorded or printed of it. */
export function addJobs(program: Command): void {
  program
    .command('jobs')
    .description('Prints what PID 1’s job queue did, from a recording of it or from what systemd printed about it.')
    .requiredOption(
      '--from <file...>',
      'a recording of PID 1’s private socket, output of `systemctl list-jobs`, of `systemd-analyze dump` or of `journalctl -b _PID=1 -o json`, and beside them of `systemctl show --all` for what each job waited on; told apart by content',
    )
    .option('--json', 'print the jobs as JSON')
    .action((flags: JobsFlags) => {
      process.exitCode = printJobs(flags)
    })
}

/** 2 for files that cannot be read; 1 for files without an answer. */
function printJobs({ from, json = false }: JobsFlags): 0 | 1 | 2 {
  const inputs = readInputs(from, 'give a recording, or a file with the output of systemctl list-jobs')
  if (typeof inputs === 'string') {
    process.stderr.write(inputs)
    return 2
  }
  const result = jobs(inputs)
  if (json) process.stdout.write(`${JSON.stringify(jobsJson(result), null, 2)}\n`)
  else if (result.found) process.stdout.write(renderJobs(result, { width: terminalOf(process.stdout).width }))
  else process.stderr.write(`boxlab: ${renderJobs(result)}`)
  return result.found ? 0 : 1
}
