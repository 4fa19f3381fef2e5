import { statSync } from 'node:fs'
import { drawWaits, renderWaits, waits, waitsJson, type WaitsResult } from '@boxlab/probes'
import type { Command } from 'commander'
import { promptOfRecord } from '../systemd/record-texts.ts'
import { addMachineFlags, type MachineFlags } from './boot-flags.ts'
import { withLiveBox } from './live-box.ts'
import { readInputs } from './read-inputs.ts'
import { terminalOf } from './terminal.ts'
import { writeOut } from './write-out.ts'

interface WaitsFlags extends MachineFlags {
  readonly from?: readonly string[]
  readonly target: string
  readonly fromKernel?: boolean
  readonly svg?: string
  readonly json?: boolean
}

/** Adds `boxlab waits`: what a boot waited for, from what systemd printed about it, or of a box that is booted for it. */
export function addWaits(program: Command): void {
  const command = program
    .command('waits')
    .description(
      'Prints what a boot waited for on the way to a target: of a box that is booted now (--image), or from what systemd printed about it (--from).',
    )
    .option(
      '--from <file...>',
      "a record, output of `systemctl show --all '*'`, of `systemctl show` (PID 1 itself), or of `systemd-analyze dump`; told apart by content",
    )
    .option('--target <unit>', 'a unit, or `login`, or `ssh`', 'multi-user.target')
    .option('--from-kernel', 'count from kernel start and not from PID 1’s')
    .option('--svg <file>', 'write the waterfall as SVG too')
    .option('--json', 'print the waits as JSON')
  addMachineFlags(command).action(async (flags: WaitsFlags) => {
    process.exitCode = flags.from ? fromFiles(flags.from, flags) : await fromBoot(flags)
  })
}

/** 2 for files that cannot be read; 1 for files without an answer. */
function fromFiles(from: readonly string[], flags: WaitsFlags): 0 | 1 | 2 {
  const inputs = readInputs(from, 'give a file with the output of systemctl show', ['units'])
  if (typeof inputs === 'string') {
    process.stderr.write(inputs)
    return 2
  }
  const record = from.find((path) => statSync(path).isDirectory())
  return print(waits(inputs, { ...flags, console: record === undefined ? undefined : promptOfRecord(record) }), flags)
}

async function fromBoot(flags: WaitsFlags): Promise<number> {
  if (!flags.image) {
    process.stderr.write('boxlab: give --from FILE… or --image KIND:PLACE; see `boxlab waits --help`\n')
    return 2
  }
  return withLiveBox(flags, { waits: true }, async (box) => print(await box.waits(flags), flags))
}

function print(result: WaitsResult, { svg, json = false }: WaitsFlags): 0 | 1 {
  if (json) process.stdout.write(`${JSON.stringify(waitsJson(result), null, 2)}\n`)
  else if (result.found) process.stdout.write(renderWaits(result, { width: terminalOf(process.stdout).width }))
  else process.stderr.write(`boxlab: ${renderWaits(result)}`)
  if (!result.found) return 1
  return svg === undefined ? 0 : writeOut(svg, drawWaits(result))
}
