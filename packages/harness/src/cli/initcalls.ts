import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  compareInitcalls,
  drawInitcalls,
  initcalls,
  initcallsComparisonJson,
  initcallsJson,
  initcallsOverBoots,
  initcallsOverBootsJson,
  type InitcallsReport,
  type InitcallsResult,
  renderInitcalls,
  renderInitcallsComparison,
  renderInitcallsOverBoots,
} from '@boxlab/probes'
import type { Command } from 'commander'
import type { Box } from '../box.ts'
import { debianKernel, KERNEL_START_BYTES, looksLikeKernel } from '../images/index.ts'
import { recordedKernelLog } from '../initcalls/kernel-log.ts'
import { pairOrder, seeded } from '../lanes/order.ts'
import type { BoxOptions } from '../options.ts'
import { addMachineFlags, type MachineFlags, wholeNumber } from './boot-flags.ts'
import { withLiveBox } from './live-box.ts'
import { terminalOf } from './terminal.ts'
import { writeOut } from './write-out.ts'
import { refuse } from './refuse.ts'

interface InitcallsFlags extends MachineFlags {
  readonly from?: readonly string[]
  readonly compare?: readonly string[]
  readonly boots?: number
  readonly boot?: number
  readonly longest?: number
  readonly svg?: string
  readonly json?: boolean
}

/** Adds `boxlab initcalls`: the kernel's boot call by call, from its log or a record, or of a box that is booted for it. */
export function addInitcalls(program: Command): void {
  const command = program
    .command('initcalls')
    .description(
      'Prints the kernel’s own boot, call by call: of a box that is booted now (--kernel, --image or --boots), or from a kernel log (--from).',
    )
    .option(
      '--from <file...>',
      'a kernel log with `initcall_debug` (dmesg, a serial console, journald), or a record; several are boots of one kernel',
    )
    .option(
      '--compare <a b...>',
      'two kernels: each a log, a record, a kernel to boot, or debian:linux-image-… to fetch and boot; which calls came, went and moved',
    )
    .option(
      '--boots <n>',
      'boot so many times, kernels in turn, and print p50 over them (withheld below 5)',
      wholeNumber,
    )
    .option('--boot <n>', 'which boot of a log that has several (default: the last)', wholeNumber)
    .option('--longest <n>', 'how many calls and gaps are listed (default: 10)', wholeNumber)
    .option('--svg <file>', 'write the waterfall of one boot as SVG too')
    .option('--json', 'print the calls as JSON')
    .addHelpText(
      'after',
      `
Exit code:
  0  the calls are printed, whatever they returned
  1  there is none in a log, or the boot failed
  2  a file cannot be read, or the flags ask for nothing
`,
    )
  addMachineFlags(command).action(async (flags: InitcallsFlags) => {
    process.exitCode = await run(flags)
  })
}

async function run(flags: InitcallsFlags): Promise<number> {
  const { from, compare, boots, svg, kernel, image } = flags
  if (from && compare) return refuse('`--from` and `--compare` exclude each other')
  if (compare) {
    const [a, b, ...more] = compare
    if (a === undefined || b === undefined || more.length > 0) return refuse('`--compare` takes two logs or records')
    if (svg !== undefined) return refuse('`--svg` draws one boot, and `--compare` has two')
    if (boots === 0) return refuse('`--boots` must be 1 or more')
    return comparing([a, b], boots ?? 1, flags)
  }
  if (svg !== undefined && (boots ?? from?.length ?? 1) > 1)
    return refuse('`--svg` draws one boot, and these are several')
  if (from) return fromFiles(from, flags, (reports) => printBoots(reports, flags))
  if (boots === 0) return refuse('`--boots` must be 1 or more')
  if (kernel === undefined && image === undefined && boots === undefined) {
    return refuse(
      'give --from FILE…, or --kernel PATH, --image KIND:PLACE or --boots N to boot; see `boxlab initcalls --help`',
    )
  }
  return fromLiveBoots(boots ?? 1, flags)
}

/** Reads logs; 2 where one cannot be read, 1 where one has no initcall. */
function fromFiles(
  paths: readonly string[],
  flags: InitcallsFlags,
  print: (reports: readonly InitcallsReport[]) => 0 | 1,
): 0 | 1 | 2 {
  const reports: InitcallsReport[] = []
  for (const path of paths) {
    const report = fromFile(path, flags)
    if (typeof report === 'number') return report
    reports.push(report)
  }
  return print(reports)
}

function fromFile(path: string, { boot }: InitcallsFlags): InitcallsReport | 1 | 2 {
  const log = readLog(path)
  if (typeof log === 'string') return refuse(log)
  const result = initcalls(log.text, { file: log.name, ...(boot !== undefined && { boot }) })
  return result.found ? result : explainNone(path, result)
}

/** A kernel's log: a file, or what a record has of one. A text is the sentence why it cannot be read. */
function readLog(path: string): { readonly name: string; readonly text: Buffer } | string {
  try {
    if (!statSync(path).isDirectory()) return { name: path, text: readFileSync(path) }
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error)
    return `${path} cannot be read (${why}); give a kernel log, such as the output of dmesg`
  }
  const log = recordedKernelLog(path)
  return log ?? `the record ${path} has no kernel log; boot with \`record: { initcalls: true }\``
}

/** What is to be booted of a side of a comparison; undefined for one that is a log or a record. */
function kernelOf(operand: string): Pick<BoxOptions, 'kernel'> | undefined {
  const [, name] = /^debian:(linux-image-[\w.+-]+)$/.exec(operand) ?? []
  if (name !== undefined) return { kernel: debianKernel({ package: name }) }
  if (statSync(operand, { throwIfNoEntry: false })?.isFile() !== true) return undefined
  return looksLikeKernel(readFileSync(operand).subarray(0, KERNEL_START_BYTES))
    ? { kernel: resolve(operand) }
    : undefined
}

/** Kernels are booted in turn, so that a drift of the host is in both. */
async function comparing(operands: readonly [string, string], boots: number, flags: InitcallsFlags): Promise<number> {
  if (boots > 1 && flags.record !== undefined) return refuse('`--record` names one record, and `--boots` makes several')
  const sides = operands.map((operand) => ({ operand, kernel: kernelOf(operand), reports: [] as InitcallsReport[] }))
  if (flags.record !== undefined && sides.every(({ kernel }) => kernel)) {
    return refuse('`--record` names one record, and two kernels are booted')
  }
  for (const { operand, kernel, reports } of sides) {
    if (kernel) continue
    const report = fromFile(operand, flags)
    if (typeof report === 'number') return report
    reports.push(report)
  }
  const live = sides.filter(({ kernel }) => kernel)
  for (const first of live.length === 0 ? [] : pairOrder(boots, seeded(1))) {
    for (const { kernel, reports } of first ? live : live.toReversed()) {
      const code = await liveBoot(flags, reports, kernel)
      if (code !== 0) return code
    }
  }
  const [a, b] = sides.map(({ reports }) => reports)
  return printComparison(a ?? [], b ?? [], flags)
}

async function fromLiveBoots(boots: number, flags: InitcallsFlags): Promise<number> {
  if (boots > 1 && flags.record !== undefined) return refuse('`--record` names one record, and `--boots` makes several')
  const reports: InitcallsReport[] = []
  while (reports.length < boots) {
    const code = await liveBoot(flags, reports)
    if (code !== 0) return code
  }
  return printBoots(reports, flags)
}

/** Boots a box and adds what its kernel did to `reports`. Gives the exit code. */
async function liveBoot(
  flags: InitcallsFlags,
  reports: InitcallsReport[],
  kernel: Pick<BoxOptions, 'kernel'> = {},
): Promise<number> {
  const look = async (box: Box): Promise<number> => {
    const result = await box.initcalls()
    if (!result.found) return explainNone(box.record, result)
    reports.push(result)
    return 0
  }
  return withLiveBox(flags, { initcalls: true }, look, kernel)
}

function printBoots(reports: readonly InitcallsReport[], flags: InitcallsFlags): 0 | 1 {
  const [only, ...more] = reports as readonly [InitcallsReport, ...InitcallsReport[]]
  if (more.length === 0) {
    write(
      flags,
      () => initcallsJson(only),
      () => renderInitcalls(only, optionsOf(flags)),
    )
    return flags.svg === undefined ? 0 : writeOut(flags.svg, drawInitcalls(only))
  }
  const over = initcallsOverBoots(reports)
  write(
    flags,
    () => initcallsOverBootsJson(over),
    () => renderInitcallsOverBoots(over, optionsOf(flags)),
  )
  return 0
}

function printComparison(a: readonly InitcallsReport[], b: readonly InitcallsReport[], flags: InitcallsFlags): 0 {
  const comparison = compareInitcalls(a, b)
  write(
    flags,
    () => initcallsComparisonJson(comparison),
    () => renderInitcallsComparison(comparison, optionsOf(flags)),
  )
  return 0
}

function write({ json }: InitcallsFlags, asJson: () => unknown, asText: () => string): void {
  process.stdout.write(json ? `${JSON.stringify(asJson(), null, 2)}\n` : asText())
}

function optionsOf({ longest }: InitcallsFlags): { readonly width: number; readonly longest?: number } {
  return { width: terminalOf(process.stdout).width, ...(longest !== undefined && { longest }) }
}

function explainNone(path: string, result: InitcallsResult & { readonly found: false }): 1 {
  process.stderr.write(`boxlab: ${path}: ${renderInitcalls(result)}`)
  return 1
}
