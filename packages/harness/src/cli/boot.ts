import { constants } from 'node:os'
import { BoxError } from '@boxlab/native'
import type { Command } from 'commander'
import { bootBox } from '../boot-box.ts'
import type { Box } from '../box.ts'
import { type BootReport, bootReport, renderBoot } from '../reports/boot-report.ts'
import { type CommandReport, runLines } from './boot-exec.ts'
import { addBootFlags, type BootFlags, boxOptionsOf } from './boot-flags.ts'
import { holdBox } from './boot-hold.ts'
import { type Interrupt, interrupts } from './boot-interrupt.ts'
import { bootProgress, noProgress } from './boot-progress.ts'
import { terminalOf } from './terminal.ts'

/** Adds `boxlab boot`: one box from flags. */
export function addBoot(program: Command): void {
  const command = program
    .command('boot')
    .description('Boots one box and shows where the time goes. Its record is kept.')
    .addHelpText(
      'after',
      `
Exit code:
  0  the box became ready, every --exec line succeeded, and it was stopped
  1  the boot or a line failed
  2  the flags describe no box
  130, 143  the boot was interrupted
`,
    )
  addBootFlags(command).action(async (flags: BootFlags) => {
    const interrupt = interrupts()
    try {
      process.exitCode = await boot(flags, interrupt)
    } finally {
      interrupt.end()
    }
  })
}

async function boot(flags: BootFlags, interrupt: Interrupt): Promise<number> {
  const progress = flags.json ? noProgress : bootProgress(process.stdout)
  let box: Box | undefined
  try {
    await bootBox(boxOptionsOf(flags, interrupt.signal), (created) => {
      box = created
      progress.follow(created)
    })
  } catch (error) {
    await progress.end()
    return failed(error, box, flags, interrupt)
  }
  await progress.end()
  return ready(box as unknown as Box, flags, interrupt)
}

/** A box that became ready: commands, or held, and stopped in any case. */
async function ready(box: Box, flags: BootFlags, interrupt: Interrupt): Promise<number> {
  interrupt.guard(box)
  let commands: readonly CommandReport[] = []
  let ended: string | undefined
  try {
    commands = await runLines(box, flags.exec ?? [], { quiet: flags.json === true, arrived: interrupt.arrived })
    if (flags.hold && interrupt.received === undefined) {
      // Shown before it is held, and true then: the box still runs.
      print(bootReport(box, { commands }), flags)
      ended = await holdBox(box, interrupt.arrived, flags.json ? process.stderr : process.stdout)
    }
  } finally {
    await box.stop()
  }
  if (!flags.hold || ended === undefined) print(bootReport(box, { commands }), flags)
  for (const { failure } of commands) if (failure !== undefined) process.stderr.write(`boxlab: ${failure}\n`)
  if (ended === 'by-itself' || commands.some(({ failure }) => failure !== undefined)) return 1
  return flags.hold || interrupt.received === undefined ? 0 : signalCode(interrupt.received)
}

async function failed(error: unknown, box: Box | undefined, flags: BootFlags, interrupt: Interrupt): Promise<number> {
  const message = error instanceof Error ? error.message : String(error)
  // Refused options made no box, so that there is nothing to show.
  const report = box && box.marks().length > 0 ? bootReport(box, { error }) : undefined
  if (report) print(report, flags)
  if (interrupt.received !== undefined) {
    process.stderr.write(`boxlab: the boot was interrupted by ${interrupt.received}; the box is gone\n`)
    return signalCode(interrupt.received)
  }
  process.stderr.write(`boxlab: ${message}\n`)
  return error instanceof BoxError && error.code === 'ERR_BOX_OPTIONS' ? 2 : 1
}

function print(report: BootReport, { json }: BootFlags): void {
  process.stdout.write(json ? `${JSON.stringify(report, null, 2)}\n` : renderBoot(report, terminalOf(process.stdout)))
}

/** As shells report an end by a signal. */
function signalCode(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}
