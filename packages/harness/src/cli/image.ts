import { join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { asDisplayText } from '@boxlab/probes'
import { collectGarbage, removeStored, type StoredEntry, storedEntries, verifyStored } from '../images/entries.ts'
import { stateRoot } from '../state-root.ts'
import { ageText } from '../sweep/age.ts'
import { parseSize, sizeText } from '../images/byte-size.ts'
import { addImageMake } from './image-make.ts'
import { reported } from './reported.ts'

const ENVIRONMENT = `
Environment:
  BOXLAB_HOME   whose cache it is, default ~/.cache/boxlab
`

/** Adds `boxlab image`: makes images, and looks after the cache of images and kernels. */
export function addImage(program: Command): void {
  const image = program.command('image').description('Makes images, and looks after the cache of images and kernels.')
  addImageMake(image)
  image
    .command('ls')
    .description('Lists what is in the cache, the last used first.')
    .option('--json', 'print the list as JSON')
    .addHelpText('after', ENVIRONMENT)
    .action(({ json = false }: { json?: boolean }) => reported(() => list(stateRoot(), json)))
  image
    .command('rm')
    .description('Removes entries. A box that runs from one goes on.')
    .argument('[keys...]', 'keys as `ls` shows them, or their beginnings')
    .option('--all', 'remove all entries')
    .addHelpText('after', ENVIRONMENT)
    .action((keys: string[], { all = false }: { all?: boolean }, command: Command) => {
      if (keys.length === 0 && !all) command.error('error: name the keys to remove, or give --all')
      return reported(() => remove(stateRoot(), keys, all))
    })
  image
    .command('gc')
    .description(
      'Removes what was unused for the longest time, until the rest is small enough, and what dead makers left.',
    )
    .requiredOption('--max-size <size>', 'how much may stay on the disk, such as 500M or 10G', sizeOf)
    .option('--json', 'print what was done as JSON')
    .addHelpText(
      'after',
      `\nWhat was used in the last 10 minutes stays: a box may be about to open it.\n${ENVIRONMENT}`,
    )
    .action(({ maxSize, json = false }: { maxSize: number; json?: boolean }) =>
      reported(() => collect(stateRoot(), maxSize, json)),
    )
  image
    .command('verify')
    .description('Reads every root image whole, compares its digest, and removes the damaged ones.')
    .addHelpText(
      'after',
      `\nExit code:\n  0  all are whole\n  1  some were damaged; they are made again when they are needed\n${ENVIRONMENT}`,
    )
    .action(() => reported(() => verify(stateRoot())))
}

function sizeOf(text: string): number {
  const bytes = parseSize(text)
  if (bytes !== undefined) return bytes
  throw new InvalidArgumentError('It must be a size such as 500M or 10G.')
}

async function list(root: string, json: boolean): Promise<0> {
  const entries = await storedEntries(root)
  if (json) {
    const report = { format: 'boxlab-images', version: 1, root, entries }
    process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
  } else if (entries.length === 0) process.stdout.write(`nothing is in ${join(root, 'images')}\n`)
  else process.stdout.write(table(entries))
  return 0
}

async function remove(root: string, keys: readonly string[], all: boolean): Promise<0 | 1> {
  const entries = await storedEntries(root)
  const chosen = new Set(all ? entries : [])
  let problems = 0
  for (const key of keys) {
    const found = entries.filter((entry) => entry.key.startsWith(key))
    if (found.length === 1) chosen.add(found[0]!)
    else {
      problems += 1
      const what = found.length === 0 ? 'no entry has' : `${found.length} entries have`
      process.stderr.write(`boxlab: ${what} the key ${key}; \`boxlab image ls\` shows them\n`)
    }
  }
  await removeStored(root, chosen)
  for (const entry of chosen) process.stdout.write(`removed ${line(entry)}\n`)
  return problems === 0 ? 0 : 1
}

async function collect(root: string, maxBytes: number, json: boolean): Promise<0> {
  const report = await collectGarbage(root, maxBytes)
  if (json) {
    process.stdout.write(`${JSON.stringify({ format: 'boxlab-image-gc', version: 1, root, ...report }, null, 2)}\n`)
    return 0
  }
  for (const entry of report.removed) process.stdout.write(`removed ${line(entry)}\n`)
  for (const entry of report.kept) process.stdout.write(`kept ${line(entry)}, used less than 10 minutes ago\n`)
  process.stdout.write(`${sizeText(report.leftBytes)} are in ${join(root, 'images')}\n`)
  return 0
}

async function verify(root: string): Promise<0 | 1> {
  const { whole, damaged } = await verifyStored(root)
  for (const entry of damaged) process.stdout.write(`damaged, and removed: ${line(entry)}\n`)
  process.stdout.write(`${whole} root images are whole, ${damaged.length} were damaged\n`)
  return damaged.length === 0 ? 0 : 1
}

function line(entry: StoredEntry): string {
  const name = entry.names.length > 0 ? ` (${asDisplayText(entry.names.join(', '))})` : ''
  return `${entry.kind} ${entry.key.slice(0, 12)}${name}, ${sizeText(entry.diskBytes)}`
}

function table(entries: readonly StoredEntry[]): string {
  const rows = [
    ['KEY', 'KIND', 'SIZE', 'USED', 'FROM'],
    ...entries.map((entry) => [
      entry.key.slice(0, 12),
      entry.kind,
      sizeText(entry.diskBytes),
      `${ageText(Date.now() - entry.usedAt.getTime())} ago`,
      asDisplayText(entry.names.join(', ')) || '-',
    ]),
  ]
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column]!))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}
