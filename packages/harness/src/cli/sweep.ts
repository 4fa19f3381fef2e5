import { join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { stateRoot } from '../state-root.ts'
import { renderSweep } from '../sweep/render-sweep.ts'
import { sweep } from '../sweep/sweep.ts'

const dayMs = 86_400_000

interface SweepFlags {
  readonly remove?: boolean
  readonly olderThan?: number
  readonly dryRun?: boolean
  readonly json?: boolean
}

/** Adds `boxlab sweep`: ends what dead owners left. */
export function addSweep(program: Command): void {
  program
    .command('sweep')
    .description('Ends the boxes that dead processes left. A box whose owner lives, or may live, is never touched.')
    .option('--remove', 'also remove their records, of boxes that were swept before too')
    .option('--older-than <days>', 'also remove the records of boxes that ended longer ago', daysOf)
    .option('--dry-run', 'tell what would be done, and do nothing')
    .option('--json', 'print what was done as JSON')
    .addHelpText(
      'after',
      `
Exit code:
  0  all that was left is swept, also when there was nothing
  1  something could not be swept; its line says why

The first boot of each process sweeps too, and removes records that are older than BOXLAB_KEEP_DAYS (default 14).

Environment:
  BOXLAB_HOME   whose records are looked at, default ~/.cache/boxlab; a record that was put elsewhere is not swept
`,
    )
    .action(async (flags: SweepFlags) => {
      try {
        process.exitCode = await sweepRoot(stateRoot(), flags)
      } catch (error) {
        process.stderr.write(`boxlab: ${error instanceof Error ? error.message : String(error)}\n`)
        process.exitCode = 1
      }
    })
}

function daysOf(text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a number of days.')
}

async function sweepRoot(root: string, flags: SweepFlags): Promise<0 | 1> {
  const { remove = false, dryRun = false, json = false, olderThan } = flags
  const report = await sweep(root, {
    remove,
    dryRun,
    ...(olderThan !== undefined && { olderThanMs: olderThan * dayMs }),
  })
  const isNothing = report.swept.length + report.unknown.length === 0
  const text = isNothing ? `nothing to sweep in ${join(root, 'records')}\n` : renderSweep(report)
  const whole = { format: 'boxlab-sweep', version: 1, root, ...report }
  process.stdout.write(json ? `${JSON.stringify(whole, null, 2)}\n` : text)
  return report.swept.some(({ problem }) => problem !== undefined) ? 1 : 0
}
