import { readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import {
  exits,
  exitsJson,
  type ExitsOptions,
  exitsOverBoots,
  type ExitsReport,
  type ExitsResult,
  type NamedInput,
  renderAblation,
  renderExits,
} from '@boxlab/probes'
import { type Command, Option } from 'commander'
import { type AblationName, ABLATIONS, bootAblation } from '../lanes/ablation.ts'
import { readExits } from '../reports/record-exits.ts'
import { addMachineFlags, boxOptionsOf, type MachineFlags, wholeNumber } from './boot-flags.ts'
import { interrupts } from './boot-interrupt.ts'
import { withLiveBox } from './live-box.ts'
import { reported } from './reported.ts'
import { refuse } from './refuse.ts'
import { printResult } from './print-result.ts'

interface ExitsFlags extends MachineFlags {
  readonly from?: readonly string[]
  readonly at?: readonly string[]
  readonly idle: number
  readonly vcpus?: boolean
  readonly ablate?: readonly AblationName[]
  readonly boots: number
  readonly seed: number
  readonly json?: boolean
}

/** Adds `boxlab exits`: KVM's counters per phase of a boot, from a record or from statistics, or of a box that is booted for it. */
export function addExits(program: Command): void {
  const command = program
    .command('exits')
    .description(
      'Prints how often the guest left to the hypervisor, by kind and phase of the boot: of a box that is booted now, or from records or statistics (--from).',
    )
    .option(
      '--from <file...>',
      'a record with `record.counters`, several for the middle over boots; or replies of QMP’s query-stats, counters.jsonl, `virsh domstats --vcpu`, bytes of KVM_GET_STATS_FD; told apart by content',
    )
    .option('--at <text...>', 'a text on the console from which on a phase of its own is counted')
    .option('--idle <ms>', 'how long the box is left alone once it is ready, in milliseconds', wholeNumber, 500)
    .option('--vcpus', 'a row for each vCPU too')
    .addOption(
      new Option('--ablate <row...>', 'boot with this taken away too, in turn, and print the differences').choices(
        Object.keys(ABLATIONS),
      ),
    )
    .option('--boots <n>', 'boots of each row of --ablate', wholeNumber, 5)
    .option('--seed <n>', 'decides the order of the boots of --ablate', wholeNumber, 1)
    .option('--json', 'print the exits as JSON')
  addMachineFlags(command).action(async (flags: ExitsFlags) => {
    if (flags.from) process.exitCode = fromFiles(flags.from, flags)
    else if (flags.ablate) await reported(() => ablate(flags, flags.ablate ?? []))
    else process.exitCode = await fromBoot(flags)
  })
}

/** 2 for files that cannot be read; 1 for files without an answer. */
function fromFiles(paths: readonly string[], flags: ExitsFlags): 0 | 1 | 2 {
  try {
    const folders = paths.filter((path) => statSync(path).isDirectory())
    if (folders.length === 0) return print(ofFiles(paths), flags)
    if (folders.length < paths.length) return refuse('give records, or files, and not both')
    const results = folders.map(readExits)
    const missing = results.findIndex(({ found }) => !found)
    const [only] = results
    if (results.length === 1 && only) return print(only, flags)
    if (missing >= 0) {
      process.stderr.write(`boxlab: ${folders[missing]}: ${renderExits(results[missing] as ExitsResult)}`)
      return 1
    }
    return printOverBoots(results as ExitsReport[], flags)
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    return refuse(`${path} cannot be read (${code}); give a record or a file with replies of query-stats`)
  }
}

/** Files of one boot: marks.jsonl and boot.json of a record may be among them. */
function ofFiles(paths: readonly string[]): ExitsResult {
  const inputs: NamedInput[] = []
  const options: { -readonly [name in keyof ExitsOptions]: ExitsOptions[name] } = {}
  for (const name of paths) {
    const input = readFileSync(name)
    if (basename(name) === 'marks.jsonl') options.marks = input
    else if (basename(name) === 'boot.json') options.boot = input
    else inputs.push({ name, input })
  }
  return exits(inputs, options)
}

async function fromBoot(flags: ExitsFlags): Promise<number> {
  const counters = flags.at ? { at: flags.at } : true
  // TCG has no exits: where KVM cannot be had, that is said before anything boots.
  const accel = flags.accel === 'auto' ? 'kvm' : flags.accel
  return withLiveBox({ ...flags, accel }, { counters }, async (box) => {
    await new Promise((resolve) => setTimeout(resolve, flags.idle))
    const { record } = box
    // Its end ends the last phase.
    await box.stop()
    return print(readExits(record), flags)
  })
}

async function ablate(flags: ExitsFlags, rows: readonly AblationName[]): Promise<0> {
  const interrupt = interrupts()
  try {
    const { boots, seed, at } = flags
    const { signal } = interrupt
    const options = boxOptionsOf({ ...flags, accel: flags.accel === 'auto' ? 'kvm' : flags.accel }, signal)
    const counters = at ? { at } : true
    const found = await bootAblation(
      { ...options, record: { counters } },
      {
        rows,
        boots: Math.max(1, boots),
        seed,
        signal,
        booted: ({ done, of, row }) =>
          process.stderr.write(`boot ${done} of ${of}: ${row === 'all' ? 'all' : `without ${row}`}\n`),
      },
    )
    process.stdout.write(flags.json ? `${JSON.stringify(found, null, 2)}\n` : renderAblation(found))
    return 0
  } finally {
    interrupt.end()
  }
}

function print(result: ExitsResult, { json = false, vcpus = false }: ExitsFlags): 0 | 1 {
  const render: typeof renderExits = (one, options) => renderExits(one, { ...options, perVcpu: vcpus })
  return printResult(result, { json, toJson: exitsJson, render })
}

function printOverBoots(reports: readonly ExitsReport[], { json }: ExitsFlags): 0 | 1 {
  return printResult(exitsOverBoots(reports), { json, toJson: exitsJson, render: renderExits })
}
