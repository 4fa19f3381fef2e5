import {
  drawGraph,
  graph,
  graphJson,
  graphPerfetto,
  type GraphReport,
  type GraphResult,
  graphStacks,
  renderGraph,
} from '@boxlab/probes'
import type { Command } from 'commander'
import { bootTraceCmdline, traceInputs } from '../graph/tracefs.ts'
import { addMachineFlags, type MachineFlags, wholeNumber } from './boot-flags.ts'
import { withLiveBox } from './live-box.ts'
import { writeOut } from './write-out.ts'
import { readInputs } from './read-inputs.ts'
import { refuse } from './refuse.ts'
import { printResult } from './print-result.ts'

interface GraphFlags extends MachineFlags {
  readonly from?: readonly string[]
  readonly filter?: readonly string[]
  readonly depth?: number
  readonly svg?: string
  readonly stacks?: string
  readonly perfetto?: string
  readonly json?: boolean
}

/** Adds `boxlab graph`: the functions of a function_graph trace, or of a boot that is traced for it. */
export function addGraph(program: Command): void {
  const command = program
    .command('graph')
    .description(
      'Prints the functions of a function_graph trace, calls with total and self time, and what migrated: of a box that is booted now and traced (--filter), or of files (--from).',
    )
    .option(
      '--from <file...>',
      'a record, or traces: /sys/kernel/tracing/trace, text of trace_pipe, or `trace-cmd report`; beside them per_cpu/cpu*/stats, what `grep .` prints of tracefs and of /sys/kernel/security/lockdown, and a boot’s log; told apart by content',
    )
    .option(
      '--filter <functions>',
      'boot and trace these functions and what they call, such as acpi_init,inet_init',
      names,
    )
    .option('--depth <n>', 'how many levels of the boot are traced (default: 3)', wholeNumber)
    .option('--svg <file>', 'write the tree of calls as SVG too')
    .option('--stacks <file>', 'write folded stacks for flame graphs too')
    .option('--perfetto <file>', 'write the spans for Perfetto too; needs a trace with funcgraph-abstime')
    .option('--json', 'print the spans as JSON')
    .addHelpText(
      'after',
      `
Exit code:
  0  there are functions
  1  there is none, and the sentence says why; or a file cannot be written
  2  the files cannot be read, or the flags ask for nothing
`,
    )
  addMachineFlags(command).action(async (flags: GraphFlags) => {
    process.exitCode = await run(flags)
  })
}

async function run(flags: GraphFlags): Promise<number> {
  if (flags.from) return fromFiles(flags.from, flags)
  if (!flags.filter) return refuse('give --from FILE… or --filter FUNCTION…; see `boxlab graph --help`')
  const { filter, depth = 3, cmdline } = flags
  const traced = [...(cmdline === undefined ? [] : [cmdline]), bootTraceCmdline({ filter, depth })].join(' ')
  return withLiveBox({ ...flags, cmdline: traced }, {}, async (box) => print(await box.graph(), flags))
}

function names(text: string): readonly string[] {
  return text.split(',').filter((name) => name !== '')
}

function fromFiles(from: readonly string[], flags: GraphFlags): 0 | 1 | 2 {
  const inputs = readInputs(from, {
    ofRecord: traceInputs,
    without: 'no trace; call `box.graph()` while the box runs',
    remedy: 'give a file with a function_graph trace',
  })
  return typeof inputs === 'string' ? refuse(inputs) : print(graph(inputs), flags)
}

function print(result: GraphResult, flags: GraphFlags): 0 | 1 {
  printResult(result, { json: flags.json, toJson: graphJson, render: renderGraph })
  return result.found ? writeForms(result, flags) : 1
}

function writeForms(report: GraphReport, { svg, stacks, perfetto }: GraphFlags): 0 | 1 {
  const drawn = svg === undefined ? 0 : writeOut(svg, drawGraph(report))
  const folded = stacks === undefined ? 0 : write(stacks, graphStacks(report), 'durations')
  const events = perfetto === undefined ? undefined : graphPerfetto(report)
  const exported = perfetto === undefined ? 0 : write(perfetto, events && JSON.stringify(events), 'funcgraph-abstime')
  return drawn === 0 && folded === 0 && exported === 0 ? 0 : 1
}

/** A form that the trace has nothing for is no file, and an error. */
function write(path: string, text: string | undefined, needed: string): 0 | 1 {
  if (text !== undefined && text !== '') return writeOut(path, text)
  process.stderr.write(`boxlab: ${path} is not written: the trace has nothing for it; trace with ${needed}\n`)
  return 1
}
