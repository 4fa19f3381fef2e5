import type { ByteInput } from '../../input/byte-input.ts'
import { mapClock, PRINTK_SKEW_NS, toGuest } from '../../timeline/clock.ts'
import { readClock, readMarks } from '../../timeline/tokenize.ts'

/** When the prompt was on the console, in us on the guest's CLOCK_MONOTONIC, give or take `errorUs`. */
export interface ConsolePrompt {
  readonly atUs: number
  readonly errorUs: number
}

/**
 * The console's own mark of the login prompt, from a record's `marks.jsonl` and `guest/clock.jsonl`: the host read its bytes
 * then. Undefined where none came, or the guest's clock is not known.
 */
export function consolePrompt({
  marks,
  clock,
}: {
  readonly marks: ByteInput
  readonly clock: ByteInput
}): ConsolePrompt | undefined {
  const lines = readMarks(marks).items
  const seen = lines.find(
    ({ mark, source, clock: of }) => mark === 'login-prompt' && source === 'console' && of === 'host',
  )
  const mapping = mapClock(readClock(clock).items, lines)
  if (seen === undefined || mapping.state !== 'mapped') return undefined
  const { atNs, errorNs } = toGuest(mapping, seen.atNs)
  const skewNs = mapping.clock === 'printk' ? PRINTK_SKEW_NS : 0
  return { atUs: Math.round(atNs / 1000), errorUs: Math.ceil((errorNs + (seen.errorNs ?? 0) + skewNs) / 1000) }
}
