import { renderWaits, waits, waitsJson } from '@boxlab/probes'
import type { Command } from 'commander'
import { readInputs } from './read-inputs.ts'
import { terminalOf } from './terminal.ts'

interface WaitsFlags {
  readonly from: readonly string[]
  readonly target: string
  readonly fromKernel?: boolean
  readonly json?: boolean
}

/** Adds `boxlab waits`: what a boot waited for, from what systemd printed about it. */
export function addWaits(program: Command): void {
  program
    .command('waits')
    .description('Prints what a boot waited for on the way to a target, from what systemd printed about it.')
    .requiredOption(
      '--from <file...>',
      "output of `systemctl show --all '*'`, of `systemctl show` (PID 1 itself), or of `systemd-analyze dump`; told apart by content",
    )
    .option('--target <unit>', 'a unit, or `login`, or `ssh`', 'multi-user.target')
    .option('--from-kernel', 'count from kernel start and not from PID 1’s')
    .option('--json', 'print the waits as JSON')
    .action((flags: WaitsFlags) => {
      process.exitCode = printWaits(flags)
    })
}

/** 2 for files that cannot be read; 1 for files without an answer. */
function printWaits({ from, target, fromKernel = false, json = false }: WaitsFlags): 0 | 1 | 2 {
  const inputs = readInputs(from, 'give a file with the output of systemctl show')
  if (typeof inputs === 'string') {
    process.stderr.write(inputs)
    return 2
  }
  const result = waits(inputs, { target, fromKernel })
  if (json) process.stdout.write(`${JSON.stringify(waitsJson(result), null, 2)}\n`)
  else if (result.found) process.stdout.write(renderWaits(result, { width: terminalOf(process.stdout).width }))
  else process.stderr.write(`boxlab: ${renderWaits(result)}`)
  return result.found ? 0 : 1
}
