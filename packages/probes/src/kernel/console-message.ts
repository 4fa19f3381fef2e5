import { parsePrintk } from './printk.ts'

/** One message on a console: a line, or the part of it that one writer wrote. */
export interface ConsoleMessage {
  readonly text: string
  /** True when a prefix shows that it went through the kernel's log. */
  readonly stamped: boolean
  /** The kernel's stamp, in ns of the guest's sched_clock. */
  readonly atNs?: number
}

// A stamp in the middle of a line: the kernel prints without regard to what user space has not ended yet.
const STAMP = /\[ *\d+\.\d{6}\](?:\[ *[TC]\d+[^\]]{0,64}\])? /
// What journalctl and syslog put before kernel lines, and `dmesg -T`. A bug report may come from either.
const SYSLOG = /^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,64} (?:kernel: |(?=systemd\[\d+\]: ))/
const DMESG_DATE = /^\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\] /
// `journalctl -o short-monotonic`: the stamp, then host and writer.
const AFTER_STAMP = /^\S{1,64} (?:kernel: |(?=systemd\[\d+\]: ))/
// The rest of a stamp whose beginning the first line of the text lost.
const CUT_STAMP = /^[ \d]{0,12}\.?\d{0,6}\](?:\[ *[TC]\d+\])? /

/**
 * Splits what a terminal would show of one line into messages. `first` says that the text begins with this line,
 * so that its beginning may be cut off.
 */
export function consoleMessages(line: string, first: boolean): ConsoleMessage[] {
  return line
    .split('\r')
    .filter((part) => part !== '')
    .flatMap((part) => splitAtStamp(part, first))
}

function splitAtStamp(part: string, first: boolean): ConsoleMessage[] {
  const whole = logged(part, first)
  if (whole !== undefined) return [whole]
  const at = part.search(STAMP)
  if (at === -1) return [{ text: part, stamped: false }]
  return [{ text: part.slice(0, at), stamped: false }, stampedMessage(part.slice(at))]
}

/** The message of a line that begins with a prefix of the kernel's log. */
function logged(part: string, first: boolean): ConsoleMessage | undefined {
  const prefix = SYSLOG.exec(part)?.[0] ?? DMESG_DATE.exec(part)?.[0]
  if (prefix !== undefined) return { ...stampedMessage(part.slice(prefix.length)), stamped: true }
  const parsed = parsePrintk(part)
  if (parsed.atNs !== undefined || parsed.level !== undefined) return stampedMessage(part)
  const cut = first ? CUT_STAMP.exec(part)?.[0] : undefined
  return cut === undefined ? undefined : { text: part.slice(cut.length), stamped: true }
}

function stampedMessage(part: string): ConsoleMessage {
  const { text, atNs } = parsePrintk(part)
  return { text: text.replace(AFTER_STAMP, ''), stamped: true, ...(atNs === undefined ? {} : { atNs }) }
}
