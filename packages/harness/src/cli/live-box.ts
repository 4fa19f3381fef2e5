import { BoxError } from '@boxlab/native'
import { bootBox } from '../boot-box.ts'
import type { Box } from '../box.ts'
import type { BoxOptions, RecordOptions } from '../options.ts'
import { boxOptionsOf, type MachineFlags } from './boot-flags.ts'
import { type Interrupt, interrupts } from './boot-interrupt.ts'
import { bootProgress } from './boot-progress.ts'

/**
 * Boots the box that flags describe, and `more`, lets `look` have it, and stops it. Progress goes to stderr, since the answer is what
 * stdout is for. Gives the exit code: that of `look`, 2 for flags that describe no box, 1 for any other failure, and 128
 * and the signal's number for an interrupt.
 */
export async function withLiveBox(
  flags: MachineFlags,
  record: RecordOptions,
  look: (box: Box) => Promise<number>,
  more: Pick<BoxOptions, 'waitFor' | 'kernel'> = {},
): Promise<number> {
  const interrupt = interrupts()
  const progress = bootProgress(process.stderr)
  let box: Box | undefined
  try {
    const options = boxOptionsOf(flags, interrupt.signal)
    box = await bootBox({ ...options, ...more, record: { ...options.record, ...record } }, (created) =>
      progress.follow(created),
    )
    await progress.end()
    interrupt.guard(box)
    return await Promise.race([look(box), interrupt.arrived.then(() => interruptCode(interrupt))])
  } catch (error) {
    await progress.end()
    process.stderr.write(`boxlab: ${error instanceof Error ? error.message : String(error)}\n`)
    if (interrupt.received !== undefined) return interruptCode(interrupt)
    return error instanceof BoxError && error.code === 'ERR_BOX_OPTIONS' ? 2 : 1
  } finally {
    await box?.stop()
    interrupt.end()
  }
}

function interruptCode({ received }: Interrupt): number {
  return received === 'SIGTERM' ? 143 : received === 'SIGHUP' ? 129 : 130
}
