import type { InitcallLine } from './initcall-lines.ts'
import type { LogMessage } from './log-messages.ts'

/** Knows a message that is in the log for the second time. */
export interface Repeats {
  has(message: LogMessage, line: InitcallLine | undefined): boolean
}

/**
 * Two consoles print each line twice, one behind the other; a log that is printed again, as a panic does, goes back in time. Only
 * stamps can tell: without them nothing is taken for a repeat.
 */
export function watchRepeats(): Repeats {
  const seen = new Set<string>()
  let highestUs = -1
  let goneBack = false
  let last: LogMessage | undefined

  return {
    has(message, line) {
      const { text, atUs } = message
      if (atUs === undefined) return false
      goneBack = atUs < highestUs || (goneBack && atUs === highestUs)
      const key = line === undefined ? '' : `${atUs} ${text}`
      if (last?.text === text && last.atUs === atUs) return true
      if (goneBack && seen.has(key)) return true
      last = message
      highestUs = Math.max(highestUs, atUs)
      if (key !== '') seen.add(key)
      return false
    },
  }
}
