/** One message of the kernel's log, as far as it can be told from what stands around it. */
export interface LogMessage {
  readonly text: string
  /** The line of the input that it stands on, from 1. */
  readonly line: number
  /** The kernel's stamp, in us of the guest's sched_clock. */
  readonly atUs?: number
  /** The caller of CONFIG_PRINTK_CALLER: `T1` for thread 1, `C0` for CPU 0 outside a thread. */
  readonly caller?: string
}

/**
 * The stamp of print_time in kernel/printk/printk.c, wherever it stands: user space may have left its line open, and a
 * journal or a VM's log may have its own prefix before it. `dmesg --show-delta` puts the step into the same brackets.
 */
const STAMP = /\[ *(\d{1,9})\.(\d{6})(?: <[ \d.]{1,20}>)?\]/g
/** print_caller of Linux 5.1 and later. */
const CALLER = /^\[ *([TC]\d{1,9})[^\]]{0,64}\]/
/** What journald and syslog put before a message, in any language of the date, up to their name of the writer. */
const WRITER = /^(?:.{0,120}? )?kernel(?:\[\d{1,9}\])?: /
/** `journalctl -o short-monotonic`: the stamp, then host and writer. */
const AFTER_STAMP = /^\S{1,64} kernel(?:\[\d{1,9}\])?: /
/** Times of the wall clock, which tell no duration: `dmesg --ctime` and `--time-format=iso`. */
const WALL_CLOCK = /^(?:\[[A-Z][^\]]{10,40}\]|\d{4}-\d\d-\d\dT\S{1,40}) /
/** Documentation/ABI/testing/dev-kmsg: `PRIORITY,SEQUENCE,MICROSECONDS,FLAGS[,caller=T1];TEXT`. */
const KMSG = /^\d{1,4},\d{1,12},(\d{1,15}),[^;]{0,80}?(?:caller=([TC]\d{1,9}))?;/

/** The messages of one line whose escape codes are gone. A carriage return ends a message: consoles write CRLF. */
export function logMessages(line: string, number: number): LogMessage[] {
  return line.split('\r').flatMap((part) => (part === '' ? [] : messagesOf(part, number)))
}

function messagesOf(part: string, line: number): LogMessage[] {
  const kmsg = KMSG.exec(part)
  if (kmsg !== null) return [message(part.slice(kmsg[0].length), line, Number(kmsg[1]), kmsg[2])]
  const stamps = [...part.matchAll(STAMP)]
  const [first] = stamps
  if (first === undefined)
    return [
      message(
        part
          .replace(/^<\d{1,3}>/, '')
          .replace(WALL_CLOCK, '')
          .replace(WRITER, ''),
        line,
      ),
    ]
  // What stands before the first stamp is a prefix or another writer's: neither is the kernel's message.
  return stamps.map((stamp, index) => {
    const atUs = Number(stamp[1]) * 1e6 + Number(stamp[2])
    const rest = part.slice(stamp.index + stamp[0].length, stamps[index + 1]?.index)
    const caller = CALLER.exec(rest)
    const text = (caller === null ? rest : rest.slice(caller[0].length)).replace(/^ /, '')
    return message(text.replace(AFTER_STAMP, ''), line, atUs, caller?.[1])
  })
}

function message(text: string, line: number, atUs?: number, caller?: string): LogMessage {
  return { text, line, ...(atUs !== undefined && { atUs }), ...(caller !== undefined && { caller }) }
}
