import { statSync } from 'node:fs'
import { drawWaits, renderWaits, waits, waitsJson, type WaitsResult } from '@boxlab/probes'
import type { Command } from 'commander'
import { promptOfRecord } from '../systemd/record-texts.ts'
import { addMachineFlags, type MachineFlags } from './boot-flags.ts'
import { withLiveBox } from './live-box.ts'
import { ofSystemd, readInputs } from './read-inputs.ts'
import { refuse } from './refuse.ts'
import { writeOut } from './write-out.ts'
import { printResult } from './print-result.ts'

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
  const remedy = 'give a file with the output of systemctl show'
  const inputs = readInputs(from, { ...ofSystemd(['units']), remedy })
  if (typeof inputs === 'string') return refuse(inputs)
  const record = from.find((path) => statSync(path).isDirectory())
  return print(waits(inputs, { ...flags, console: record === undefined ? undefined : promptOfRecord(record) }), flags)
}

async function fromBoot(flags: WaitsFlags): Promise<number> {
  if (!flags.image) {
    return refuse('give --from FILE… or --image KIND:PLACE; see `boxlab waits --help`')
  }
  return withLiveBox(flags, { waits: true }, async (box) => print(await box.waits(flags), flags))
}

function print(result: WaitsResult, { svg, json = false }: WaitsFlags): 0 | 1 {
  printResult(result, { json, toJson: waitsJson, render: renderWaits })
  if (!result.found) return 1
  return svg === undefined ? 0 : writeOut(svg, drawWaits(result))
}
