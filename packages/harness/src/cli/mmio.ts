import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { mmioJson, type MmioResult, readMemoryMap, renderMmio } from '@boxlab/probes'
import type { Command } from 'commander'
import { readMmio, traceFiles } from '../reports/record-mmio.ts'
import { addMachineFlags, type MachineFlags } from './boot-flags.ts'
import { withLiveBox } from './live-box.ts'
import { refuse } from './refuse.ts'
import { printResult } from './print-result.ts'

interface MmioFlags extends MachineFlags {
  readonly from?: readonly string[]
  readonly mtree?: readonly string[]
  readonly json?: boolean
}

/** Adds `boxlab mmio`: whose the accesses of a boot are, from QEMU's trace of it. */
export function addMmio(program: Command): void {
  const command = program
    .command('mmio')
    .description(
      'Prints whose the accesses of a boot are, by device, region, address and phase, from QEMU’s trace of it: of a box that is booted now (--machine, --kernel, --image), or of files (--from).',
    )
    .option(
      '--from <file...>',
      'a record with a trace, or a trace of QEMU’s log backend: memory_region_ops_*, pci_cfg_*, kvm_run_exit, …',
    )
    .option(
      '--mtree <file...>',
      'the memory map of the same boot: `info mtree -f -o` as HMP prints it, QMP’s answer to query-pci, or a JSON object with both',
    )
    .option('--json', 'print the accesses as JSON')
    .addHelpText(
      'after',
      `
Exit code:
  0  there is an answer
  1  there is none, and the sentence says why: an empty trace, no events, none of accesses
  2  the files cannot be read, or the flags ask for nothing
`,
    )
  addMachineFlags(command).action(async (flags: MmioFlags) => {
    process.exitCode = await run(flags)
  })
}

async function run(flags: MmioFlags): Promise<number> {
  const { from = [], mtree = [], json = false } = flags
  if (from.length === 0) {
    const asked = flags.machine ?? flags.kernel ?? flags.image ?? flags.firmwareDisk
    if (asked === undefined)
      return refuse('give --from FILE…, or a box to boot, such as --machine q35; see `boxlab mmio --help`')
    return withLiveBox(flags, { trace: true }, async (box) => print(await box.mmio(), json))
  }
  const map: string[] = []
  for (const path of mtree) {
    try {
      const text = readFileSync(path, 'utf8')
      if (readMemoryMap([text]) === undefined)
        return refuse(`${path} holds no memory map; give the output of \`info mtree -f -o\` or of query-pci`)
      map.push(text)
    } catch (error) {
      return refuse(`${path} cannot be read (${codeOf(error)}); give the output of \`info mtree -f -o\``)
    }
  }
  for (const path of from) {
    const problem = whyNotRead(path)
    if (problem !== undefined) return refuse(problem)
  }
  try {
    return print(await readMmio(from, { map }), json)
  } catch (error) {
    return refuse(`${from.join(', ')} cannot be read (${codeOf(error)}); give a trace of QEMU’s log backend`)
  }
}

function whyNotRead(path: string): string | undefined {
  try {
    if (!statSync(path).isDirectory() || existsSync(join(path, traceFiles.trace))) return undefined
    return `the record ${path} has no trace (${traceFiles.trace})`
  } catch (error) {
    return `${path} cannot be read (${codeOf(error)}); give a trace of QEMU’s log backend`
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}

function print(result: MmioResult, json: boolean): 0 | 1 {
  return printResult(result, { json, toJson: mmioJson, render: renderMmio })
}
