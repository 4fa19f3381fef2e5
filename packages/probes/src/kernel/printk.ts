/** A line as the kernel's printk writes it to a console. */
export interface PrintkLine {
  /** The stamp, in ns of the guest's sched_clock; absent where the line has none (`printk.time=0`, user space). */
  readonly atNs?: number
  /** The caller of CONFIG_PRINTK_CALLER: `T1` for thread 1, `C0` for CPU 0 outside a thread. */
  readonly caller?: string
  /** The level of a raw line (`<4>`), 0 to 7 with the facility left in. */
  readonly level?: number
  /** The message. */
  readonly text: string
}

/**
 * `[    1.234567] text`, with CONFIG_PRINTK_CALLER `[    1.234567][    T1] text`, raw `<4>[    1.234567] text`.
 * Format: print_time and print_caller in kernel/printk/printk.c, Linux 5.1 and later.
 */
const PRINTK = /^(?:<(\d{1,3})>)?(?:\[ *(\d+)\.(\d{6})\](?:\[ *([TC]\d+)[^\]]{0,64}\])? ?)?/

/** Parses one line of a console; a line without the kernel's prefix is all text. Never throws. */
export function parsePrintk(line: string): PrintkLine {
  const [prefix = '', level, seconds, micros, caller] = PRINTK.exec(line) ?? []
  return {
    ...(seconds === undefined ? {} : { atNs: Number(seconds) * 1e9 + Number(micros) * 1e3 }),
    ...(caller === undefined ? {} : { caller }),
    ...(level === undefined ? {} : { level: Number(level) }),
    text: line.slice(prefix.length),
  }
}
