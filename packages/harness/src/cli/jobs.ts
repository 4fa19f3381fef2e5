import { drawJobs, jobs, jobsJson, type JobsResult, renderJobs } from '@boxlab/probes'
import { type Command, InvalidArgumentError } from 'commander'
import { observerCost, renderObserverCost } from '../systemd/observer-cost.ts'
import { addMachineFlags, boxOptionsOf, type MachineFlags } from './boot-flags.ts'
import { interrupts } from './boot-interrupt.ts'
import { withLiveBox } from './live-box.ts'
import { ofSystemd, readInputs } from './read-inputs.ts'
import { refuse } from './refuse.ts'
import { reported } from './reported.ts'
import { writeOut } from './write-out.ts'
import { printResult } from './print-result.ts'

interface JobsFlags extends MachineFlags {
  readonly from?: readonly string[]
  readonly observer?: boolean
  readonly pairs: number
  readonly seed: number
  readonly svg?: string
  readonly json?: boolean
}

/** Adds `boxlab jobs`: what PID 1's job queue did, from what was recorded or printed of it, or of a box that is booted for it. */
export function addJobs(program: Command): void {
  const command = program
    .command('jobs')
    .description(
      'Prints what PID 1’s job queue did: of a box that is booted now (--image), or from a recording or from what systemd printed about it (--from).',
    )
    .option(
      '--from <file...>',
      'a record, a recording of PID 1’s private socket, output of `systemctl list-jobs`, of `systemd-analyze dump` or of `journalctl -b _PID=1 -o json`, and beside them of `systemctl show --all` for what each job waited on; told apart by content',
    )
    .option('--observer', 'boot with and without the recorder in turn, and print what recording costs')
    .option('--pairs <n>', 'pairs of boots of --observer; 8 or more for an interval', wholeNumber, 8)
    .option('--seed <n>', 'decides the order of --observer’s boots', wholeNumber, 1)
    .option('--svg <file>', 'write the waterfall as SVG too')
    .option('--json', 'print the jobs as JSON')
  addMachineFlags(command).action(async (flags: JobsFlags) => {
    if (flags.from) process.exitCode = fromFiles(flags.from, flags)
    else if (!flags.image) {
      process.exitCode = refuse('give --from FILE… or --image KIND:PLACE; see `boxlab jobs --help`')
    } else if (flags.observer) await reported(() => observe(flags))
    else process.exitCode = await withLiveBox(flags, { jobs: true }, async (box) => print(await box.jobs(), flags))
  })
}

/** 2 for files that cannot be read; 1 for files without an answer. */
function fromFiles(from: readonly string[], flags: JobsFlags): 0 | 1 | 2 {
  const remedy = 'give a recording, or a file with the output of systemctl list-jobs'
  const inputs = readInputs(from, { ...ofSystemd(['jobs', 'units', 'queue', 'queuedUnits']), remedy })
  return typeof inputs === 'string' ? refuse(inputs) : print(jobs(inputs), flags)
}

function print(result: JobsResult, { svg, json = false }: JobsFlags): 0 | 1 {
  printResult(result, { json, toJson: jobsJson, render: renderJobs })
  if (!result.found) return 1
  return svg === undefined ? 0 : writeOut(svg, drawJobs(result))
}

async function observe(flags: JobsFlags): Promise<0 | 1> {
  const interrupt = interrupts()
  try {
    const { pairs, seed } = flags
    const { signal } = interrupt
    const cost = await observerCost(boxOptionsOf(flags, signal), {
      pairs,
      seed,
      signal,
      booted: ({ done, of, recorded, us }) =>
        process.stderr.write(
          `boot ${done} of ${of}, ${recorded ? 'recorded' : 'not recorded'}: ${(us / 1000).toFixed(1)} ms\n`,
        ),
    })
    process.stdout.write(flags.json ? `${JSON.stringify(cost, null, 2)}\n` : renderObserverCost(cost))
    return 0
  } finally {
    interrupt.end()
  }
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 on.')
  return Number(text)
}
