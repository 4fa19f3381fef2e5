/** A function as `%pS` prints it (lib/vsprintf.c), and what is told of it. */
export interface CalledFunction {
  /** The name alone. */
  readonly name: string
  /** With offset and size: what calling and returning lines have in common. */
  readonly symbol: string
  readonly module?: string
}

/** What a message says of the kernel's initcalls. */
export type InitcallLine =
  | (CalledFunction & { readonly kind: 'calling'; readonly pid: number })
  | (CalledFunction & { readonly kind: 'returned'; readonly returned: number; readonly usecs: number })
  | (CalledFunction & { readonly kind: 'warning'; readonly warning: string })
  | { readonly kind: 'probe'; readonly device: string; readonly returned: number; readonly usecs: number }
  | { readonly kind: 'level'; readonly level: string }
  | { readonly kind: 'fixup'; readonly device: string; readonly symbol: string; readonly name: string }
  | { readonly kind: 'fixup-took'; readonly device: string; readonly symbol: string; readonly usecs: number }
  /** Says `calling` of something that is no initcall: suspend and shutdown (drivers/base/power, drivers/base/syscore.c). */
  | { readonly kind: 'other-calling' }
  /** Has the words of an initcall and cannot be read. */
  | { readonly kind: 'unreadable' }

const SYMBOL = String.raw`(\S+)(?: \[([^\s\]]+)[^\]]{0,64}\])?`
const CALLING = new RegExp(`^${SYMBOL} @ (\\d{1,10})`)
const RETURNED = new RegExp(`^${SYMBOL} returned (-?\\d{1,10}) after (-?\\d{1,15}) usecs`)
const WARNED = new RegExp(`^${SYMBOL} returned with (.{1,100})`)
const PROBED = /^(.{1,200}) returned (-?\d{1,10}) after (\d{1,15}) usecs/
const TOOK = /^(\S+) (\S+): (\S+\+0x\S+) took (\d{1,15}) usecs/
/** A bus and an address on it, as dev_printk has them: a fixup of that device, not an initcall. */
const DEVICE = /(?:^|\s)[\w-]{1,40} ([\da-f]{1,8}[:.][\da-f:.]{1,30}): $/i

const LEVEL_WORDS = 'entering initcall level: '
const CALLING_WORDS = 'calling  '
const INITCALL_WORD = 'initcall '
const PROBE_WORDS = 'probe of '

/**
 * Reads one message; undefined for one of other matters. Formats: trace_initcall_*_cb in init/main.c,
 * really_probe_debug in drivers/base/dd.c, fixup_debug_* in drivers/pci/quirks.c; the same in Linux 3.0 to 7.2, levels from
 * 6.17 on.
 */
export function readInitcallLine(text: string): InitcallLine | undefined {
  const level = text.indexOf(LEVEL_WORDS)
  if (level !== -1) {
    const [word] = /^[\w-]{1,40}/.exec(text.slice(level + LEVEL_WORDS.length)) ?? []
    return word === undefined ? { kind: 'unreadable' } : { kind: 'level', level: word }
  }
  const calling = text.indexOf(CALLING_WORDS)
  if (calling !== -1 && stands(text, calling)) {
    return callingLine(text.slice(0, calling), text.slice(calling + CALLING_WORDS.length))
  }
  const probe = text.indexOf(PROBE_WORDS)
  if (probe !== -1 && stands(text, probe) && text.includes(' returned ', probe)) {
    const [, device, returned, usecs] = PROBED.exec(text.slice(probe + PROBE_WORDS.length)) ?? []
    if (device === undefined) return { kind: 'unreadable' }
    return { kind: 'probe', device, returned: Number(returned), usecs: Number(usecs) }
  }
  const initcall = text.indexOf(INITCALL_WORD)
  if (initcall !== -1 && stands(text, initcall)) return returnedLine(text.slice(initcall + INITCALL_WORD.length))
  return text.startsWith('PM: Calling ') ? { kind: 'other-calling' } : tookLine(text)
}

/** What the lines of one call have in common. */
export function callKey({ symbol, module = '' }: Pick<CalledFunction, 'symbol' | 'module'>): string {
  return `${symbol} [${module}]`
}

/** At the beginning of a word: `deferred_probe_initcall` has the word inside it. */
function stands(text: string, at: number): boolean {
  return at === 0 || !/\w/.test(text[at - 1] ?? '')
}

function callingLine(lead: string, rest: string): InitcallLine {
  const [, symbol, module, pid] = CALLING.exec(rest) ?? []
  // `calling  0000:00:1f.2+ @ 123, parent: pci0000:00`: a device is suspended.
  if (/^\S{1,80} @ \d{1,10}, parent: /.test(rest)) return { kind: 'other-calling' }
  if (symbol === undefined) return { kind: 'unreadable' }
  const device = DEVICE.exec(lead)?.[1]
  if (device !== undefined) return { kind: 'fixup', device, symbol, name: nameOf(symbol) }
  return { kind: 'calling', ...functionOf(symbol, module), pid: Number(pid) }
}

function returnedLine(rest: string): InitcallLine | undefined {
  const [, symbol, module, returned, usecs] = RETURNED.exec(rest) ?? []
  if (symbol !== undefined) {
    return { kind: 'returned', ...functionOf(symbol, module), returned: Number(returned), usecs: Number(usecs) }
  }
  const [, warned, of, warning] = WARNED.exec(rest) ?? []
  if (warned !== undefined && warning !== undefined) {
    return { kind: 'warning', ...functionOf(warned, of), warning: warning.trim() }
  }
  // A beginning of the line that was cut off; other sentences with this word are no initcall's.
  return /^\S+\+0x/.test(rest) ? { kind: 'unreadable' } : undefined
}

function tookLine(text: string): InitcallLine | undefined {
  const [, , device, symbol, usecs] = TOOK.exec(text) ?? []
  if (device === undefined || symbol === undefined) return undefined
  return { kind: 'fixup-took', device, symbol, usecs: Number(usecs) }
}

function functionOf(symbol: string, module: string | undefined): CalledFunction {
  return { name: nameOf(symbol), symbol, ...(module !== undefined && { module }) }
}

function nameOf(symbol: string): string {
  const at = symbol.indexOf('+0x')
  return at > 0 ? symbol.slice(0, at) : symbol
}
