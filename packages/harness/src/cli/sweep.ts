import { join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { stateRoot } from '../state-root.ts'
import { type EngineSweep, sweepEngine } from '../images/docker/index.ts'
import { renderSweep } from '../sweep/render-sweep.ts'
import { sweep } from '../sweep/sweep.ts'
import { reported } from './reported.ts'

const dayMs = 86_400_000

interface SweepFlags {
  readonly remove?: boolean
  readonly olderThan?: number
  readonly dryRun?: boolean
  readonly engine?: boolean
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
    .option('--engine', 'also remove what killed image builds left in the container engine')
    .option('--json', 'print what was done as JSON')
    .addHelpText(
      'after',
      `
Exit code:
  0  all that was left is swept, also when there was nothing
  1  something could not be swept, or --engine found none; its line says why

The first boot of each process sweeps too, and removes records that are older than BOXLAB_KEEP_DAYS (default 14).
Each image that is built by a container engine sweeps that engine before.

Environment:
  BOXLAB_HOME   whose records are looked at, default ~/.cache/boxlab; a record that was put elsewhere is not swept
`,
    )
    .action((flags: SweepFlags) => reported(() => sweepRoot(stateRoot(), flags)))
}

function daysOf(text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a number of days.')
}

async function sweepRoot(root: string, flags: SweepFlags): Promise<0 | 1> {
  const { remove = false, dryRun = false, json = false, engine: withEngine = false, olderThan } = flags
  const report = await sweep(root, {
    remove,
    dryRun,
    ...(olderThan !== undefined && { olderThanMs: olderThan * dayMs }),
  })
  const isNothing = report.swept.length + report.unknown.length === 0
  const text = isNothing ? `nothing to sweep in ${join(root, 'records')}\n` : renderSweep(report)
  // The boxes first: an engine that does not answer keeps nobody from ending them.
  if (!json) process.stdout.write(text)
  const engine = withEngine ? await sweepEngine({ dryRun }) : undefined
  if (json) {
    const whole = { format: 'boxlab-sweep', version: 1, root, ...report, ...(engine && { engine }) }
    process.stdout.write(`${JSON.stringify(whole, null, 2)}\n`)
  } else if (engine) {
    process.stdout.write(renderEngine(engine, dryRun))
  }
  return report.swept.some(({ problem }) => problem !== undefined) ? 1 : 0
}

function renderEngine({ containers, images }: EngineSweep, dryRun: boolean): string {
  if (containers + images === 0) return 'nothing to sweep in the container engine\n'
  const counts = [amount(containers, 'container'), amount(images, 'image')].join(' and ')
  return `container engine: ${counts} of killed builds, ${dryRun ? 'would be ' : ''}removed\n`
}

function amount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
