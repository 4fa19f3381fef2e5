import { join } from 'node:path'
import { ledgerEntries, type LedgerEntry } from '@boxlab/native'
import type { Command } from 'commander'
import { ledgerFolder } from '../ledger/index.ts'
import { stateRoot } from '../state-root.ts'
import { listBoxes } from '../sweep/list-boxes.ts'
import { renderBoxes, renderLedger } from '../sweep/render-sweep.ts'
import { reported } from './reported.ts'

interface PsFlags {
  readonly all?: boolean
  readonly json?: boolean
}

/** Adds `boxlab ps`: the boxes that run, and those whose owner died. */
export function addPs(program: Command): void {
  program
    .command('ps')
    .description('Lists the boxes of all processes that run, and those that a dead process left.')
    .option('--all', 'also those that have ended and whose record was kept')
    .option('--json', 'print the list as JSON')
    .addHelpText(
      'after',
      `
States:
  running   its owner lives; without an engine it is being prepared or is just ending
  starting  its record was just begun
  orphaned  its owner is gone: \`boxlab sweep\` ends it
  unknown   whether its owner lives cannot be told from here
  stopped, failed, killed  it has ended and its record was kept (--all)

Environment:
  BOXLAB_HOME   whose records are looked at, default ~/.cache/boxlab; a record that was put elsewhere is not listed
`,
    )
    .action(({ all = false, json = false }: PsFlags) => reported(() => ps(stateRoot(), all, json)))
}

function ps(root: string, all: boolean, json: boolean): 0 {
  const boxes = listBoxes(root, { all })
  const none = `no box runs, and none was left behind${all ? ' or kept' : ''}, in ${join(root, 'records')}\n`
  const ledger = ledgerOf(root)
  const report = { format: 'boxlab-ps', version: 1, root, boxes, ...(ledger && { ledger }) }
  if (json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
  else {
    process.stdout.write(boxes.length === 0 ? none : renderBoxes(boxes))
    if (ledger && ledger.length > 0) process.stdout.write(`\n${renderLedger(ledger)}`)
  }
  return 0
}

/** Who has what of the host, and who waits. The table is of use without it, where the native runtime is missing. */
function ledgerOf(root: string): LedgerEntry[] | undefined {
  try {
    return ledgerEntries(ledgerFolder(root))
  } catch {
    return undefined
  }
}
