import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { addBoot } from './boot.ts'
import { addDoctor } from './doctor.ts'
import { addExits } from './exits.ts'
import { addGraph } from './graph.ts'
import { addImage } from './image.ts'
import { addInitcalls } from './initcalls.ts'
import { addJobs } from './jobs.ts'
import { addMutate } from './mutate.ts'
import { addMmio } from './mmio.ts'
import { addPs } from './ps.ts'
import { addShow } from './show.ts'
import { addSshFirst } from './ssh-first.ts'
import { addSweep } from './sweep.ts'
import { addWaits } from './waits.ts'

/**
 * The `boxlab` command line. Sets the exit code of the process: 0 done, 1 it did not work out, 2 wrong use; `doctor` has
 * codes of its own. Never rejects on what the user typed.
 */
export async function main(argv: readonly string[]): Promise<void> {
  // `boxlab show … | head` closes our output early: that is the reader's choice and no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  const program = commandLine()
  try {
    await program.parseAsync(argv)
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown
    if (thrown.exitCode === 0) return
    process.exitCode = 2
    if (thrown.code !== 'commander.help') process.stderr.write(`${usageError(thrown, program, argv)}\n`)
  }
}

function commandLine(): Command {
  const program = new Command('boxlab')
    .description('Boots real VMs ("boxes") and shows where the time of a boot goes.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .exitOverride()
    // Wrong use is one sentence; it is written where the error arrives.
    .configureOutput({ outputError: () => {} })
  addBoot(program)
  addShow(program)
  addWaits(program)
  addJobs(program)
  addInitcalls(program)
  addSshFirst(program)
  addExits(program)
  addGraph(program)
  addMmio(program)
  addImage(program)
  addMutate(program)
  addPs(program)
  addSweep(program)
  addDoctor(program)
  return program
}

/** One sentence: what was wrong, what may have been meant, where help is. */
function usageError({ message }: CommanderError, program: Command, argv: readonly string[]): string {
  const what = message
    .replace(/^error: /, '')
    .replace(/\n\(Did you mean (.+)\?\)$/, ' (did you mean $1?)')
    .replace(/\.?\s*$/, '')
  const command = program.commands.find((one) => one.name() === argv[2])
  return `boxlab: ${what}; see \`boxlab ${command ? `${command.name()} ` : ''}--help\``
}

function packageVersion(): string {
  const file = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(file) as { version: string }).version
}
