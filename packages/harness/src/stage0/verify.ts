import { BoxError, type Machine } from '@boxlab/native'
import type { BoxOptions } from '../options.ts'

const limitMs = 10_000

/**
 * Looks in the guest whether what this boot asked for took effect: each argument of the kernel, each masked unit. A box
 * that is not what was asked for is an error (ERR_BOX_NOT_APPLIED), never a measurement.
 */
export async function verifyInGuest(machine: Machine, { cmdline, mask = [] }: BoxOptions): Promise<void> {
  if (cmdline !== undefined) {
    const said = (await machine.readFile('/proc/cmdline', limitMs)).toString()
    const words = new Set(wordsOf(said))
    const missing = wordsOf(cmdline).find((word) => !words.has(word))
    if (missing !== undefined) throw notApplied(`the kernel argument ${missing} is not in the guest's /proc/cmdline`)
  }
  for (const unit of mask) {
    const { LoadState } = await machine.systemdProperties(unit, limitMs)
    if (LoadState !== 'masked') {
      throw notApplied(`\`mask\`: ${unit} is not masked in the guest (LoadState=${String(LoadState)})`)
    }
  }
}

/** Words of a command line, where quotes keep blanks together (lib/cmdline.c, next_arg()). */
function wordsOf(line: string): string[] {
  return line.match(/(?:"[^"]*"|\S)+/g) ?? []
}

function notApplied(reason: string): BoxError {
  return new BoxError('ERR_BOX_NOT_APPLIED', `${reason}: the box is not what was asked for`)
}
